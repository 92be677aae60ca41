#!/bin/bash
# unique.sh -- unique indexes through the public interface: duplicates, operations by unique key; rows that change their keys while
# a data node is killed and comes back; rows and entries agree afterwards, and after all nodes were killed.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

want 0 "$BIN/unique_client" check
want_text out '^unique: all is right$'

for victim in 2 1; do
    say "rows move, node $victim is killed and comes back"
    run "$BIN/unique_client" move 8 >"$BOX/move.out" 2>&1 &
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
done

say "all nodes are killed and come back from their files"
make_durable
kill_nodes
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_desc" -d test people
want_text out '^email\(email\) - UniqueHashIndex$'
want 0 "$BIN/unique_client" verify
want 0 "$BIN/ndb_show_tables"
want_text out 'people'
! grep -q 'NDB\$UNIQUE' "$BOX/out" || fail "a table that is a unique index is listed"
want 0 "$BIN/ndb_drop_table" -d test people
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE people (a INT NOT NULL PRIMARY KEY, b INT UNIQUE)"
stop_cluster
