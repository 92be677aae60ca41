#!/bin/bash
# fully_replicated.sh -- a table that every node group has whole: its copies have the rows of their partitions, also while data nodes are
# killed and come back, and after all nodes were killed; the tools count each row once.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 4 2
OPTIONS="COMMENT='NDB_TABLE=FULLY_REPLICATED=1'"

# compare_copies TABLE ROWS: in quiet each copy has as many rows as its partition, the partitions together ROWS; whichever node group
# reads them, they are the same.
compare_copies() {
    want 0 "$BIN/ndb_desc" -d test -p -n "$1"
    awk -F '\t' -v rows="$2" '
        /^PartitionCount: / { split($0, count, " ") }
        $8 == "-" { of[$1] = $2; all += $2; partitions++ }
        $8 ~ /^[0-9]+$/ { copies++; if (of[$8] != $2) wrong++ }
        END { exit !(partitions == count[2] && copies == partitions && all == rows && !wrong) }' "$BOX/out" ||
        fail "copies of $1: $(cat "$BOX/out")"
    local try first
    first=$("$BIN/ndb_select_all" -d test -h 0 "$1" | LC_ALL=C sort | cksum)
    for try in 1 2 3 4 5 6; do
        [ "$("$BIN/ndb_select_all" -d test -h 0 "$1" | LC_ALL=C sort | cksum)" = "$first" ] || fail "$1: try $try has other rows"
    done
}

say "rows, counts, locks"
AWKWARD_TABLE="$AWKWARD_TABLE $OPTIONS"
load_and_compare 3000
compare_copies awkward 3000
want 0 "$BIN/ndb_desc" -d test -p -n awkward
want_text out '^PartitionCount: [1-9]'
want_text out '^Table options: readbackup, fullyreplicated$'
for node in 1 2 3 4; do
    want_text out "	-	(.*,)?$node(,.*)?$"
    want_text out "	[0-9]+	(.*,)?$node(,.*)?$"
done
want 0 "$BIN/ndb_desc" -d test -p --format=json awkward
want_text out '"copy_of"'
want 0 "$BIN/ndb_delete_all" -d test awkward
compare_copies awkward 0
drop_awkward
want 1 "$BIN/ndb_create_table" -d test -e "CREATE TABLE wide (a INT PRIMARY KEY) PARTITION BY KEY (a) PARTITIONS 5000 $OPTIONS"
want_text err '797'

say "unique and ordered indexes"
want 0 "$BIN/unique_client" check "$OPTIONS"
want_text out '^unique: all is right$'

for victim in 2 3; do
    say "rows move, node $victim is killed and comes back"
    : >"$BOX/move.out" # Before the first look at it.
    run "$BIN/unique_client" move 8 "$OPTIONS" >"$BOX/move.out" 2>&1 &
    mover=$!
    wait_text move.out '^moving$'
    sleep 1
    kill -9 "${NODE_PIDS[$victim]}"
    unset "NODE_PIDS[$victim]"
    sleep 1
    start_node "$victim"
    want 0 "$BIN/ndb_waiter" --timeout=100
    wait "$mover" || fail "$(cat "$BOX/move.out")"
    cat "$BOX/move.out"
    want 0 "$BIN/unique_client" verify
    compare_copies people 400
done

say "indexes come, all nodes are killed and come back from their files"
want 0 "$BIN/ndb_create_index" -d test -e "CREATE INDEX by_email ON people (email); CREATE UNIQUE INDEX later ON people (email)"
want 0 "$BIN/unique_client" verify 400 later
make_durable
kill_nodes
for node in 1 2 3 4; do start_node "$node"; done
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/unique_client" verify 400 later
compare_copies people 400
want 0 "$BIN/ndb_select_all" -d test -h 0 --order people by_email
want_text out '^400 rows returned$'
want 0 "$BIN/ndb_drop_table" -d test people
stop_cluster
