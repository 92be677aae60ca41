#!/bin/bash
# kill_rounds.sh -- load, kill -9 of all data nodes at a random moment, start, comparison with the client's own record of
# what was acknowledged; ROUNDS times. The redo log is small, so that it goes round and checkpoints run all the time.
# SPDX-License-Identifier: GPL-2.0-only
ROUNDS=${ROUNDS:-3}
TEST_DEADLINE=${TEST_DEADLINE:-$((60 + ROUNDS * 40))}
source "$(dirname "$0")/cluster.sh"
RANDOM=${SEED:-$$}

start_cluster 2 2
mkdir "$BOX/kill"
for ((round = 1; round <= ROUNDS; round++)); do
    say "round $round"
    load_and_kill $((RANDOM % 4 + 1)) "0.$((RANDOM % 10))" "$((RANDOM % 4))"
    if [ $((RANDOM % 4)) -eq 0 ]; then # Again, while they start.
        start_node 1
        start_node 2
        sleep "0.$((RANDOM % 10))"
        kill_nodes
    fi
    first=$((RANDOM % 2 + 1))
    start_node "$first"
    [ $((RANDOM % 3)) -eq 0 ] && sleep 1
    start_node $((3 - first))
    before=$(date +%s%N)
    want 0 "$BIN/ndb_waiter" --timeout=60
    [ "$FAILED" -eq 0 ] || break
    echo "started after $((($(date +%s%N) - before) / 1000000)) ms"
    want 0 "$BIN/kill_client" verify "$BOX/kill"
    cat "$BOX/out"
    if [ "$FAILED" -ne 0 ]; then
        cp -a "$BOX/kill" "$BOX/kill.failed"
        break
    fi
done
du -sm "$BOX"/node*/ndb_*_fs
stop_cluster
