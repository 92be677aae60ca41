#!/bin/bash
# process_threads_tsan.sh -- process_threads.sh and process_threads_send.sh with programs built by -DSAN=thread: TSan ends a process that races.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: process_threads_tsan.sh BIN_DIR     the bin directory of such a build
grep -qa __tsan_init "${1:?usage: process_threads_tsan.sh BIN_DIR}/ndbmtd" || {
    echo "$1/ndbmtd is not built with -DSAN=thread"
    exit 77
}
export TSAN_OPTIONS="halt_on_error=1 exitcode=66 second_deadlock_stack=1 ${TSAN_OPTIONS:-}"
export ROWS=${ROWS:-5000} SECONDS_EACH=${SECONDS_EACH:-1} TEST_DEADLINE=${TEST_DEADLINE:-900}
"$(dirname "$0")/process_threads.sh" "$1" && exec "$(dirname "$0")/process_threads_send.sh" "$1"
