#!/bin/bash
# alter_table.sh -- tables and columns are renamed and columns added while rows move, tables are truncated, and a data node is killed in the middle and
# comes back: the programs that use a renamed table notice nothing, a table has exactly one of its names, and all of its rows or none,
# also after all nodes were killed.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

alter() { run "$BIN/ndb_alter_table" -d test -e "$1" >"$BOX/out" 2>"$BOX/err"; }
there() { run "$BIN/ndb_desc" -d test "$1" >"$BOX/desc" 2>&1; }

# settled CODE: what is refused is refused for a moment only, or nobody knows what has become of it.
settled() {
    local error
    [ "$1" -ne 0 ] || return 0
    error=$(sed -nE 's/^([0-9]+): .*/\1/p' "$BOX/err")
    case $("$BIN/ndb_perror" "${error:-none}") in
    *': Temporary error: '* | *': Unknown result: '*) ;;
    *) fail "exit code $1: $(cat "$BOX/err")" ;;
    esac
    return 1
}

# over: no change is under way any more, not even one whose master was lost: a request that changes nothing is refused for what it is.
over() {
    local i
    for i in $(seq 100); do
        alter "ALTER TABLE witness ADD COLUMN a INT" && fail "two columns have one name"
        grep -q '^720: ' "$BOX/err" && return
        sleep 0.1
    done
    fail "a change does not end: $(cat "$BOX/err")"
}

# until_done STATEMENT BACK: what was not told may have been done; then it is undone first.
until_done() {
    local tries
    for tries in 1 2 3 4 5 6 7 8 9 10; do
        alter "$1"
        settled $? && return
        over
        alter "$2" # If it was done.
    done
    fail "not done in $tries tries: $1"
}

one_name() { # one_name A B: the table has one of these names. Prints it.
    local i
    over >&2
    for i in $(seq 100); do
        if there "$1"; then
            there "$2" && fail "the table is both $1 and $2"
            echo "$1"
            return
        fi
        if there "$2"; then
            echo "$2"
            return
        fi
        sleep 0.1
    done
    fail "the table is neither $1 nor $2 after $i looks"
}

want 0 "$BIN/range_client" check
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE witness (a INT PRIMARY KEY)"
for victim in 2 1; do
    say "a table and a column change their names while rows move, node $victim is killed and comes back"
    want 0 "$BIN/ndb_drop_table" -d test ranged # The client makes its own.
    : >"$BOX/move.out" # Here: the process in the background would do it later than the first look.
    run "$BIN/range_client" move 8 >>"$BOX/move.out" 2>&1 &
    mover=$!
    made=0 killed='' columns_doubted=''
    until grep -q '^moving$' "$BOX/move.out" || ! kill -0 "$mover" 2>/dev/null; do
        sleep 0.1
    done
    while [ "$FAILED" -eq 0 ] && { [ -z "$killed" ] || kill -0 "$mover" 2>/dev/null; }; do
        until_done "RENAME TABLE ranged TO moved" "RENAME TABLE moved TO ranged"
        until_done "ALTER TABLE moved RENAME COLUMN number TO n" "ALTER TABLE moved RENAME COLUMN n TO number"
        until_done "ALTER TABLE moved RENAME COLUMN n TO number" "ALTER TABLE moved RENAME COLUMN number TO n"
        until_done "ALTER TABLE moved RENAME ranged" "ALTER TABLE ranged RENAME moved"
        made=$((made + 5))
        alter "ALTER TABLE ranged ADD COLUMN c$made INT"
        settled $? || columns_doubted=yes
        [ -n "$killed" ] || {
            alter "RENAME TABLE ranged TO moved" & # It is killed somewhere in the middle of this, or before, or behind.
            kill -9 "${NODE_PIDS[$victim]}"
            unset "NODE_PIDS[$victim]"
            wait "$!"
            settled $? || true
            [ "$(one_name ranged moved)" = ranged ] || until_done "RENAME TABLE moved TO ranged" "RENAME TABLE ranged TO moved"
            start_node "$victim"
            killed=yes
        }
    done
    want 0 "$BIN/ndb_desc" -d test ranged
    [ -n "$columns_doubted" ] || [ "$(grep -cE '^c[0-9]+ Int' "$BOX/out")" = "$((made / 5))" ] || fail "columns are missing: $(cat "$BOX/out")"
    wait "$mover" || fail "$(cat "$BOX/move.out")"
    cat "$BOX/move.out"
    echo "changes made meanwhile: $made"
    want 0 "$BIN/ndb_waiter" --timeout=100
    want 0 "$BIN/range_client" verify
