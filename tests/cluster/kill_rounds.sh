#!/bin/bash
# kill_rounds.sh -- load, kill -9 of all data nodes at a random moment, start, comparison with the client's own record of
# what was acknowledged; ROUNDS times for each shape of the cluster. The redo log is small, so that it goes round and
# checkpoints run all the time.
# SPDX-License-Identifier: GPL-2.0-only
ROUNDS=${ROUNDS:-3}
TEST_DEADLINE=${TEST_DEADLINE:-$((320 + ROUNDS * 60))}
source "$(dirname "$0")/cluster.sh"
SEED=${SEED:-$$}
RANDOM=$SEED

start_all() { # In any order, at once or one after the other.
    local id
    for id in $(shuf -i 1-"$nodes" --random-source=<(yes $RANDOM)); do
        start_node "$id"
        [ $((RANDOM % 4)) -eq 0 ] && sleep 0.7
    done
    return 0
}

shape() { # NODES REPLICAS [LINES]
    local round before
    nodes=$1
    say "$1 nodes, $2 replicas ${3:-}, seed $SEED"
    rm -rf "$BOX/kill"
    mkdir "$BOX/kill"
    start_cluster "$@"
    for ((round = 1; round <= ROUNDS; round++)); do
        say "round $round"
        load_and_kill $((RANDOM % 4 + 1)) "0.$((RANDOM % 10))" "$((RANDOM % 3))"
        if [ $((RANDOM % 4)) -eq 0 ]; then # Again, while they start.
            start_all
            sleep "0.$((RANDOM % 10))"
            kill_nodes
        fi
        start_all
        before=$(date +%s%N)
        want 0 "$BIN/ndb_waiter" --timeout=100
        [ "$FAILED" -eq 0 ] || exit 1
        echo "started after $((($(date +%s%N) - before) / 1000000)) ms"
        want 0 "$BIN/kill_client" verify "$BOX/kill"
        cat "$BOX/out"
        [ "$FAILED" -eq 0 ] || exit 1
    done
    du -sm "$BOX"/node*/ndb_*_fs
    stop_cluster
}

shape 2 2
shape 4 2 'ThreadConfig=main,rep,ldm={count=2},tc={count=2},recv'
