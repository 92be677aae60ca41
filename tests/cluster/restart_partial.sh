#!/bin/bash
# restart_partial.sh -- a cluster comes back without one of its nodes, works, and refuses that node's old data later.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

same_awkward() {
    want 0 "$BIN/ndb_select_all" -d test --csv awkward
    LC_ALL=C sort "$BOX/out" >"$BOX/actual"
    cmp -s "$BOX/expected" "$BOX/actual" || fail "the rows that came back differ from those written"
}

start_cluster 4 2 'StartPartialTimeout=3000'
load_and_compare 5000
make_durable
kill_nodes

say "three of four: both node groups are represented, one is whole"
for id in 1 2 3; do start_node "$id"; done
want 0 "$BIN/ndb_waiter" --timeout=100 --nowait-nodes=4
cp "$BOX/node1.out" "$BOX/out"
want_text out 'the start waits for nodes 4: they may still come'
same_awkward
want 0 "$BIN/ndb_create_table" --execute='CREATE TABLE test.meanwhile (id INT PRIMARY KEY, t VARCHAR(20))'
seq 1000 | sed 's/$/,"row"/' >"$BOX/meanwhile.csv"
want 0 "$BIN/ndb_import" test "$BOX/meanwhile.csv"
want_text out 'meanwhile: 1000 rows imported, 0 rejected'
make_durable
kill_nodes

say "the fourth has old data: the others start without it, then it gets theirs"
for id in 1 2 3 4; do start_node "$id"; done
want 0 "$BIN/ndb_waiter" --timeout=100
cp "$BOX/node4.out" "$BOX/out"
want_text out 'initial node restart|gets all rows|node restart, incarnation'
kill -9 "${NODE_PIDS[4]}" # For what follows it is as if it had not come.
wait "${NODE_PIDS[4]}" 2>/dev/null
unset 'NODE_PIDS[4]'
same_awkward
want 0 "$BIN/ndb_select_count" -d test meanwhile
want_text out '^1000 records'
drop_awkward
kill_nodes

say "one of each node group could be one of two halves: they wait"
: >"$BOX/node1.out"
start_node 1
start_node 3
wait_text node1.out 'without a whole node group the others could be a cluster too .*, for ever'
want 1 "$BIN/ndb_waiter" --timeout=1 --nowait-nodes=2,4
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100 --nowait-nodes=4
want 0 "$BIN/ndb_select_count" -d test meanwhile
want_text out '^1000 records'
