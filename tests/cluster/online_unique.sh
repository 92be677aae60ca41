#!/bin/bash
# online_unique.sh -- unique indexes are made of tables in use: while rows change their keys and a data node, or all of them, are killed
# in the middle, an index is there with exactly the entries of its table's rows, or nothing of it is; two rows with one key refuse it.
# SPDX-License-Identifier: GPL-2.0-only
TEST_DEADLINE=${TEST_DEADLINE:-900} # Each index waits for the disk.
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

ROWS=20000

create() { run "$BIN/ndb_create_index" -d test -e "CREATE UNIQUE INDEX later ON people (email)" >"$BOX/out" 2>"$BOX/err"; }
drop() { run "$BIN/ndb_drop_index" -d test people later >"$BOX/out" 2>"$BOX/err"; }
there=no

begin_moving() { # SECONDS
    : >"$BOX/move.out" # Before the first look at it.
    run "$BIN/unique_client" move "$1" '' "$ROWS" >"$BOX/move.out" 2>&1 &
    mover=$!
    there=no
    wait_text move.out '^moving$'
}
end_moving() {
    wait "$mover" || fail "$(cat "$BOX/move.out")"
    cat "$BOX/move.out"
}

# Whatever has become of it: it is not there.
be_gone() {
    [ "$there" != no ] || return 0
    drop
    settle drop $?
    want 0 "$BIN/ndb_desc" -d test people
    ! grep -q '^later(' "$BOX/out" || fail "the index is still there"
    there=no
}

# After a change that was cut off: what it says of the index, then what is done next, agree with the rows.
verify_both() {
    want 0 "$BIN/unique_client" verify "$ROWS"
    be_gone
    want 0 "$BIN/ndb_create_index" -d test -e "CREATE UNIQUE INDEX later ON people (email)"
    want 0 "$BIN/unique_client" verify "$ROWS" later
}

say "the tool: two rows with one key, and without them"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE named (id INT PRIMARY KEY, name VARCHAR(40))"
printf '1\tone\n2\ttwo\n3\tOne\n4\t\\N\n5\t\\N\n' >"$BOX/named.tsv"
want 0 "$BIN/ndb_import" test "$BOX/named.tsv"
want 1 "$BIN/ndb_create_index" -d test -e "CREATE UNIQUE INDEX by_name ON named (name)"
want_text err '^893: '
want 0 "$BIN/ndb_desc" -d test named
! grep -q by_name "$BOX/out" || fail "an index that was refused is there"
want 1 "$BIN/ndb_drop_index" -d test named by_name
want_text err '^4243: '
want 0 "$BIN/ndb_delete_all" -d test named
sed -i 's/One/three/' "$BOX/named.tsv"
want 0 "$BIN/ndb_import" test "$BOX/named.tsv"
want 0 "$BIN/ndb_create_index" -d test --format=json -e "CREATE UNIQUE INDEX by_name ON named (name) USING HASH; CREATE UNIQUE INDEX IF NOT EXISTS by_name ON named (name)"
want_text out '"executed":[[:space:]]*2'
want 1 "$BIN/ndb_create_index" -d test -e "CREATE UNIQUE INDEX By_Name ON named (id)"
want_text err '^4244: '
want 0 "$BIN/ndb_desc" -d test named
want_text out '^by_name\(name\) - UniqueHashIndex$'
want 0 "$BIN/ndb_drop_index" -d test named by_name
want_text out '^Dropping index named/by_name\.\.\.OK$'
want 0 "$BIN/ndb_drop_table" -d test named

say "the library: names, duplicates, transactions that are open"
want 0 "$BIN/unique_client" create
want_text out '^create: all is right$'

for victim in 2 1; do
    say "indexes come and go while rows move, node $victim is killed and comes back"
    begin_moving 10
    made=0 killed=''
    while [ "$FAILED" -eq 0 ] && { [ -z "$killed" ] || kill -0 "$mover" 2>/dev/null; }; do
        create
        settle create $?
        [ "$there" = no ] || {
            made=$((made + 1))
            drop
            settle drop $?
        }
        [ -n "$killed" ] || [ "$made" -lt 1 ] || {
            create & # It is killed somewhere in the middle of this, or behind.
            sleep "0.$((RANDOM % 10))"
            kill -9 "${NODE_PIDS[$victim]}"
            unset "NODE_PIDS[$victim]"
            wait "$!"
            settle create $?
            start_node "$victim"
            killed=yes
        }
    done
    end_moving
    echo "indexes made meanwhile: $made"
    want 0 "$BIN/ndb_waiter" --timeout=100
    verify_both
done

# The tables whose numbers come next are new, whatever the log has of those that never came.
check_fresh() {
    want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE fresh (a INT PRIMARY KEY, b VARCHAR(60) UNIQUE, c INT, UNIQUE u (c))"
    make_durable
    kill_nodes
    start_node 1
    start_node 2
    want 0 "$BIN/ndb_waiter" --timeout=100
    want 0 "$BIN/ndb_select_count" -d test fresh
    want_text out '^0 records in table fresh$'
    seq 500 | awk '{ print $1 "\t" $1 "@example.org\t" $1 }' >"$BOX/fresh.tsv" # No key is taken.
    want 0 "$BIN/ndb_import" test "$BOX/fresh.tsv"
    want_text out '500 rows imported, 0 rejected'
    want 0 "$BIN/ndb_drop_table" -d test fresh
}

for pause in 0.2 1 2.5; do
    say "all nodes are killed $pause s after an index begins to be made, and come back from their files"
    begin_moving 5
    make_durable # Else the table may be gone, and some of its rows.
    create &
    creator=$!
    sleep "$pause"
    kill_nodes
    start_node 1
    start_node 2
    wait "$creator"
    code=$? # What was told is in the files; without a number it has not been asked for.
    if [ "$code" -eq 0 ] || grep -qE '^[0-9]+: ' "$BOX/err"; then settle create "$code"; fi
    want 0 "$BIN/ndb_waiter" --timeout=100
    end_moving
    verify_both
    [ "$pause" != 1 ] || check_fresh
done

say "all nodes are killed when it is there, and come back from their files"
make_durable
kill_nodes
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_desc" -d test people
want_text out '^later\(email\) - UniqueHashIndex$'
want 0 "$BIN/unique_client" verify "$ROWS" later
want 0 "$BIN/ndb_drop_index" -d test people later
want 0 "$BIN/unique_client" verify "$ROWS"
stop_cluster
