#!/bin/bash
# starved.sh -- CLUSTERS clusters of two data nodes, LOADED of them with a bank at full load and lowered priority, beside BUSY busy
# processes, for SECONDS: nobody is declared dead. HANGS times a node of the last cluster is then stopped for good: it is
# failed over. How long that took is printed.
# SPDX-License-Identifier: GPL-2.0-only
CLUSTERS=${CLUSTERS:-1}
LOADED=${LOADED:-1}
BUSY=${BUSY:-6}
SECONDS_STARVED=${SECONDS_STARVED:-8}
HANGS=${HANGS:-0}
TEST_DEADLINE=${TEST_DEADLINE:-800}
source "$(dirname "$0")/cluster.sh"
HEARTBEAT=HeartbeatIntervalDbDb=70 # As it is when nobody sets it.
source "$HERE/failover.sh"

# --- One cluster: a process of its own. ---

is_over() { [ ! -d "$WHOLE" ] || [ -e "$WHOLE/end" ]; }

wait_for() { # FILE
    until [ -e "$WHOLE/$1" ]; do
        ! is_over || exit 1
        sleep 0.2
    done
}

# Why somebody was declared dead says the node that lives, and that long before the end: all that they said of each other.
told() {
    local id
    for id in 1 2; do
        echo "--- node $id ---"
        grep -hE 'QMGR|NDBCNTR|link to|late|processor|error' "$BOX/node$id.out" | tail -n 40
    done
}

nobody_is_dead() {
    local id
    for id in 1 2; do
        kill -0 "${NODE_PIDS[id]}" 2>/dev/null && continue
        fail "cluster $PART: node $id has ended"
        told
    done
    grep -hE '\[(WARNING|ERROR)\].*QMGR: failure ' "$BOX"/node?.out
    [ "$FAILED" -eq 0 ] || exit 1
    echo "cluster $PART: $(cat "$BOX"/node?.out | grep -c 'is silent') times silent, $(cat "$BOX"/node?.out |
        grep -c 'but answers') times taken back"
}

# From the moment in which the node is stopped until the log of the other one says that it goes on without it.
hang() {
    local begin
    begin=$(date +%s%3N)
    kill -STOP "${NODE_PIDS[2]}"
    for _ in $(seq 3000); do
        grep -qE 'failure [0-9]+: agreed on' "$BOX/node1.out" && break
        sleep 0.02
    done
    echo "hung node failed over after at most $(($(date +%s%3N) - begin)) ms: $(grep -E 'failure [0-9]+: agreed on' "$BOX/node1.out")"
    kill -KILL "${NODE_PIDS[2]}"
    wait "${NODE_PIDS[2]}" 2>/dev/null
    unset 'NODE_PIDS[2]'
    want_text node1.out 'failure [0-9]+: agreed on'
    kill -0 "${NODE_PIDS[1]}" || fail "the other node has ended"
}

one_cluster() {
    local i
    start_cluster 2 2
    [ "$PART" -gt "$LOADED" ] || start_bank 0 --threads=16
    touch "$WHOLE/ready.$PART"
    wait_for over
    nobody_is_dead
    for ((i = 0; i < HANGS && PART == CLUSTERS; i++)); do
        hang
        [ "$FAILED" -eq 0 ] || exit 1
        : >"$BOX/node1.out"
        restart_node 2
        sleep 5
    done
    touch "$WHOLE/done.$PART"
    wait_for end
    [ "$PART" -gt "$LOADED" ] || end_bank
}

if [ -n "${PART:-}" ]; then
    one_cluster
    exit
fi

# --- All of them. ---

be_busy() {
    local n
    until is_over; do for ((n = 0; n < 200000; n++)); do :; done; done
}

# Until the files of all clusters are there, or one of them has ended.
wait_parts() { # NAME
    local i
    for ((i = 1; i <= CLUSTERS; i++)); do
        while [ ! -e "$WHOLE/$1.$i" ]; do
            kill -0 "${PARTS[i]}" 2>/dev/null || { wait "${PARTS[i]}"; die "cluster $i has ended"; }
            sleep 0.2
        done
    done
}

end_all() {
    local code=$?
    touch "$WHOLE/end"
    (exit "$code")
    cleanup
}

trap end_all EXIT
export WHOLE=$BOX CLUSTERS LOADED HANGS TEST_DEADLINE
PARTS=()
say "$CLUSTERS clusters, $LOADED of them loaded, $BUSY busy processes, $SECONDS_STARVED s"
for ((i = 1; i <= CLUSTERS; i++)); do
    PART=$i nice -n "${LOWERED:-5}" "$HERE/starved.sh" "$BIN" &
    PARTS[i]=$!
done
wait_parts ready
for ((i = 0; i < BUSY; i++)); do be_busy & done
sleep "$SECONDS_STARVED" # This is what is tested, and no wait for anything.
touch "$WHOLE/over"
wait_parts 'done'
touch "$WHOLE/end"
for ((i = 1; i <= CLUSTERS; i++)); do wait "${PARTS[i]}" || fail "cluster $i"; done
