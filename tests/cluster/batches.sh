#!/bin/bash
# batches.sh -- executes of so many operations that they do not fit into the client's send buffer, or their rows
# into a data node's: one transaction all the same. What can never fit into the cluster is refused for good, and says how
# many operations do.
# SPDX-License-Identifier: GPL-2.0-only
COUNT=${COUNT:-50000}
source "$(dirname "$0")/cluster.sh"

TABLE="CREATE TABLE batch (k INT UNSIGNED NOT NULL PRIMARY KEY, v INT UNSIGNED NOT NULL, t BINARY(100) NOT NULL)"
say "$COUNT operations in each execute"
DATA_MEMORY=160M start_cluster 2 2 $'NoOfFragmentLogFiles=4\nFragmentLogFileSize=16M\nRedoBuffer=64M'
want 0 "$BIN/ndb_create_table" -d test -e "$TABLE"
for buffer in 0 1048576; do
    want 0 "$BIN/batch_client" "$COUNT" "$buffer"
    [ "$FAILED" -eq 0 ] || exit 1
    want 0 "$BIN/ndb_select_count" -d test batch
    want_text out '^0 records'
done

say "calls on what is being executed, and callbacks that close what a call waits for"
want 0 "$BIN/callback_client"

say "rows of more bytes than a data node keeps for a client, from each execute"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE wide (k INT UNSIGNED NOT NULL PRIMARY KEY, t BINARY(3000) NOT NULL)"
want 0 "$BIN/rows_client" 5000
want 0 "$BIN/rows_client" 30000
stop_cluster

say "more than a coordinator can have: refused for good, with the number that fits"
start_cluster 2 2 $'MaxNoOfConcurrentTransactions=1000\nMaxNoOfConcurrentOperations=3000'
want 0 "$BIN/ndb_create_table" -d test -e "$TABLE"
want 0 "$BIN/batch_client" large 20000 0
want_text out '^error 234, permanent: Transaction has more operations than a coordinator can have; .*; [0-9]+ operations fit$'
fits=$(sed -nE 's/.*; ([0-9]+) operations fit$/\1/p' "$BOX/out")
want 0 "$BIN/batch_client" large "$((${fits:-0} + 1))" 0
want_text out "^error 234, permanent: .*; $fits operations fit\$"
want 0 "$BIN/ndb_select_count" -d test batch
want_text out '^0 records'
want 0 "$BIN/batch_client" large "${fits:-0}" 0
[ ! -s "$BOX/out" ] || fail "what fits is refused: $(cat "$BOX/out")"
want 0 "$BIN/ndb_select_count" -d test batch
want_text out "^$fits records"
stop_cluster

say "more changes than a transaction may have"
start_cluster 1 1 'MaxDMLOperationsPerTransaction=2000'
want 0 "$BIN/ndb_create_table" -d test -e "$TABLE"
want 0 "$BIN/batch_client" large 2001 0
want_text out '^error 261, permanent: Transaction changes more rows than allowed, .*; 2000 changes fit$'
want 0 "$BIN/batch_client" large 2000 0
[ ! -s "$BOX/out" ] || fail "what fits is refused: $(cat "$BOX/out")"
want 0 "$BIN/ndb_select_count" -d test batch
want_text out '^2000 records'
stop_cluster

say "more than the memory of the logs takes: refused at once and for good, and nobody else is harmed"
start_cluster 2 2 $'NoOfFragmentLogFiles=4\nFragmentLogFileSize=16M\nRedoBuffer=2M'
want 0 "$BIN/ndb_create_table" -d test -e "$TABLE"
for _ in 1 2 3; do
    want 0 "$BIN/batch_client" large 40000 0
    want_text out '^error 261, permanent: Transaction changes more rows than allowed, or than a node has room for'
    want 0 "$BIN/batch_client" 1000 0
    want 0 "$BIN/ndb_select_count" -d test batch
    want_text out '^0 records'
    [ "$FAILED" -eq 0 ] || exit 1
done
stop_cluster
