#!/bin/bash
# failover_kill.sh -- kill -9 of data nodes under load: the others go on, no acknowledged commit is lost, nothing hangs;
# the nodes come back, and then the others are killed. ROUNDS times for each shape of the cluster.
# SPDX-License-Identifier: GPL-2.0-only
ROUNDS=${ROUNDS:-2}
TEST_DEADLINE=${TEST_DEADLINE:-$((480 + ROUNDS * 120))}
source "$(dirname "$0")/cluster.sh"
source "$HERE/failover.sh"
SEED=${SEED:-$$}
RANDOM=$SEED

# One node of each of some node groups (nodes of a group have ids in a row), never the last of one; never SPARED, so that
# there is one that lives through all of it.
victims() {
    local group id groups=$((nodes / replicas)) count=$((RANDOM % 2 + 1)) list=()
    for group in $(shuf -i 0-$((groups - 1)) -n "$count" --random-source=<(yes $RANDOM)); do
        id=$((group * replicas + RANDOM % replicas + 1))
        [ "$id" -ne "${SPARED:-0}" ] || id=$((id + 1))
        list+=("$id")
    done
    echo "${list[@]}"
}

shape() { # NODES REPLICAS [LINES]
    local round list id
    nodes=$1
    replicas=$2
    MEMORY=() FILES=() MEMORY_ROUNDS=()
    say "$1 nodes, $2 replicas ${3:-}, seed $SEED"
    start_cluster "$@"
    rm -rf "$BOX/kill"
    mkdir "$BOX/kill"
    for ((round = 1; round <= ROUNDS; round++)); do
        list=$(victims)
        say "round $round: $list"
        start_bank 0
        timeout -k 5 100 "$BIN/kill_client" run "$BOX/kill" 2 4 >"$BOX/record.out" 2>&1 &
        record=$!
        PIDS+=("$record")
        sleep "1.$((RANDOM % 10))"
        # shellcheck disable=SC2086
        kill_node $list
        sleep "0.$((RANDOM % 10))"
        for id in "${!NODE_PIDS[@]}"; do kill -0 "${NODE_PIDS[id]}" 2>/dev/null || fail "node $id has ended too"; done
        # shellcheck disable=SC2086
        restart_node $list
        sleep 1
        wait "$record" || fail "the client with the record fails"
        cat "$BOX/record.out"
        end_bank
        gap_at_most 3000
        want 0 "$BIN/kill_client" verify "$BOX/kill"
        cat "$BOX/out"
        pools_are_empty
        nothing_grows
        [ "$FAILED" -eq 0 ] || exit 1
    done
    stop_cluster
}

shape 2 2
[ "$ROUNDS" -lt 10 ] || SPARED=1 shape 2 2
shape 3 3
shape 4 2 'ThreadConfig=main,rep,ldm={count=2},tc={count=2},recv'

say "both nodes of a group: the cluster stops by the rule"
start_cluster 4 2
kill_node 1 2
for id in 3 4; do
    ended "${NODE_PIDS[id]}" && fail "node $id goes on without a node group"
    cp "$BOX/node$id.out" "$BOX/out"
    want_text out 'a node group is missing|the cluster is divided'
    unset "NODE_PIDS[id]"
done
