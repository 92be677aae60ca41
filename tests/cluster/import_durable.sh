#!/bin/bash
# import_durable.sh -- what ndb_import says is imported survives the loss of the cluster: the tool, all data nodes or both are
# killed at random moments, and the table is compared with the file when a later run has ended. Then states that are damaged,
# of another time, or in use, and a disk without room for them. ROUNDS times for each way to die.
# SPDX-License-Identifier: GPL-2.0-only
ROUNDS=${ROUNDS:-1}
ROWS=${ROWS:-60000}
TEST_DEADLINE=${TEST_DEADLINE:-$((300 + ROUNDS * 200))}
source "$(dirname "$0")/cluster.sh"
SEED=${SEED:-$$}
RANDOM=$SEED
say "seed $SEED"
# A GCI takes long, so that many commits are lost when nobody asks for them to be on disk.
LINES_OF_NODES=TimeBetweenGlobalCheckpoints=10000
start_cluster 2 2 "$LINES_OF_NODES"
mkdir -p "$BOX/state"
awk -v rows="$ROWS" 'BEGIN { for (i = 1; i <= rows; i++) printf "%d,\"row %d\",%s\n", i, i * 7, i % 3 ? i : "\\N" }' >"$BOX/big.csv"

import=("$BIN/ndb_import" --state-dir="$BOX/state" --rejects-file="$BOX/big.rej" test "$BOX/big.csv")
restart_nodes() {
    start_node 1 "$@"
    start_node 2 "$@"
    want 0 "$BIN/ndb_waiter" --timeout=100
}
rows_of() { "$BIN/ndb_select_count" -d test big 2>/dev/null | sed -nE 's/^([0-9]+) records.*/\1/p'; }
new_table() {
    rm -f "$BOX/big.rej" "$BOX"/state/*
    run "$BIN/ndb_drop_table" -d test big >/dev/null 2>&1
    want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE big (a INT NOT NULL PRIMARY KEY, b VARCHAR(40), c INT)"
}
begin_import() {
    "${import[@]}" "$@" >"$BOX/begun" 2>&1 &
    importer=$!
    PIDS+=("$importer")
}
# Until it has imported some rows and has perhaps written its state some times.
wait_rows() {
    local least=$((RANDOM * ROWS / 40000))
    for _ in $(seq 900); do
        [ "$(rows_of || echo 0)" -ge "${least:-1}" ] 2>/dev/null && break
        kill -0 "$importer" 2>/dev/null || break
    done
}
lose_nodes() { # All of them, when the first row is in the table; they come back.
    for _ in $(seq 900); do
        [ "$(rows_of || echo 0)" -gt 0 ] 2>/dev/null && break
    done
    kill_nodes
    restart_nodes
}
wait_state() { # Until the import has a state.
    for _ in $(seq 900); do
        [ -s "$BOX/state/big.map" ] && return
        sleep 0.01
    done
    die "there is no state: $(cat "$BOX/begun")"
}
kill_importer() {
    kill -9 "$importer" 2>/dev/null
    wait "$importer" 2>/dev/null
}
# The table has the rows of the file, and no other ones.
compare() {
    want 0 "$BIN/ndb_select_all" -d test -h 0 -D , big
    grep -v ' rows returned$' "$BOX/out" | sort -n | sed -E 's/\[NULL\]/\\N/' | tr -d '"' >"$BOX/table"
    tr -d '"' <"$BOX/big.csv" | sort -n >"$BOX/file"
    cmp -s "$BOX/table" "$BOX/file" && return 0
    die "$1: the table has $(wc -l <"$BOX/table") rows, the file $(wc -l <"$BOX/file"): $(diff "$BOX/file" "$BOX/table" | head -n 5)"
}
resume() {
    want 0 "${import[@]}" --resume
    want_text out "^test\\.big: $ROWS rows imported .*, on disk, "
    [ "$FAILED" -eq 0 ] || exit 1
}

for ((round = 1; round <= ROUNDS; round++)); do
    say "round $round: the tool and all data nodes"
    for _ in $(seq 100); do # One that has ended before has removed its state.
        new_table
        begin_import
        wait_rows
        kill -STOP "$importer" 2>/dev/null
        [ ! -s "$BOX/state/big.map" ] || break
        kill_importer
    done
    kill_nodes
    kill_importer
    restart_nodes
    resume
    compare "tool and cluster"

    say "round $round: complete, and then the cluster"
    new_table
    want 0 "${import[@]}"
    want_text out "^test\\.big: $ROWS rows imported, .*, on disk, "
    kill_nodes
    restart_nodes
    compare "complete"

    say "round $round: the tool, some times"
    new_table
    for _ in 1 2 3; do
        begin_import --resume --keep-state
        wait_rows
        kill_importer
    done
    kill_nodes # What the last one found in the table may have been in memory only.
    restart_nodes
    begin_import --resume --keep-state
    wait_rows
    kill_importer
    resume
    kill_nodes
    restart_nodes
    compare "tool"

    say "round $round: all data nodes, while the tool goes on"
    new_table
    begin_import
    wait_rows
    kill_nodes
    restart_nodes
    wait "$importer" || die "the import has ended with exit code $?: $(cat "$BOX/begun")"
    cat "$BOX/begun"
    cp "$BOX/begun" "$BOX/out"
    want_text out "^test\\.big: $ROWS rows imported, 0 rejected, .*, on disk, "
    kill_nodes
    restart_nodes
    compare "cluster"
done

say "all data nodes, and rejected rows have gone to a stream"
awk 'BEGIN { for (i = 1; i <= 9; i++) print "none,x,1"; for (i = 1; i <= 9000; i++) printf "%d,x,1\n", i }' >"$BOX/bad.csv"
for _ in $(seq 20); do # Until nothing was on disk.
    new_table
    "$BIN/ndb_import" --state-dir="$BOX/state" --rejects=9 --rejects-file=/dev/stderr --opbatch=1 --db-workers=1 --table=big test "$BOX/bad.csv" >"$BOX/out.again" 2>"$BOX/again" &
    importer=$!
    PIDS+=("$importer")
    lose_nodes
    wait "$importer" || fail "the import has ended with exit code $?: $(cat "$BOX/again")"
    grep -q 'rows behind 0 are imported again' "$BOX/again" && break
done
want_text again '^/dev/stderr: 9 rejected rows behind 0 have gone there, which do not count: those that are rejected again come again$'
[ "$(grep -c '	none,x,1$' "$BOX/again")" = 18 ] || fail "the stream has not all rows twice: $(cat "$BOX/again")"
want_text out.again '^test\.big: 9000 rows imported, 9 rejected'

say "states that are damaged, cut, empty, of an older version or of a changed file"
begun() { # A state of a run that was killed: one that has ended before has removed it.
    for _ in $(seq 100); do
        new_table
        begin_import
        wait_rows
        kill_importer
        [ ! -s "$BOX/state/big.map" ] || break
    done
    cp "$BOX/state/big.map" "$BOX/kept.map"
}
refused() { # PATTERN: nothing is touched.
    local before after
    before=$(rows_of)
    cp "$BOX/state/big.map" "$BOX/before.map"
    want 1 "${import[@]}" --resume
    want_text err "$1"
    cmp "$BOX/state/big.map" "$BOX/before.map" || fail "a refused run has changed the state"
    after=$(rows_of)
    [ "$before" = "$after" ] || fail "a refused run has imported rows: $before are $after"
}
DAMAGED='big\.map is (damaged; without --resume it is replaced|in the way: it is not of ndb_import|of an older version)'
begun
size=$(stat -c %s "$BOX/kept.map")
for ((cut = 1; cut < size; cut += 1 + size / 9)); do
    head -c "$cut" "$BOX/kept.map" >"$BOX/state/big.map"
    refused "$DAMAGED" # Cut behind one of the first lines it looks like those of older versions.
done
for ((byte = 100; byte < size; byte += 23)); do # One digit or letter is another one.
    cp "$BOX/kept.map" "$BOX/state/big.map"
    printf '8' | dd of="$BOX/state/big.map" bs=1 seek="$byte" conv=notrunc 2>/dev/null
    cmp -s "$BOX/kept.map" "$BOX/state/big.map" || refused "$DAMAGED"
done
: >"$BOX/state/big.map"
refused 'big\.map is empty'
sed -E '/^(cluster|tail|options|epoch|check)/d' "$BOX/kept.map" >"$BOX/state/big.map"
refused 'big\.map is of an older version, and does not say .* or whether they are there still'
cp "$BOX/kept.map" "$BOX/state/big.map"
cp "$BOX/big.csv" "$BOX/kept.csv"
mark=$(sed -n 2p "$BOX/kept.map" | cut -f 3)
if [ "$mark" -gt 0 ]; then # As long as before, and in what was imported last.
    sed -i "$mark"'s/row/ROW/' "$BOX/big.csv"
    refused 'the file has been changed since: what stands before its byte [0-9]+, to where it was imported, is not'
fi
cp "$BOX/kept.csv" "$BOX/big.csv"
resume
compare "after refusals"

say "an older state: what it does not count is compared"
begun
cp "$BOX/state/big.map" "$BOX/older.map"
begin_import --resume
wait_rows
kill_importer
sed -n 2,3p "$BOX/older.map" "$BOX/state/big.map" | cut -f 1-4 | tr '\n' ';'
cp "$BOX/older.map" "$BOX/state/big.map"
run "${import[@]}" --resume --rejects=1000000 >"$BOX/out" 2>"$BOX/err"
want_text out '^test\.big: [0-9]+ rows imported .*, [0-9]+ rejected, .*, on disk, '
grep -E '^test' "$BOX/out"
compare "older state"

say "two imports with one state"
new_table
begin_import
wait_state
want 1 "${import[@]}" --resume
want_text err 'big\.map is in use: another import of a file of this name is running; give it another --state-dir'
want 1 "${import[@]}"
want_text err 'big\.map is in use'
wait "$importer" || fail "the import beside which others were refused ends with exit code $?: $(cat "$BOX/begun")"
compare "two imports"

say "no room for the state"
new_table
(
    trap '' XFSZ
    ulimit -f 0
    "${import[@]}" 2>&1 1>/dev/null | cat >&3
) 3>&1 | tail -n 1 >/dev/null
[ -z "$(ls "$BOX/state")" ] || fail "what could not be written stays: $(ls "$BOX/state")"
[ "$(rows_of)" = 0 ] || fail "rows are imported without a state"
(
    trap '' XFSZ
    exec "${import[@]}" >"$BOX/begun" 2>&1
) &
importer=$!
PIDS+=("$importer")
wait_state
prlimit --pid "$importer" --fsize=0
wait "$importer"
cat "$BOX/begun"
resume
compare "no room"

say "the cluster begins anew"
begun
kill_nodes
restart_nodes --initial --i-accept-data-loss
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE big (a INT NOT NULL PRIMARY KEY, b VARCHAR(40), c INT)"
refused 'big\.map: the cluster is not the one that rows of .*/big\.csv were imported into \(it is another one, or has begun anew with --initial since\)\. Those rows are not in table test/big; without --resume the whole file is imported$'
want 0 "${import[@]}"
compare "begun anew"

say "other options: the same place in the file is another row"
begun
refused_with() { # OPTION...
    want 1 "${import[@]}" --resume "$@"
    want_text err 'big\.map: the options say something else about the file.s rows than those of the run before'
}
refused_with --columns=a,c,b
refused_with --ignore-lines=1
refused_with --fields-terminated-by=';'
refused_with --null=x
resume
compare "other options"

say "all data nodes, while a pipe is silent whose rows are on disk by then"
mkfifo "$BOX/slow"
mv "$BOX/big.csv" "$BOX/kept.csv"
head -n 500 "$BOX/kept.csv" >"$BOX/big.csv"
for way in killed restarted; do
    new_table
    "$BIN/ndb_import" --state-dir="$BOX/state" --input-type=csv --table=big --monitor=1 test "$BOX/slow" >"$BOX/out" 2>"$BOX/err" &
    importer=$!
    PIDS+=("$importer")
    exec 8<>"$BOX/slow" # Without waiting for a reader.
    head -n 250 "$BOX/big.csv" >&8
    for _ in $(seq 900); do # It asks once a second, as often as it tells this.
        [ "$(grep -c ': 250 rows' "$BOX/err")" -ge 6 ] && break
        [ $way = restarted ] && [ "$(rows_of)" = 250 ] && break # In good order: all is on disk then, and it could not ask.
        kill -0 "$importer" || die "$(cat "$BOX/err")"
        sleep 0.1
    done
    if [ $way = killed ]; then
        kill_nodes
        restart_nodes 8>&- # The nodes would be writers, too.
    else
        want 0 "$BIN/ndb_mgm" -e 'all restart'
    fi
    tail -n 250 "$BOX/big.csv" >&8
    exec 8>&-
    wait "$importer" || fail "nothing is lost when they are $way, and the import ends with exit code $?: $(cat "$BOX/err")"
    want_text out '^test\.big: 500 rows imported, 0 rejected, .*, on disk, '
    compare "a silent pipe, $way"
done
mv "$BOX/kept.csv" "$BOX/big.csv"

say "rejected rows that cannot be kept are not done"
new_table
awk 'BEGIN { for (i = 1; i <= 6000; i++) printf "%s,\"row %d\",%d\n", i % 2 ? i : "none", i, i }' >"$BOX/odd.csv"
odd() { run "$BIN/ndb_import" --state-dir="$BOX/state" --rejects=1000000 --table=big "$@" test "$BOX/odd.csv" >"$BOX/out" 2>"$BOX/err"; }
odd --rejects-file=/dev/full && fail "rejected rows go into a full disk"
want_text err '/dev/full: No space left on device\. Rejected rows cannot be kept; what is not in this file counts as not done'
[ "$(grep -c '/dev/full: No space left' "$BOX/err")" = 1 ] || fail "that the disk is full is not told once: $(cat "$BOX/err")"
grep -q 'Rejected rows are in' "$BOX/err" && fail "it says where the rejected rows are, and they are not"
odd --rejects-file="$BOX/nowhere/odd.rej" --resume && fail "rejected rows go into a directory that is not there"
want_text err 'nowhere/odd\.rej: No such file or directory'
odd --rejects-file="$BOX/odd.rej" --resume || fail "rows are rejected as permitted, and the exit code is $?"
want_text out '^test\.big: 3000 rows imported .*, 3000 rejected'
want_text err "Rejected rows are in $BOX/odd\.rej"
[ "$(wc -l <"$BOX/odd.rej")" = 3000 ] || fail "$(wc -l <"$BOX/odd.rej") rows of 3000 are in the file of rejected ones"
[ "$(rows_of)" = 3000 ] || fail "$(rows_of) rows of 3000 are in the table"
stop_cluster

say "the cluster is started from older data: what the state counts is gone, and --resume says so"
start_cluster 2 2 $'StartPartialTimeout=1000\nStartPartitionedTimeout=3000'
for _ in $(seq 20); do
    new_table
    begin_import --keep-state
    for _ in $(seq 900); do
        [ "$(rows_of || echo 0)" -gt 0 ] && break
    done
    kill -STOP "$importer"
    [ "$(rows_of)" = "$ROWS" ] || break
    kill -CONT "$importer"
    wait "$importer"
done
[ "$(rows_of)" != "$ROWS" ] || die "the import is always too fast"
kill -9 "${NODE_PIDS[1]}"
ended "${NODE_PIDS[1]}"
unset 'NODE_PIDS[1]'
kill -CONT "$importer"
wait "$importer" || fail "the import beside a lost node ends with exit code $?: $(cat "$BOX/begun")"
kill_nodes
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100 --wait-nodes=1
[ "$(rows_of)" -lt "$ROWS" ] || die "node 1 has all rows: it has no older data"
refused 'rows of .*/big\.csv that were imported before are not in the table any more, or not all of them: the cluster was started from older data since'
run "${import[@]}" --rejects=1000000 >"$BOX/out" 2>"$BOX/err"
compare "from older data"
stop_cluster

say "a cluster without files is lost under an import from a pipe, and of a file: everything is gone"
start_cluster 2 2 Diskless=1
GONE='all data nodes were lost, and a cluster without files \(Diskless\) has lost its tables with all rows then: .* without --resume$'
lost_under() { # FILE OPTION...: its import ends when all nodes have been killed and have come back with nothing.
    new_table
    "$BIN/ndb_import" --state-dir="$BOX/state" --rejects-file="$BOX/big.rej" --table=big "${@:2}" test "$1" >"$BOX/out" 2>"$BOX/err" &
    importer=$!
    PIDS+=("$importer")
    lose_nodes
    ended "$importer" && fail "the exit code is 0: $(cat "$BOX/out" "$BOX/err")"
    want_text err "$GONE"
    grep -E -- '--ignore-lines|--resume goes on' "$BOX/err" && fail "it says where to go on"
}
lost_under <(for ((i = 1; ; i++)); do echo "$i,\"row\",1" || break; done 2>/dev/null) --input-type=csv
awk 'BEGIN { for (i = 1; i <= 3000000; i++) printf "%d,\"row\",1\n", i }' >"$BOX/big.csv"
lost_under "$BOX/big.csv" --opbatch=1
stop_cluster
