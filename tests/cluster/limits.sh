#!/bin/bash
# limits.sh -- full DataMemory, too many transactions, too few descriptors: errors with numbers, and work goes on after.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

say "DataMemory is full"
DATA_MEMORY=4M start_cluster 2 2
want 0 "$BIN/ndb_create_table" --execute="$AWKWARD_TABLE"
awkward_rows 40000 >"$BOX/many.csv"
want 1 "$BIN/ndb_import" --state-dir="$BOX" --table=awkward --rejects-file="$BOX/many.rej" test "$BOX/many.csv"
cat "$BOX/out"
want_text err 'rejected: (827|625|826|921|1601|1602): '
want 0 "$BIN/ndb_mgm" -e 'ALL REPORT MEMORY'
cat "$BOX/out"
want 0 "$BIN/ndb_select_count" -d test awkward
rows=$(awk '{ print $1 }' "$BOX/out")
want 0 "$BIN/ndb_select_all" -d test --csv awkward
[ "${rows:-0}" -gt 1000 ] || fail "only '$rows' rows fit into the memory"
want 0 "$BIN/ndb_drop_table" -d test awkward
load_and_compare 1000
drop_awkward
stop_cluster

say "more transactions than the cluster allows"
start_cluster 2 2 'MaxNoOfConcurrentTransactions=64'
want 0 "$BIN/ndb_create_table" --execute="$AWKWARD_TABLE"
awkward_rows 3000 >"$BOX/many.csv"
want 0 "$BIN/ndb_import" --table=awkward --rejects-file="$BOX/many.rej" --opbatch=128 --db-workers=8 --temperrors=10000 \
    --tempdelay=1 test "$BOX/many.csv"
cat "$BOX/out"
want_text out ': 3000 rows imported, 0 rejected, '
want 0 "$BIN/ndb_select_count" -d test awkward
want_text out '^3000 records'

say "too few file descriptors for a link to each data node: rows that cannot come are told with the reason"
# with_fewer COMMAND...: until it fails; why it does is in err.
with_fewer() {
    local descriptors
    for descriptors in $(seq 40 -1 3); do
        (ulimit -n "$descriptors" && run "$@") >"$BOX/out" 2>"$BOX/err" || return
    done
    fail "it needs no descriptors: $*"
}
no_link='no link to node [12] at 127\.0\.0\.1 port [0-9]*: too many open files$'
with_fewer "$BIN/ndb_select_count" -d test awkward
want_text err "^4029: .*: $no_link"
want 0 "$BIN/ndb_select_count" -d test awkward
want_text out '^3000 records'
want 0 "$BIN/ndb_create_table" -d test -e 'CREATE TABLE wide (k INT UNSIGNED NOT NULL PRIMARY KEY, t BINARY(3000) NOT NULL)'
with_fewer "$BIN/rows_client" 200
want_text err "^reads with shared locks: error 4119, .* $no_link"
want 0 "$BIN/rows_client" 200
want 0 "$BIN/ndb_create_index" -d test -e 'CREATE UNIQUE INDEX by_k ON wide (k)'
with_fewer "$BIN/rows_client" 200 by_k
want_text err "^one read: error 4119, .* $no_link"
want 0 "$BIN/rows_client" 200 by_k
drop_awkward
stop_cluster
