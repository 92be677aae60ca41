#!/bin/bash
# memcached_store.sh -- memcached's requests on rows: commands, types, large values, races, and data nodes that are killed.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
# Large values are transactions of some MB, several at a time: the log takes them.
start_cluster 2 2 'NoOfFragmentLogFiles=8
FragmentLogFileSize=16M
RedoBuffer=32M'

want 0 "$BIN/mc_store_client" check
want_text out '^requests on rows: all is right$'

say "4 threads on the same rows"
want 0 "$BIN/mc_store_client" race 4 5
want_text out '^no update is lost$'
cat "$BOX/out"

for victim in 2 1; do
    say "4 threads on the same rows, node $victim is killed and comes back"
    : >"$BOX/race.out" # Before the first look at it.
    run "$BIN/mc_store_client" race 4 12 >"$BOX/race.out" 2>&1 &
    racers=$!
    wait_text race.out '^running$'
    sleep 2
    kill -9 "${NODE_PIDS[$victim]}"
    unset "NODE_PIDS[$victim]"
    sleep 1
    start_node "$victim"
    want 0 "$BIN/ndb_waiter" --timeout=100
    wait "$racers" || fail "the rows are not right"
    wait_text race.out '^no update is lost$'
    cat "$BOX/race.out"
done

say "the cluster's memory is full"
want 0 "$BIN/mc_store_client" fill
want_text out '^memory was full, and is not$'

say "all data nodes are lost"
mkfifo "$BOX/line"
run "$BIN/mc_store_client" lose <"$BOX/line" >"$BOX/lose.out" 2>&1 &
loser=$!
exec 4>"$BOX/line"
wait_text lose.out '^ready$'
kill_nodes
echo go >&4
exec 4>&-
wait "$loser" || fail "requests without a cluster: $(cat "$BOX/lose.out")"
wait_text lose.out '^all were told$'
