#!/bin/bash
# start_kill.sh -- kill -9 of one of two nodes at a random moment of a start, ROUNDS times: the other one waits for it or
# ends by a name, its log says why, and a plain start of who has ended brings the cluster up with all rows.
# SPDX-License-Identifier: GPL-2.0-only
ROUNDS=${ROUNDS:-6}
TEST_DEADLINE=${TEST_DEADLINE:-$((320 + ROUNDS * 30))}
source "$(dirname "$0")/cluster.sh"
SEED=${SEED:-$$}
RANDOM=$SEED

# Whoever has ended by itself: by a name that tells that another node was lost, and where to look.
look_at_end() { # id
    local code
    wait "${NODE_PIDS[$1]}"
    code=$?
    unset "NODE_PIDS[$1]"
    tail -n +$((lines[$1] + 1)) "$BOX/node$1.out" >"$BOX/end.out"
    echo "node $1 ended with exit code $code: $(grep -Eo '(2303|2305|2308|2309|2315)\b.*' "$BOX/end.out" | tail -n 1)"
    grep -Eq '\b(2303|2305|2308|2309|2315)\b' "$BOX/end.out" || fail "node $1 does not say why it ended"
    grep -Eq 'node [12] (is lost|.*failed)|lost contact with node [12]' "$BOX/end.out" || fail "node $1 does not name the lost node"
}

say "seed $SEED"
start_cluster 2 2
mkdir "$BOX/kill"
load_and_kill 2 1
for ((round = 1; round <= ROUNDS; round++)); do
    dead=$((RANDOM % 2 + 1))
    left=$((3 - dead))
    for id in 1 2; do lines[id]=$(wc -l <"$BOX/node$id.out"); done
    for id in $(shuf -e 1 2 --random-source=<(yes $RANDOM)); do start_node "$id"; done
    if [ $((RANDOM % 2)) -eq 0 ]; then # Anywhere, or where files are read and written: that takes some ten milliseconds.
        sleep "0.$(printf %03d $((RANDOM % 500)))"
    else
        for _ in $(seq 1000); do
            tail -n +$((lines[dead] + 1)) "$BOX/node$dead.out" | grep -q 'system restart at GCI' && break
            sleep 0.003
        done
        sleep "0.$(printf %03d $((RANDOM % 40)))"
    fi
    kill -9 "${NODE_PIDS[dead]}"
    wait "${NODE_PIDS[dead]}" 2>/dev/null
    unset "NODE_PIDS[dead]"
    sleep 1
    say "round $round: node $dead is killed: $(tail -n +$((lines[dead] + 1)) "$BOX/node$dead.out" | tail -n 1)"
    if kill -0 "${NODE_PIDS[left]}" 2>/dev/null; then
        echo "node $left waits: $(tail -n 1 "$BOX/node$left.out")"
    else
        look_at_end "$left"
        start_node "$left"
    fi
    start_node "$dead"
    from=$(date +%s%N)
    want 0 "$BIN/ndb_waiter" --timeout=100
    [ "$FAILED" -eq 0 ] || exit 1
    echo "started after $((($(date +%s%N) - from) / 1000000)) ms"
    want 0 "$BIN/kill_client" verify "$BOX/kill"
    [ "$FAILED" -eq 0 ] || exit 1
    kill_nodes
done
for id in 1 2; do start_node "$id"; done
want 0 "$BIN/ndb_waiter" --timeout=100
stop_cluster
