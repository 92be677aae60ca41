#!/bin/bash
# two_replicas.sh -- two data nodes with every row on both: data, example, restart, a killed node.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

load_and_compare 20000
run_example
want_text packages '^Node 1 coordinated a transaction and saw the same 5 rows$'
want_text packages '^Node 2 coordinated a transaction and saw the same 5 rows$'
drop_awkward

say "shutdown, and the same cluster again"
stop_cluster
start_mgm
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_select_count" -d sandbox package
want_text out '^401 records'
load_and_compare 500
make_durable

say "a data node is killed while rows are written"
awkward_rows 200000 1000 >"$BOX/many.csv"
(
    run "$BIN/ndb_import" --table=awkward --rejects-file="$BOX/many.rej" test "$BOX/many.csv" >"$BOX/many.out" 2>&1
    echo $? >"$BOX/many.code"
) &
writer=$!
for _ in $(seq 900); do
    want 0 "$BIN/ndb_select_count" -d test awkward
    [ "$(awk '{ print $1 }' "$BOX/out")" -gt 1500 ] && break
done
kill -9 "${NODE_PIDS[2]}"
unset "NODE_PIDS[2]"
wait "$writer"
[ "$(cat "$BOX/many.code")" = 0 ] || fail "the import ends with exit code $(cat "$BOX/many.code")"
cat "$BOX/many.out"
kill -0 "${NODE_PIDS[1]}" 2>/dev/null || fail "node 1 does not go on without node 2"
want 0 "$BIN/ndb_mgm" -e SHOW
want_text out 'id=2 \(not connected, accepting connect from 127\.0\.0\.1\)'
want 0 "$BIN/ndb_select_count" -d test awkward
rows=$(cat "$BOX/out")

say "and started again; then the other one is killed"
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
kill -9 "${NODE_PIDS[1]}"
unset "NODE_PIDS[1]"
want 0 "$BIN/ndb_select_count" -d sandbox package
want_text out '^401 records'
want 0 "$BIN/ndb_select_count" -d test awkward
[ "$(cat "$BOX/out")" = "$rows" ] || fail "$(cat "$BOX/out") instead of $rows"
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100
drop_awkward
load_and_compare 500
stop_cluster