done

say "three change a table at the same time: whoever is overtaken by another one begins anew"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE crowded (a INT PRIMARY KEY)"
crowd=''
for who in 1 2 3; do
    for i in $(seq 20); do echo "ALTER TABLE crowded ADD COLUMN c${who}_$i INT;"; done >"$BOX/crowd$who.sql"
    run "$BIN/ndb_alter_table" -d test "$BOX/crowd$who.sql" >"$BOX/crowd$who.out" 2>&1 &
    crowd="$crowd $!"
done
for pid in $crowd; do wait "$pid" || fail "$(cat "$BOX"/crowd*.out)"; done
want 0 "$BIN/ndb_desc" -d test crowded
[ "$(grep -cE '^c[0-9]+_[0-9]+ Int' "$BOX/out")" = 60 ] || fail "columns are missing: $(cat "$BOX/out")"

# many STATEMENT: the statement, three hundred times.
many() {
    local i
    for i in $(seq 300); do echo "$1;"; done
}

say "a node is killed in the middle of many truncates and renames: all rows or none, one name"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE emptied (a INT PRIMARY KEY, b INT, UNIQUE u (b), INDEX i (b))"
seq 1000 | awk '{ print $1 "\t" $1 }' >"$BOX/emptied.tsv"
for victim in 1 2 1 2; do
    want 0 "$BIN/ndb_import" test "$BOX/emptied.tsv"
    if [ "$victim" = 1 ]; then
        many "TRUNCATE TABLE emptied"
    else
        many "RENAME TABLE emptied TO other; RENAME TABLE other TO emptied"
    fi >"$BOX/many.sql"
    run "$BIN/ndb_alter_table" -d test "$BOX/many.sql" >"$BOX/out" 2>"$BOX/err" &
    sleep "0.$((RANDOM % 10))"
    kill -9 "${NODE_PIDS[$victim]}"
    unset "NODE_PIDS[$victim]"
    wait "$!"
    code=$?
    settled "$code" || true
    [ "$(one_name emptied other)" = emptied ] || until_done "RENAME TABLE other TO emptied" "RENAME TABLE emptied TO other"
    start_node "$victim"
    want 0 "$BIN/ndb_waiter" --timeout=100
    want 0 "$BIN/ndb_select_count" -d test emptied
    rows=$(sed -nE 's/^([0-9]+) records.*/\1/p' "$BOX/out")
    echo "exit code $code, $rows rows"
    [ "$rows" = 1000 ] || { [ "$rows" = 0 ] && [ "$victim" = 1 ]; } || fail "$rows rows after exit code $code"
    want 0 "$BIN/ndb_select_all" -d test -h 0 -o emptied i
    [ "$(grep -cE '^[0-9]+\s+[0-9]+$' "$BOX/out")" = "$rows" ] || fail "the index has not the $rows rows"
    until_done "TRUNCATE TABLE emptied" "TRUNCATE TABLE emptied"
done

say "all nodes are killed and come back from their files"
want 0 "$BIN/ndb_import" test "$BOX/emptied.tsv"
until_done "ALTER TABLE emptied RENAME COLUMN b TO c; RENAME TABLE emptied TO kept; TRUNCATE TABLE ranged" ""
make_durable
kill_nodes
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
want 1 "$BIN/ndb_desc" -d test emptied
want 0 "$BIN/ndb_desc" -d test kept
want_text out '^c Int'
want 0 "$BIN/ndb_select_count" -d test kept ranged
want_text out '^1000 records in table kept$'
want_text out '^0 records in table ranged$'
stop_cluster
