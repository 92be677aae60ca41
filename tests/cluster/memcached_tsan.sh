#!/bin/bash
# memcached_tsan.sh -- memcached.sh and memcached_hostile.sh with programs built by -DSAN=thread: a server that has raced ends with an error.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: memcached_tsan.sh BIN_DIR     the bin directory of such a build
grep -qa __tsan_init "${1:?usage: memcached_tsan.sh BIN_DIR}/ndb_memcached" || {
    echo "$1/ndb_memcached is not built with -DSAN=thread"
    exit 77
}
export TSAN_OPTIONS="exitcode=66 second_deadlock_stack=1 ${TSAN_OPTIONS:-}"
export REQUESTS=${REQUESTS:-30000} GROWTH_MB=${GROWTH_MB:-512} TEST_DEADLINE=${TEST_DEADLINE:-1800}
"$(dirname "$0")/memcached.sh" "$1" && exec "$(dirname "$0")/memcached_hostile.sh" "$1"
