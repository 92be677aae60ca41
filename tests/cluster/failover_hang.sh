#!/bin/bash
# failover_hang.sh -- SIGSTOP of a data node under load: short ones are nothing, after long ones the others go on without
# it, and it finds out and stops when it wakes up.
# SPDX-License-Identifier: GPL-2.0-only
TEST_DEADLINE=${TEST_DEADLINE:-170}
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/failover.sh"
start_cluster 2 2

for pause in ${PAUSES:-0.1 2 0.15 6}; do
    id=$((RANDOM % 2 + 1))
    say "node $id hangs for $pause s"
    start_bank 0
    sleep 1
    kill -STOP "${NODE_PIDS[id]}"
    sleep "$pause"
    kill -CONT "${NODE_PIDS[id]}"
    if [ "${pause%.*}" -ge 1 ]; then
        ended "${NODE_PIDS[id]}" && fail "node $id ends with exit code 0 after it was declared dead"
        cp "$BOX/node$id.out" "$BOX/out"
        want_text out 'error (2315|2305)'
        unset "NODE_PIDS[id]"
        restart_node "$id"
    fi
    sleep 1
    for id in 1 2; do kill -0 "${NODE_PIDS[id]}" 2>/dev/null || fail "node $id has ended"; done
    end_bank
    gap_at_most 3000
    [ "$FAILED" -eq 0 ] || exit 1
done
stop_cluster
