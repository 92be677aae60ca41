#!/bin/bash
# online_index.sh -- clients hear of indexes that others make. Indexes of a table come and go while its rows move and a data node
# is killed and comes back; the programs that use the table notice nothing, and an index has the rows of its table, also after all
# nodes were killed.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

create() { run "$BIN/ndb_create_index" -d test -e "CREATE INDEX online ON ranged (number, text)" >"$BOX/out" 2>"$BOX/err"; }
drop() { run "$BIN/ndb_drop_index" -d test ranged online >"$BOX/out" 2>"$BOX/err"; }
there=no

# As many rows by the index as the table has, and in order.
compare() {
    local rows
    rows=$("$BIN/ndb_select_count" -d test ranged | sed -nE 's/^([0-9]+) records.*/\1/p')
    want 0 "$BIN/ndb_select_all" -d test -h 1 -o ranged online
    awk -F'\t' -v rows="$rows" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "number") at = i; next }
        /rows returned/ { exit }
        { if ($at + 0 < last && NR > 2) wrong++; last = $at + 0; count++ }
        END { exit !(at && count == rows && !wrong) }' "$BOX/out" || fail "the index has not the $rows rows of its table in order"
}

want 0 "$BIN/range_client" check
for victim in 2 1; do
    say "indexes come and go while rows move, node $victim is killed and comes back"
    want 0 "$BIN/ndb_drop_table" -d test ranged # The client makes its own.
    run "$BIN/range_client" move 8 >"$BOX/move.out" 2>&1 &
    mover=$!
    made=0 killed='' there=no
    until run "$BIN/ndb_select_count" -d test ranged >"$BOX/out" 2>&1 || ! kill -0 "$mover" 2>/dev/null; do
        sleep 0.1
    done
    while [ "$FAILED" -eq 0 ] && { [ -z "$killed" ] || kill -0 "$mover" 2>/dev/null; }; do
        create
        settle create $?
        [ "$there" = no ] || {
            made=$((made + 1))
            drop
            settle drop $?
        }
        [ -n "$killed" ] || [ "$made" -lt 3 ] || {
            create & # It is killed somewhere in the middle of this, or before, or behind.
            kill -9 "${NODE_PIDS[$victim]}"
            unset "NODE_PIDS[$victim]"
            wait "$!"
            settle create $?
            start_node "$victim"
            killed=yes
        }
    done
    wait "$mover" || fail "$(cat "$BOX/move.out")"
    cat "$BOX/move.out"
    echo "indexes made meanwhile: $made"
    want 0 "$BIN/ndb_waiter" --timeout=100
    want 0 "$BIN/range_client" verify
    [ "$there" = no ] || {
        drop
        settle drop $?
    }
    want 0 "$BIN/ndb_create_index" -d test -e "CREATE INDEX online ON ranged (number, text)"
    compare
    want 0 "$BIN/ndb_drop_index" -d test ranged online
done

say "all nodes are killed and come back from their files"
want 0 "$BIN/ndb_create_index" -d test -e "CREATE INDEX online ON ranged (number, text)"
make_durable
kill_nodes
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
compare
want 0 "$BIN/range_client" verify
stop_cluster
