#!/bin/bash
# failover_hang.sh -- SIGSTOP of a data node under load: short ones are nothing, after long ones the others go on without
# it, and it finds out and stops when it wakes up. PAUSES (seconds) on 2 nodes, MORE_PAUSES on 4 nodes, and on 3 with 3 replicas.
# SPDX-License-Identifier: GPL-2.0-only
PAUSES=${PAUSES:-0.1 3 0.3 5}
MORE_PAUSES=${MORE_PAUSES:-0.3 3}
TEST_DEADLINE=${TEST_DEADLINE:-800}
source "$(dirname "$0")/cluster.sh"
HEARTBEAT=HeartbeatIntervalDbDb=200 # Hangs are found after 2 s; a busy machine is not taken for one.
source "$HERE/failover.sh"
SEED=${SEED:-$$}
RANDOM=$SEED

# What a pause of so many milliseconds must come to: below four heartbeats of 200 ms nothing; after them, and as long as the
# node is asked (five more), it may be either.
hang() { # id, seconds
    local id=$1 ms=$(("$(tr -d . <<<"$(printf '%.3f' "$2")" | sed 's/^0*//')" + 0)) code
    say "node $id hangs for $2 s"
    kill -STOP "${NODE_PIDS[id]}"
    sleep "$2"
    kill -CONT "${NODE_PIDS[id]}"
    [ "$ms" -ge 700 ] || return 0
    if [ "$ms" -lt 2500 ]; then
        sleep 2
        kill -0 "${NODE_PIDS[id]}" 2>/dev/null && return 0
    fi
    ended "${NODE_PIDS[id]}"
    code=$?
    [ "$code" -ne 0 ] || fail "node $id ends with exit code 0 after it was declared dead"
    cp "$BOX/node$id.out" "$BOX/out"
    want_text out 'error (2315|2305)'
    unset "NODE_PIDS[id]"
    restart_node "$id"
}

shape() { # NODES REPLICAS PAUSES
    local pause id
    say "$1 nodes, $2 replicas, seed $SEED"
    MEMORY=() FILES=() MEMORY_ROUNDS=()
    start_cluster "$1" "$2"
    for pause in $3; do
        start_bank 0
        sleep 1
        hang $((RANDOM % $1 + 1)) "$pause"
        sleep 1
        for ((id = 1; id <= $1; id++)); do kill -0 "${NODE_PIDS[id]}" 2>/dev/null || fail "node $id has ended"; done
        end_bank
        gap_at_most 5000
        pools_are_empty
        nothing_grows
        [ "$FAILED" -eq 0 ] || exit 1
    done
    stop_cluster
}

shape 2 2 "$PAUSES"
shape 4 2 "$MORE_PAUSES"
shape 3 3 "$MORE_PAUSES"
