#!/bin/bash
# unique.sh -- unique indexes through the public interface: duplicates, operations by unique key; rows that change their keys while
# an index is dropped and a data node is killed and comes back; rows and entries agree afterwards, and after all nodes were killed.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

# drop INDEX: until it is gone. What is refused is refused for a moment only; an answer that was lost may have been a good one.
drop() {
    local error
    until run "$BIN/ndb_drop_index" -d test people "$1" >"$BOX/drop.out" 2>"$BOX/drop.err"; do
        error=$(sed -nE 's/^([0-9]+): .*/\1/p' "$BOX/drop.err")
        [ "$error" != 4243 ] || return 0
        case $("$BIN/ndb_perror" "${error:-none}") in
        *': Temporary error: '* | *': Unknown result: '*) ;;
        *)
            fail "the index is not dropped: $(cat "$BOX/drop.err")"
            return 1
            ;;
        esac
    done
}

for victim in 2 1; do
    want 0 "$BIN/unique_client" check
    want_text out '^unique: all is right$'
    say "rows move, an index is dropped, node $victim is killed and comes back"
    : >"$BOX/move.out" # Before the first look at it.
    run "$BIN/unique_client" move 8 >"$BOX/move.out" 2>&1 &
    mover=$!
    wait_text move.out '^moving$'
    sleep 1
    drop spare & # The node is killed before, in the middle of this, or behind.
    dropper=$!
    kill -9 "${NODE_PIDS[$victim]}"
    unset "NODE_PIDS[$victim]"
    wait "$dropper" || FAILED=1
    start_node "$victim"
    want 0 "$BIN/ndb_waiter" --timeout=100
    wait "$mover" || fail "$(cat "$BOX/move.out")"
    cat "$BOX/move.out"
    want 0 "$BIN/unique_client" verify
    want 0 "$BIN/ndb_desc" -d test people
    ! grep -q spare "$BOX/out" || fail "the dropped index is still there"
done

say "all nodes are killed and come back from their files"
make_durable
kill_nodes
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_desc" -d test people
want_text out '^email\(email\) - UniqueHashIndex$'
! grep -q spare "$BOX/out" || fail "the dropped index is back"
want 0 "$BIN/unique_client" verify
want 0 "$BIN/ndb_show_tables"
want_text out 'people'
! grep -q 'NDB\$UNIQUE' "$BOX/out" || fail "a table that is a unique index is listed"
want 0 "$BIN/ndb_drop_table" -d test people
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE people (a INT NOT NULL PRIMARY KEY, b INT UNIQUE)"
stop_cluster
