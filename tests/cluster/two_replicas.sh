#!/bin/bash
# two_replicas.sh -- two data nodes with every row on both: data, example, restart, a killed node.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

load_and_compare 20000
run_example
want_text out '^Node 1 coordinated a transaction on .* and saw the same 5 rows$'
want_text out '^Node 2 coordinated a transaction on .* and saw the same 5 rows$'
drop_awkward

say "shutdown, and the same cluster again"
stop_cluster
start_mgm
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=40
want 0 "$BIN/ndb_select_count" -d sandbox package
want_text out '^401 records'
load_and_compare 500
make_durable

say "a data node is killed while rows are written"
awkward_rows 200000 1000 >"$BOX/many.csv"
(
    run "$BIN/ndb_import" --table=awkward --rejects="$BOX/many.rej" test "$BOX/many.csv" >"$BOX/many.out" 2>&1
    echo $? >"$BOX/many.code"
) &
writer=$!
for _ in $(seq 100); do
    want 0 "$BIN/ndb_select_count" -d test awkward
    [ "$(awk '{ print $1 }' "$BOX/out")" -gt 1500 ] && break
done
kill -9 "${NODE_PIDS[2]}"
ended "${NODE_PIDS[1]}" && fail "node 1 goes on without node 2, or ends with exit code 0"
cp "$BOX/node1.out" "$BOX/out"
want_text out '2305|Contact with a started data node was lost'
wait "$writer"
[ "$(cat "$BOX/many.code")" = 1 ] || fail "the import ends with exit code $(cat "$BOX/many.code")"
cat "$BOX/many.out"
NODE_PIDS=()
want 0 "$BIN/ndb_waiter" --no-contact --timeout=20
want 0 "$BIN/ndb_mgm" -e SHOW
want_text out 'id=1 \(not connected, accepting connect from 127\.0\.0\.1\)'

say "and started again"
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=40
want 0 "$BIN/ndb_select_count" -d sandbox package
want_text out '^401 records'
want 0 "$BIN/ndb_select_count" -d test awkward # What was loaded after make_durable may be gone, no more.
[ "$(awk '{ print $1 }' "$BOX/out")" -ge 500 ] || fail "rows that were durable are gone"
drop_awkward
load_and_compare 500
stop_cluster
