#!/bin/bash
# restart_initial.sh -- one node is lost, the other goes on alone, durably, and is lost too: whatever is started then, with
# --initial or not, in which order, what was durable is there, or nobody starts and the log says why.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

# count ROWS: they are there.
count() {
    want 0 "$BIN/ndb_select_count" -d test later
    want_text out "^$1 records"
    [ "$FAILED" -eq 0 ] || exit 1
}

add_rows() { # first last
    seq "$1" "$2" | sed 's/$/,"row"/' >"$BOX/later.csv"
    want 0 "$BIN/ndb_import" test "$BOX/later.csv"
    make_durable
}

kill_one() {
    kill -9 "${NODE_PIDS[$1]}"
    wait "${NODE_PIDS[$1]}" 2>/dev/null
    unset "NODE_PIDS[$1]"
}

quiet() { : >"$BOX/node1.out" && : >"$BOX/node2.out"; }

# ends_with ID CODE: the node stops by itself, and says this code.
ends_with() {
    ended "${NODE_PIDS[$1]}" && fail "node $1 ends as if all were well"
    unset "NODE_PIDS[$1]"
    grep -q "Caused by error $2" "$BOX/node$1.out" || fail "node $1 does not say $2: $(tail -n 5 "$BOX/node$1.out")"
    [ "$FAILED" -eq 0 ] || exit 1
}

start_cluster 2 2 'StartPartialTimeout=1000'
want 0 "$BIN/ndb_create_table" --execute='CREATE TABLE test.later (id INT PRIMARY KEY, t VARCHAR(20))'
add_rows 1 100
kill_one 1
add_rows 101 300
kill_one 2

say "--initial would remove the newest rows: nobody starts with the older ones"
quiet
start_node 1
start_node 2 --initial
ends_with 2 2383
wait_text node1.out 'this node.s data is of no use, node 2 has newer up to GCI'
want 1 "$BIN/ndb_waiter" --timeout=2
grep -q 'system restart at GCI' "$BOX/node1.out" && fail "node 1 has gone on from what is too old"

say "the node that has all of it comes as it is"
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
count 300
stop_cluster
[ "$FAILED" -eq 0 ] || exit 1

say "the older one was started alone, and told to: what comes later and has more is not overwritten"
start_cluster 2 2 $'StartPartialTimeout=500\nStartPartitionedTimeout=1000'
want 0 "$BIN/ndb_create_table" --execute='CREATE TABLE test.later (id INT PRIMARY KEY, t VARCHAR(20))'
add_rows 1 100
kill_one 1
add_rows 101 300
kill_one 2
quiet
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100 --nowait-nodes=2
count 100
add_rows 1001 1010
start_node 2
ends_with 2 2397
quiet
start_node 2 --initial
ends_with 2 2383
wait_text node2.out 'this node has data of incarnation [0-9]+ up to GCI .*, was started without it from GCI'
count 110

say "all of it is still there: the operator chooses it, and gives the other up"
kill_one 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100 --nowait-nodes=1
count 300
start_node 1
ends_with 1 2397
start_node 1 --initial --i-accept-data-loss
want 0 "$BIN/ndb_waiter" --timeout=100
count 300
kill_one 2
count 300
