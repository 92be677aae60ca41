#!/bin/bash
# node_restart_many.sh -- several data nodes come back at once: one of each node group at the same time, two of one group in
# turn, and one of them dies again in the middle; always under load, and no transfer fails after the library's retries.
# SPDX-License-Identifier: GPL-2.0-only
TEST_DEADLINE=${TEST_DEADLINE:-800}
source "$(dirname "$0")/cluster.sh"
source "$HERE/failover.sh"

# lines_of NODE...: how often the nodes' logs say the words in $WORDS.
lines_of() {
    local node files=()
    for node in "$@"; do files+=("$BOX/node$node.out"); done
    cat "${files[@]}" | grep -c -- "$WORDS"
}

# What the operator sees while they are on their way, until all are started: nothing but the truth.
watch_status() { # id...
    local id status seen=0
    for _ in $(seq 600); do
        local started=0
        for id in "$@"; do
            status=$(status_of "$id")
            case "$status" in
            started) started=$((started + 1)) ;;
            starting*) seen=1 ;;
            "not connected" | "not started") ;;
            *) die "node $id: '$status'" ;;
            esac
        done
        [ "$started" -eq $# ] && break
        sleep 0.05
    done
    [ "$started" -eq $# ] || die "not all of $* are started"
    echo "seen on their way: $seen"
}

# at_once ROUND id...: they are killed together and come back together.
at_once() {
    say "nodes ${*:2} are killed and come back together, round $1"
    start_bank 0 --strict
    sleep 0.5
    kill_node "${@:2}"
    sleep 0.5
    for id in "${@:2}"; do start_node "$id"; done
    watch_status "${@:2}"
    sleep 0.5
    end_bank
    gap_at_most 3000
    [ "$FAILED" -eq 0 ] || exit 1
}

say "4 nodes, 2 replicas"
start_cluster 4 2
for round in 1 2; do
    at_once $round 2 4
    at_once $round 1 3 # The president among them.
done
WORDS='comes back at the same time as'
grep -h "$WORDS" "$BOX"/node?.out
[ "$(lines_of 1 2 3 4)" -ge 1 ] || fail "none of the four pairs was on its way at the same time"
want 0 "$BIN/ndb_mgm" -e SHOW
for id in 1 2 3 4; do want_text out "^id=$id	.*Nodegroup: $(((id - 1) / 2))(, \\*)?\\)$"; done

say "one of them dies again in the middle"
start_bank 0 --strict
kill_node 2 3
sleep 0.3
start_node 2
start_node 3
for _ in $(seq 600); do
    grep -q 'takes part in writes' "$BOX/node2.out" && break
    sleep 0.01
done
kill_node 2
sleep 0.3
start_node 2
for _ in $(seq 900); do # The other one may have had to begin again.
    if [ "$(status_of 3)" != started ] && [ -z "$(ours "${NODE_PIDS[3]}")" ]; then start_node 3; fi
    [ "$(status_of 2)$(status_of 3)" = startedstarted ] && break
    sleep 0.1
done
wait_started 2
wait_started 3
end_bank
gap_at_most 3000
[ "$FAILED" -eq 0 ] || exit 1
stop_cluster

say "3 nodes, 3 replicas: of one group one comes back after the other"
start_cluster 3 3
before=$(lines_of 1 2 3)
start_bank 0 --strict
sleep 0.3
kill_node 3
sleep 0.7
kill_node 2
sleep 0.5
start_node 2
start_node 3
watch_status 2 3
end_bank
gap_at_most 3000
[ "$(lines_of 1 2 3)" -eq "$before" ] || fail "two nodes of one group have come back at the same time"
grep -h 'of the same node group comes back first: this node waits' "$BOX"/node[23].out | tail -n 1
stop_cluster
