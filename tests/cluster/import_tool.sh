#!/bin/bash
# import_tool.sh -- ndb_import: several tables in one run, resumed after a kill, rejected rows, statistics.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

mkdir -p "$BOX/state"
import() { # CODE OPTIONS...
    local code=$1
    shift
    want "$code" "$BIN/ndb_import" --state-dir="$BOX/state" "$@"
}
told_once() { [ "$(grep -c -- "$1" "$BOX/err")" = 1 ] || fail "not told once: $1: $(cat "$BOX/err")"; }
rows_of() { "$BIN/ndb_select_count" -d test "$1" | sed -nE 's/^([0-9]+) records.*/\1/p'; }
has_rows() { [ "$(rows_of "$1")" = "$2" ] || fail "table $1 has $(rows_of "$1") rows instead of $2"; }

want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE big (a INT NOT NULL PRIMARY KEY, b VARCHAR(40), c INT)"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE small (a INT NOT NULL PRIMARY KEY, b VARCHAR(40), c INT)"
{
    echo 'a,b,c'
    awk 'BEGIN { for (i = 1; i <= 120000; i++) printf "%d,\"row %d\",%s\n", i, i, i % 3 ? i : "\\N" }'
} >"$BOX/big.csv"
printf 'a,b,c\n1,"x",1\n2,"y",2\n' >"$BOX/small.csv"

say "two tables in one run, statistics, progress"
import 0 --ignore-lines=1 --stats --keep-state --monitor=1 test "$BOX/small.csv" "$BOX/big.csv"
want_text out '^test\.small: 2 rows imported, 0 rejected'
want_text out '^test\.big: 120000 rows imported, 0 rejected'
cp "$BOX/state/big.stt" "$BOX/out"
want_text out '^1	1	row-microseconds	0	120000	'
want_text out '^1	2	rows-per-second	0	'
cp "$BOX/state/big.map" "$BOX/out"
want_text out '^1	0	120001	120000	0	[0-9]+	[0-9]+	0	complete$'
import 0 --ignore-lines=1 --resume test "$BOX/small.csv" "$BOX/big.csv" # Nothing is left to do.
want_text out '^test\.big: 120000 rows imported \(run 2, 0 new\), 0 rejected, .* 0\.0 MB/s$'
[ -z "$(ls "$BOX"/state/*.map 2>/dev/null)" ] || fail "state files stay: $(ls "$BOX/state")"
import 0 --ignore-lines=1 --resume test "$BOX/small.csv" # As if it had been killed at its very end.
want_text out '^test\.small: 2 rows imported, 0 rejected'
has_rows small 2
want 0 "$BIN/ndb_delete_all" -d test small big
import 0 --ignore-lines=1 --format=json test "$BOX/small.csv" "$BOX/big.csv"
one_line
file='"rejected":0,"run":1,"rows_of_run":[0-9]+,"rejected_of_run":0,"retries":[0-9]+,"bytes":[1-9][0-9]*,"seconds":[0-9.e-]+,"complete":true,"on_disk":true'
want_text out "^\\[\\{\"database\":\"test\",\"table\":\"small\",\"file\":\"[^\"]*/small\\.csv\",\"rows\":2,$file\\}, ?\\{.*\"table\":\"big\",.*\"rows\":120000,$file\\}\\]\$"

say "killed on the way, three times, and resumed"
want 0 "$BIN/ndb_delete_all" -d test big
sed -i '30000s/.*/29999,"row 29999",oops/; 50000s/.*/7,"row 7",8/' "$BOX/big.csv" # One no number, one the key of another.
want 0 "$BIN/ndb_delete_all" -d test small
for _ in 1 2 3; do
    "$BIN/ndb_import" --table=big --rejects-file="$BOX/big.rej" --ignore-lines=1 --rejects=1000000 --resume --keep-state \
        --state-dir="$BOX/state" test "$BOX/big.csv" >"$BOX/out" 2>&1 &
    importer=$!
    PIDS+=("$importer")
    before=$(rows_of big)
    for _ in $(seq 900); do # Until it has begun to work.
        [ "$(rows_of big)" -gt "$before" ] && break
        kill -0 "$importer" 2>/dev/null || break
    done
    sleep 0.1
    kill -9 "$importer" 2>/dev/null
    wait "$importer" 2>/dev/null
done
import 0 --table=big --rejects-file="$BOX/big.rej" --ignore-lines=1 --rejects=1000000 --resume test "$BOX/big.csv"
want_text out '^test\.big: 119998 rows imported \(run [2-4], [0-9]+ new\), 2 rejected'
grep -E '^test.big' "$BOX/out"
has_rows big 119998
[ "$(wc -l <"$BOX/big.rej")" = 2 ] || fail "the reject file has other than two lines: $(cat "$BOX/big.rej")"
cp "$BOX/big.rej" "$BOX/out"
want_text out '^30000	4313	field 3, column c: .*	29999,"row 29999",oops$'
want_text out '^50000	630	.*	7,"row 7",8$'

say "stopped by a rejected row, then resumed behind it"
want 0 "$BIN/ndb_delete_all" -d test small
printf '1,"x",1\nnone,"y",2\n3,"z",3\n' >"$BOX/small.csv"
import 1 --rejects-file="$BOX/small.rej" test "$BOX/small.csv"
want_text err 'row 2 is the last one that is done; --resume goes on there$'
has_rows small 1
import 1 --rejects-file="$BOX/small.rej" --resume test "$BOX/small.csv"
want_text out '^test\.small: 2 rows imported \(run 2, 1 new\), 1 rejected'
has_rows small 2
[ "$(cut -f 1 "$BOX/small.rej")" = 2 ] || fail "the reject file is $(cat "$BOX/small.rej")"

want 0 "$BIN/ndb_delete_all" -d test small
import 1 --rejects-file="$BOX/small.rej" --format=json test "$BOX/small.csv"
want_text err 'row 2 rejected: 4313'
one_line
want_text out '"rows":1,"rejected":1,"run":1,"rows_of_run":1,"rejected_of_run":1,.*"complete":false,"on_disk":true\}\]$'
import 1 --rejects-file="$BOX/small.rej" --resume --format=json test "$BOX/small.csv"
one_line
want_text out '"rows":2,"rejected":1,"run":2,"rows_of_run":1,"rejected_of_run":0,.*"complete":true,"on_disk":true\}\]$'

say "as many rejected rows as are permitted, and the next file"
printf '1,"x",1\nnone,"y",2\nnone,"z",3\n4,"u",4\n' >"$BOX/few.csv"
want 0 "$BIN/ndb_delete_all" -d test small
import 0 --rejects=2 --table=small test "$BOX/few.csv"
want_text out '^test\.small: 2 rows imported, 2 rejected'
want_text err "Rejected rows are in $BOX/state/few\.rej"
[ "$(cut -f 1 "$BOX/state/few.rej" | tr '\n' ' ')" = '2 3 ' ] || fail "the reject file is $(cat "$BOX/state/few.rej")"
want 0 "$BIN/ndb_delete_all" -d test small
import 1 --rejects=1 --opbatch=1 --db-workers=1 --table=small test "$BOX/few.csv"
want_text err 'few\.csv: more than 1 rows rejected'
has_rows small 1
import 1 --rejects=1 --resume --table=small test "$BOX/few.csv" # Two of the file's rows are rejected, whenever.
! grep -q 'was not there' "$BOX/err" || fail "a state that is there is called missing"
has_rows small 2
: >"$BOX/state/few.rej" # Somebody has taken care of them, or lost them.
import 1 --rejects=1 --resume --table=small test "$BOX/few.csv"
want_text err 'few\.rej: of the [12] rows that were rejected before 0 are there; the others were taken out of it since, or are in another file$'
rm -f "$BOX"/state/*.map # Another directory, or the run was complete.
import 1 --resume --table=small test "$BOX/few.csv"
want_text err "state/few\.map was not there: the whole file is imported; rows that are in the table with the same values count as imported, each of several equal ones too$"
printf '61,"x",1\n61,"x",1\n' >"$BOX/equal.csv"
import 0 --rejects=1 --table=small test "$BOX/equal.csv"
want_text out '^test\.small: 1 rows imported, 1 rejected'
import 0 --resume --table=small test "$BOX/equal.csv" # Nobody knows which of the equal rows has been sent before.
want_text out '^test\.small: 2 rows imported, 0 rejected'
want 0 "$BIN/ndb_delete_all" -d test small big

say "the table is truncated while rows go into it: that is no fault of the rows"
seq 60000 | sed 's/$/,"x",1/' >"$BOX/cut.csv"
run "$BIN/ndb_import" --state-dir="$BOX/state" --opbatch=1 --rejects=100000 --table=small test "$BOX/cut.csv" >"$BOX/cut.out" 2>&1 &
cut=$!
PIDS+=("$cut")
until [ "$(rows_of small)" -gt 0 ]; do kill -0 "$cut" 2>/dev/null || die "$(cat "$BOX/cut.out")"; done
want 0 "$BIN/ndb_alter_table" -d test -e "TRUNCATE TABLE small"
wait "$cut" && fail "rows of a table that was truncated are imported: $(cat "$BOX/cut.out")"
grep -q 'row [0-9]*: the table is not the one any more that it was when the import began$' "$BOX/cut.out" || fail "a truncated table: $(cat "$BOX/cut.out")"
grep -qE '^(241|283|284|1226|1227): ' "$BOX/cut.out" || fail "without the error: $(cat "$BOX/cut.out")"
grep -q 'goes on there$' "$BOX/cut.out" && fail "nobody can go on: $(cat "$BOX/cut.out")"
[ ! -s "$BOX/state/cut.rej" ] || fail "rows are rejected for a truncated table: $(head -3 "$BOX/state/cut.rej")"
want 1 "$BIN/ndb_import" --state-dir="$BOX/state" --resume --table=small test "$BOX/cut.csv"
has_rows small 0
rm -f "$BOX"/state/*

say "a row that meets a temporary error only is neither done nor rejected: --resume tries it"
printf '1,"x",1\n2,"y",2\n3,"z",3\n4,"u",4\n' >"$BOX/held.csv"
mkfifo "$BOX/hold"
"$BIN/lock_client" small a 3 <"$BOX/hold" >"$BOX/lock.out" 2>&1 &
lock=$!
PIDS+=("$lock")
exec 7>"$BOX/hold"
until grep -q locked "$BOX/lock.out"; do
    kill -0 "$lock" 2>/dev/null || die "the lock: $(cat "$BOX/lock.out")"
    sleep 0.05
done
import 1 --temperrors=1 --opbatch=1 --db-workers=1 --table=small test "$BOX/held.csv"
want_text err 'held\.csv: row 3: was refused again and again$'
want_text err '266: '
want_text err 'row 2 is the last one that is done; --resume goes on there$'
want_text out '^test\.small: 2 rows imported, 0 rejected'
[ ! -e "$BOX/state/held.rej" ] || fail "the row is rejected: $(cat "$BOX/state/held.rej")"
printf '11,"x",1\n12,"y",2\n3,"z",3\n' >"$BOX/held.pipe"
import 1 --temperrors=1 --rejects-file="$BOX/pipe.rej" --input-type=csv --table=small test <(cat "$BOX/held.pipe") # It cannot be resumed.
want_text err 'row 3 rejected: 266: '
[ "$(cut -f 1,2,4 "$BOX/pipe.rej")" = $'3\t266\t3,"z",3' ] || fail "the row of a pipe has no name: $(cat "$BOX/pipe.rej")"
exec 7>&-
wait "$lock" || fail "the lock: $(cat "$BOX/lock.out")"
printf '1\t630\ttext\trow of another import\n9\t630\ttext\trow behind the mark\n' >"$BOX/state/held.rej"
import 0 --resume --table=small test "$BOX/held.csv"
want_text out '^test\.small: 4 rows imported \(run 2, 2 new\), 0 rejected'
[ ! -s "$BOX/state/held.rej" ] || fail "none is rejected, and the reject file has $(cat "$BOX/state/held.rej")"
printf '1\t630\ttext\trow of another import\n' >"$BOX/state/held.rej"
import 0 --resume --table=small test "$BOX/held.csv" # Without a state the whole file is imported.
[ ! -s "$BOX/state/held.rej" ] || fail "none is rejected of the whole file, and the reject file has $(cat "$BOX/state/held.rej")"
has_rows small 6 # Two of the pipe's.

say "a pipe says behind which row to go on, and only when each row before has a place"
rm -f "$BOX/pipe.rej"
printf '21,"x",1\nnone,"y",2\n' >"$BOX/held.pipe"
import 1 --rejects-file="$BOX/pipe.rej" --input-type=csv --table=small test <(cat "$BOX/held.pipe")
want_text err ': row 2 is the last one that was read; --ignore-lines=2 goes on behind it$'
printf '23,"z",3\nnone,"u",4\n' >>"$BOX/held.pipe"
import 1 --ignore-lines=2 --rejects-file="$BOX/pipe.rej" --input-type=csv --table=small test <(cat "$BOX/held.pipe")
[ "$(cut -f 1 "$BOX/pipe.rej" | tr '\n' ' ')" = '2 4 ' ] || fail "the run before has no rejected rows: $(cat "$BOX/pipe.rej")"
has_rows small 8
import 1 --ignore-lines=2 --rejects-file="$BOX/pipe.rej" --input-type=csv --table=small test <(cat "$BOX/held.pipe")
[ "$(cut -f 1 "$BOX/pipe.rej" | sort -n | tr '\n' ' ')" = '2 3 4 ' ] || fail "rows of this run stay from the last one: $(cat "$BOX/pipe.rej")"
mv "$BOX/pipe.rej" "$BOX/real.rej"
ln -s real.rej "$BOX/pipe.rej"
chmod 640 "$BOX/real.rej"
import 1 --ignore-lines=3 --rejects-file="$BOX/pipe.rej" --input-type=csv --table=small test <(cat "$BOX/held.pipe")
[ -L "$BOX/pipe.rej" ] || fail "a link to the reject file has become a file"
[ "$(stat -c %a "$BOX/real.rej")" = 640 ] || fail "the reject file has another mode: $(stat -c %a "$BOX/real.rej")"
[ "$(cut -f 1 "$BOX/real.rej" | sort -n | tr '\n' ' ')" = '2 3 4 ' ] || fail "not what the file behind the link should have: $(cat "$BOX/real.rej")"
before=$(cat "$BOX/real.rej")
exec 9>>"$BOX/real.rej"
flock 9 # As another import does.
for options in --ignore-lines=1 --ignore-lines=0; do
    import 1 $options --rejects-file="$BOX/pipe.rej" --input-type=csv --table=small test <(cat "$BOX/held.pipe")
    want_text err 'another ndb_import writes to it\. Rejected rows cannot be kept'
    [ "$(cat "$BOX/real.rej")" = "$before" ] || fail "rejected rows of another import are lost"
done
exec 9>&-

say "the reject file is shortened: what belongs to it stays, and so does a file of a name like it"
of_pipe() { import 1 "$@" --rejects-file="$BOX/pipe.rej" --input-type=csv --table=small test <(printf 'none,"y",2\nnone,"y",2\n'); }
printf '1\t630\ttext\trow\n9\t630\ttext\tbehind the mark\n' >"$BOX/real.rej"
ln "$BOX/real.rej" "$BOX/second.rej"
echo 'a file of somebody else' >"$BOX/real.rej.new"
of_pipe --ignore-lines=1
[ "$BOX/real.rej" -ef "$BOX/second.rej" ] || fail "the reject file has lost its other name"
[ "$(cut -f 1 "$BOX/real.rej" | tr '\n' ' ')" = '1 2 ' ] || fail "it has $(cat "$BOX/real.rej")"
printf '9\t630\ttext\tbehind the mark\n1\t630\ttext\trow\n' >"$BOX/real.rej"
before=$(cat "$BOX/real.rej")
( # The new file, of which a line goes that stands before others, has no room.
    trap '' XFSZ
    ulimit -f 0
    "$BIN/ndb_import" --ignore-lines=1 --rejects-file="$BOX/pipe.rej" --input-type=csv --table=small test <(printf 'none,"y",2\nnone,"y",2\n') 2>&1 1>/dev/null | cat >&3
) 3>&1 | tail -n 3 | cat >"$BOX/err"
told_once 'pipe\.rej: .*/real\.rej\.[A-Za-z0-9]*: File too large\. Rejected rows cannot be kept'
[ "$(cat "$BOX/real.rej")" = "$before" ] || fail "a reject file that could not be shortened has $(cat "$BOX/real.rej")"
of_pipe --ignore-lines=1
[ "$(cut -f 1 "$BOX/real.rej" | tr '\n' ' ')" = '1 2 ' ] || fail "it has $(cat "$BOX/real.rej")"
[ "$(cat "$BOX/real.rej.new")" = 'a file of somebody else' ] || fail "a file of a name like the reject file's is overwritten"
rm -f "$BOX/real.rej.new" "$BOX/second.rej"
[ "$(echo "$BOX"/real.rej*)" = "$BOX/real.rej" ] || fail "files stay: $(echo "$BOX"/real.rej*)"

say "two imports with one reject file: the rows of the other one stay"
mkfifo "$BOX/first"
begin_first() { # It has imported a row, and has rejected none.
    want 0 "$BIN/ndb_delete_all" -d test small
    "$BIN/ndb_import" --input-type=csv --table=small --rejects-file="$BOX/shared.rej" --opbatch=1 --db-workers=1 test - <"$BOX/first" >"$BOX/first.out" 2>&1 &
    importer=$!
    PIDS+=("$importer")
    exec 8>"$BOX/first"
    printf '51,"x",1\n' >&8
    until [ "$(rows_of small)" -gt 0 ]; do
        kill -0 "$importer" 2>/dev/null || die "the first import has ended: $(cat "$BOX/first.out")"
    done
}
end_first() { # It rejects one.
    printf 'none,"first",1\n' >&8
    exec 8>&-
    wait "$importer" && fail "a row is rejected, and the exit code is 0"
    cp "$BOX/first.out" "$BOX/err"
}
second=(--input-type=csv --table=small --rejects-file="$BOX/shared.rej" --rejects=9)
printf '1\t630\ttext\trow of before\n' >"$BOX/shared.rej"
begin_first
import 1 "${second[@]}" test <(printf 'none,"second",1\n52,"x",1\n')
want_text err 'shared\.rej: another ndb_import writes to it\. Rejected rows cannot be kept'
has_rows small 1
end_first
[ "$(cut -f 4 "$BOX/shared.rej")" = 'none,"first",1' ] || fail "the reject file has $(cat "$BOX/shared.rej")"
rm "$BOX/shared.rej"
begin_first
import 0 "${second[@]}" test <(printf 'none,"second",1\n52,"x",1\n')
end_first
want_text err 'shared\.rej: another program has written to it since this import began\. Rejected rows cannot be kept'
[ "$(cut -f 4 "$BOX/shared.rej")" = 'none,"second",1' ] || fail "the reject file has $(cat "$BOX/shared.rej")"

say "a row of a pipe that no device takes"
printf '24,"x",1\nnone,"y",2\n' >"$BOX/held.pipe"
import 1 --rejects-file=/dev/full --input-type=csv --table=small test <(cat "$BOX/held.pipe")
want_text err ': row 2 is the last one that was read; some of the rows up to it may be neither in the table nor in /dev/full$'
told_once '/dev/full: No space left on device'
seq 2000 | sed 's/$/,x,x/' >"$BOX/limit.csv"
want 1 bash -c 'ulimit -f 8; exec "$@"' limited "$BIN/ndb_import" --rejects=9999 --rejects-file="$BOX/limit.rej" --input-type=csv --table=small test - <"$BOX/limit.csv"
told_once 'limit\.rej: File too large\. Rejected rows cannot be kept'
want_text err 'some of the rows up to it may be neither in the table nor in .*/limit\.rej$'
ln -s /dev/null "$BOX/null.rej"
printf '31,"x",1\nnone,"y",2\n33,"z",3\n' >"$BOX/null.csv"
import 1 --rejects-file="$BOX/null.rej" --table=small test "$BOX/null.csv"
import 0 --rejects-file="$BOX/null.rej" --rejects=5 --resume --table=small test "$BOX/null.csv"
[ -c "$BOX/null.rej" ] || fail "a device for rejected rows has become a file"

say "a stream for rejected rows is only written to, whatever it leads to"
printf '41,"x",1\nnone,"y",2\nnone,"z",3\n' >"$BOX/stream.csv"
ln -s /dev/stderr "$BOX/stream.rej"
for stream in /dev/stderr /proc/self/fd/2 "$BOX/stream.rej" "$BOX/err"; do
    rm -f "$BOX"/state/*
    echo 'a line of somebody else' >"$BOX/err"
    for options in --rejects=1 --resume; do # The second run goes on, and has no rows of the first one to take away.
        run "$BIN/ndb_import" --state-dir="$BOX/state" --rejects-file="$stream" "$options" --table=small test "$BOX/stream.csv" >"$BOX/out" 2>>"$BOX/err"
    done
    want_text err '^a line of somebody else$'
    want_text err '^2	4313	.*	none,"y",2$'
    want_text err '^3	4313	.*	none,"z",3$'
    want_text err 'stream\.csv: more than 1 rows rejected'
    want 0 "$BIN/ndb_delete_all" -d test small
done
echo 'a line of somebody else' >"$BOX/kept"
run "$BIN/ndb_import" --state-dir="$BOX/state" --rejects-file=/dev/fd/9 --rejects=2 --table=small test "$BOX/stream.csv" >"$BOX/out" 2>"$BOX/err" 9>>"$BOX/kept"
[ "$(cut -f 1 "$BOX/kept" | tr '\n' ' ')" = 'a line of somebody else 2 3 ' ] || fail "the stream has $(cat "$BOX/kept")"
want 0 "$BIN/ndb_delete_all" -d test small
: >"$BOX/err" # Messages at a position of their own, as after 2>err, do not write over the rows.
run "$BIN/ndb_import" --state-dir="$BOX/state" --rejects-file=/dev/stderr --rejects=2 --table=small test "$BOX/stream.csv" >"$BOX/out" 2>"$BOX/err"
want_text err '^Rejected rows are in /dev/stderr$'
want_text err '^2	4313	.*	none,"y",2$'
want_text err '^3	4313	.*	none,"z",3$'
want 0 "$BIN/ndb_delete_all" -d test small
printf '5,"none",here,x\n' >"$BOX/state/small.csv"
printf '1,"x",1\n' >"$BOX/state/big.csv"
import 1 test "$BOX/state/small.csv" "$BOX/state/big.csv"
has_rows big 0
import 1 --continue test "$BOX/state/small.csv" "$BOX/state/big.csv"
has_rows big 1
rm -f "$BOX"/state/*
printf '1,"x",1\n2,"y",z\n' >"$BOX/state/big.csv"
printf '1,"x",1\n' >"$BOX/state/nothing.csv"
want 0 "$BIN/ndb_delete_all" -d test big
import 1 --continue --resume test "$BOX/state/nothing.csv" "$BOX/state/big.csv"
[ -s "$BOX/state/big.map" ] || fail "behind a file that is not begun there is no state: $(cat "$BOX/err")"
rm -f "$BOX"/state/*
want 2 "$BIN/ndb_import" --rejects="$BOX/small.rej" test "$BOX/small.csv"
want_text err 'rejects is the number of rows that may be rejected.*--rejects-file names the file'

say "an input that is a file which the import writes is refused"
want 0 "$BIN/ndb_delete_all" -d test small
mkdir "$BOX/self"
not_written() { # FILE KEPT OPTION...: the import of FILE would write over it as KEPT.
    printf '71,"x",1\nnone,"y",2\n' >"$BOX/self/$1"
    [ "$1" = "$2" ] || ln -f "$BOX/self/$1" "$BOX/self/$2"
    want 2 "$BIN/ndb_import" --state-dir="$BOX/self" --input-type=csv "${@:3}" test "$BOX/self/$1"
    want_text err "self/$1 is to be imported, and is the same file as .*/self/$2, which the import writes: give it another"
    [ "$(cat "$BOX/self/$1")" = $'71,"x",1\nnone,"y",2' ] || fail "$1 has become $(cat "$BOX/self/$1")"
    rm -f "$BOX"/self/*
}
not_written small.rej small.rej
not_written small.map small.map
not_written small.stt small.stt --stats
not_written small.csv other.rej --rejects-file="$BOX/self/other.rej"
not_written small.csv small.map
not_written small.csv small.rej --rejects=5 --resume
printf '71,"x",1\nnone,"y",2\n' >"$BOX/self/small.rej"
want 2 "$BIN/ndb_import" --state-dir="$BOX/self" --input-type=csv --table=small test - <"$BOX/self/small.rej"
want_text err '^ndb_import: - is to be imported, and is the same file as .*/self/small\.rej,'
want 2 "$BIN/ndb_import" --state-dir="$BOX/self" --input-type=csv test "$BOX/self/small.rej" "$BOX/big.csv"
echo 'small' >"$BOX/self/big.csv" # The reject file of one input is the other one.
ln -f "$BOX/self/small.rej" "$BOX/self/big.rej"
want 2 "$BIN/ndb_import" --state-dir="$BOX/self" test "$BOX/self/big.csv" "$BOX/self/small.rej"
has_rows small 0
mkfifo "$BOX/self/pipe" # Who reads what he writes to it waits for himself.
for input in - "$BOX/self/pipe"; do
    want 2 timeout 60 "$BIN/ndb_import" --state-dir="$BOX/self" --rejects=9 --rejects-file="$BOX/self/pipe" --input-type=csv --table=small test "$input" <>"$BOX/self/pipe"
    want_text err "$input is to be imported, and is the same file as .*/self/pipe, which the import writes"
done
mv "$BOX/self/small.rej" "$BOX/self/small.stt" # Without --stats it is a file like others.
import 0 --rejects=1 --input-type=csv test "$BOX/self/small.stt"
has_rows small 1
import 0 --rejects-file=/dev/null --table=small test /dev/null

say "a file of the name that a new state has"
echo 'a file of somebody else' >"$BOX/state/small.map.new"
import 1 test "$BOX/small.csv"
want_text err 'state/small\.map\.new is in the way: it is not of ndb_import \(see --state-dir\)$'
[ "$(cat "$BOX/state/small.map.new")" = 'a file of somebody else' ] || fail "a file of somebody else is overwritten"
: >"$BOX/state/small.map.new" # A run that was killed has left it.
import 1 --rejects-file="$BOX/small.rej" test "$BOX/small.csv"
want_text err 'row 2 is the last one that is done; --resume goes on there$'
[ ! -e "$BOX/state/small.map.new" ] || fail "the file of a killed run stays"
rm -f "$BOX"/state/*
for kept in map rej stt; do # What has a name of the import's files, and is none of them, stays as it is.
    want 0 "$BIN/ndb_delete_all" -d test small
    echo 'a file of somebody else' >"$BOX/state/small.$kept"
    import 1 --stats test "$BOX/small.csv"
    want_text err "state/small\\.$kept:? .*(it is not of ndb_import|it is no file of rejected rows) \\(see .*--state-dir\\)"
    [ "$(cat "$BOX/state/small.$kept")" = 'a file of somebody else' ] || fail "small.$kept of somebody else is overwritten"
    has_rows small 0
    rm -f "$BOX"/state/*
done
printf '2\t1\trows of somebody else\n' >"$BOX/state/small.stt"
want 1 "$BIN/ndb_import" --stats --state-dir="$BOX/state" test "$BOX/small.csv"
want_text err 'small\.stt: is in the way'
printf '2\t1\trow-microseconds\t0\t3\t1\t1.0\t1.0\t1.0\t0.0\n' >"$BOX/state/small.stt" # Of a former version.
import 1 --stats test "$BOX/small.csv"
want_text err 'row 2 is the last one that is done; --resume goes on there$'
want 0 "$BIN/ndb_delete_all" -d test small
rm -f "$BOX"/state/*
printf 'runno\tid\tna' >"$BOX/state/small.stt" # The disk was full.
import 1 --stats test "$BOX/small.csv"
printf 'runno\tid\tna' >"$BOX/state/small.stt" # And again: what a later run adds can be read.
import 1 --stats --resume test "$BOX/small.csv"
import 1 --stats --resume test "$BOX/small.csv"
grep -q 'is in the way' "$BOX/err" && fail "statistics are in the way: $(cat "$BOX/err")"
head -n 1 "$BOX/state/small.stt" | grep -q '^runno	id	name	parent	obs	sum	mean	min	max	stddev$' || fail "no titles: $(cat "$BOX/state/small.stt")"
printf 'runno\tid\tna' >"$BOX/state/small.stt"
rm -f "$BOX/state/small.map"
want 0 "$BIN/ndb_delete_all" -d test small
import 1 --stats test "$BOX/small.csv"
want_text err 'row 2 is the last one that is done; --resume goes on there$'
grep -q '^1	2	rows-per-second' "$BOX/state/small.stt" || fail "statistics behind a full disk: $(cat "$BOX/state/small.stt")"
truncate -s -7 "$BOX/state/small.stt" # The disk was full within a line.
import 1 --stats --resume test "$BOX/small.csv"
[ "$(grep -cv '^[^	]*\(	[^	]*\)\{9\}$' "$BOX/state/small.stt")" = 0 ] || fail "statistics behind a line that was cut: $(cat "$BOX/state/small.stt")"
grep -q '^2	1	row-microseconds' "$BOX/state/small.stt" || fail "statistics of the run behind a line that was cut: $(cat "$BOX/state/small.stt")"
rm -f "$BOX"/state/*
want 0 "$BIN/ndb_delete_all" -d test small
printf 'none,"x",1\n' >"$BOX/small_2.csv"
for kept in map map.new stt; do # Nor are the rejected rows lost in a file that the import replaces.
    want 2 "$BIN/ndb_import" --stats --rejects=9 --state-dir="$BOX/state" --rejects-file="$BOX/./state/small_2.$kept" --table=small test "$BOX/small_2.csv"
    want_text err "^ndb_import: --rejects-file=.*/small_2\\.$kept is the same file as .*, which the import replaces\$"
done
mkfifo "$BOX/unread"
timeout 60 "$BIN/ndb_import" --rejects=9 --state-dir="$BOX/state" --rejects-file="$BOX/unread" --table=small test "$BOX/small_2.csv" >"$BOX/out" 2>"$BOX/err"
[ $? = 1 ] || fail "a pipe that nobody reads is waited for: $(cat "$BOX/err")"
want_text err 'unread: nobody reads this pipe\. Rejected rows cannot be kept'
cat "$BOX/unread" >"$BOX/read" &
reader=$!
want 1 "$BIN/ndb_import" --rejects=9 --state-dir="$BOX/state" --rejects-file="$BOX/unread" --table=nothing test "$BOX/small_2.csv"
wait $reader || fail "an import that is not begun leaves the reader of its pipe alone"
mkfifo "$BOX/state/big.rej" # Of a file behind one that fails, and where there is no cluster.
cat "$BOX/state/big.rej" >"$BOX/read" &
reader=$!
import 1 test "$BOX/small_2.csv" "$BOX/big.csv"
wait $reader || fail "an import that is not begun leaves the reader of its file's pipe alone"
cat "$BOX/state/big.rej" >"$BOX/read" &
reader=$!
import 1 --ndb-connectstring=127.0.0.1:1 --connect-retries=0 test "$BOX/big.csv"
wait $reader || fail "an import without a cluster leaves the reader of its file's pipe alone"
rm "$BOX/state/big.rej"
(for n in $(seq 5000); do printf 'none,"x",%d\n' "$n"; done) >"$BOX/small_3.csv"
head -c 1 "$BOX/unread" >/dev/null & # A reader that goes.
reader=$!
want 1 "$BIN/ndb_import" --rejects=9999 --state-dir="$BOX/state" --rejects-file="$BOX/unread" --table=small test "$BOX/small_3.csv"
want_text err 'unread: Broken pipe\. Rejected rows cannot be kept'
wait $reader
rm -f "$BOX"/state/*
# A pipe of the same name has no state, and removes none.
printf '1,"x",1\n2,"y",x\n' >"$BOX/small_4.csv"
import 1 --table=small test "$BOX/small_4.csv"
[ -s "$BOX/state/small_4.map" ] || fail "there is no state of a file that is not done"
mkdir "$BOX/pipes"
mkfifo "$BOX/pipes/small_4"
printf '3,"z",1\n' >"$BOX/pipes/small_4" &
want 0 "$BIN/ndb_import" --state-dir="$BOX/state" --input-type=csv --table=small test "$BOX/pipes/small_4"
[ -s "$BOX/state/small_4.map" ] || fail "an import from a pipe has removed the state of a file"
want 0 "$BIN/ndb_delete_all" -d test small
rm -f "$BOX"/state/*
cat "$BOX/unread" >"$BOX/read" &
reader=$!
import 0 --rejects=9 --rejects-file="$BOX/unread" --table=small test "$BOX/small_2.csv"
wait $reader
[ "$(cut -f 1,2,4 "$BOX/read")" = $'1\t4313\tnone,"x",1' ] || fail "from the pipe comes $(cat "$BOX/read")"
printf '\xef\xbb\xbf1,"x",1\n' >"$BOX/small_2.csv"
import 0 --rejects=9 --rejects-file="$BOX/mark.rej" --table=small test "$BOX/small_2.csv"
want_text err 'begins with a byte order mark: remove it'
printf '1,"x",1\n' >"$BOX/state/pipe.csv"
mkfifo "$BOX/pipe"
echo 'a file of somebody else' >"$BOX/state/pipe.map" # A pipe has no state.
want 0 "$BIN/ndb_delete_all" -d test small
cat "$BOX/state/pipe.csv" >"$BOX/pipe" &
import 0 --table=small --input-type=csv test "$BOX/pipe"
[ "$(cat "$BOX/state/pipe.map")" = 'a file of somebody else' ] || fail "pipe.map of somebody else is removed"
rm -f "$BOX"/state/*

say "states that do not fit"
want 0 "$BIN/ndb_delete_all" -d test small
import 1 --rejects-file="$BOX/small.rej" test "$BOX/small.csv"
echo '4,"more",4' >>"$BOX/small.csv"
import 1 --resume test "$BOX/small.csv"
want_text err 'small\.map: the file had [0-9]+ bytes then, and has [0-9]+ now$'
echo rubbish >"$BOX/state/small.map"
import 1 --resume test "$BOX/small.csv"
want_text err 'small\.map is in the way: it is not of ndb_import \(see --state-dir\)$'
rm "$BOX/state/small.map"

say "a table that is another one than that of the former run"
alter() { want 0 "$BIN/ndb_alter_table" -d test -e "$1"; }
WHOLE_FILE='\(it was truncated, made anew or renamed since\).* without --resume the whole file is imported$'
want 0 "$BIN/ndb_delete_all" -d test small
printf '1,"x",1\n2,"y",2\nnone,"z",3\n4,"u",4\n' >"$BOX/small.csv"
import 1 --rejects-file="$BOX/small.rej" test "$BOX/small.csv"
has_rows small 2
cp "$BOX/state/small.map" "$BOX/old.map"
alter "ALTER TABLE small ADD COLUMN d INT; ALTER TABLE small RENAME COLUMN c TO e; RENAME TABLE small TO other"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE small (a INT NOT NULL PRIMARY KEY, b VARCHAR(40), e INT)"
import 1 --rejects-file="$BOX/small.rej" --columns=a,b,e --resume test "$BOX/small.csv" # The name is another table's.
want_text err "small\\.map: table test/small is not the one that rows of .*/small\\.csv were imported into $WHOLE_FILE"
has_rows small 0
want 0 "$BIN/ndb_drop_table" -d test small
alter "RENAME TABLE other TO small"
cmp "$BOX/state/small.map" "$BOX/old.map" || fail "a refused run has changed the state"
import 1 --rejects-file="$BOX/small.rej" --columns=a,b,e --resume --keep-state test "$BOX/small.csv" # Changed, but the same.
want_text out '^test\.small: 3 rows imported \(run 2, 1 new\), 1 rejected'
has_rows small 3
cp "$BOX/state/small.map" "$BOX/complete.map"
for state in old complete; do
    alter "TRUNCATE TABLE small"
    cp "$BOX/$state.map" "$BOX/state/small.map"
    import 1 --rejects-file="$BOX/small.rej" --columns=a,b,e --resume test "$BOX/small.csv"
    want_text err "small\\.map: table test/small is not the one that rows of .*/small\\.csv were imported into $WHOLE_FILE"
    has_rows small 0
    import 0 --rejects-file="$BOX/small.rej" --columns=a,b,e --rejects=1000000 test "$BOX/small.csv"
    has_rows small 3
done
sed -E '/^(table|cluster|tail|options|epoch|check)/d' "$BOX/old.map" >"$BOX/state/small.map" # As versions wrote it that did not keep the table.
import 1 --rejects-file="$BOX/small.rej" --columns=a,b,e --resume test "$BOX/small.csv"
want_text err 'small\.map is of an older version, and does not say whether table test/small is still .*--rejects=N --ignore-lines=3 '

say "no state where there can be none"
import 1 --resume --table=small test - </dev/null
want_text err 'resume needs a file'
want 1 "$BIN/ndb_import" --state-dir="$BOX/nowhere" test "$BOX/small.csv"
want_text err 'nowhere/small\.map\.new: No such file or directory .*--state-dir'

say "numbers for rows that have none, from two imports at a time"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE numbered (name VARCHAR(20), id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, n INT)"
seq 1 3000 | awk '{ printf "\"r%d\",%d\n", $1, $1 }' >"$BOX/one.csv"
cp "$BOX/one.csv" "$BOX/two.csv"
importers=()
for file in one two; do
    run "$BIN/ndb_import" --state-dir="$BOX" --rejects-file="$BOX/$file.rej" --table=numbered -m --ai-prefetch-sz=100 test "$BOX/$file.csv" >"$BOX/$file.out" 2>&1 &
    importers+=("$!")
done
for importer in "${importers[@]}"; do wait "$importer" || fail "an import with numbers ends with exit code $?: $(cat "$BOX/one.out" "$BOX/two.out")"; done
has_rows numbered 6000
want 0 "$BIN/ndb_import" --state-dir="$BOX" --rejects-file="$BOX/one.rej" --table=numbered --columns=@x,n -m --ai-increment=10 --ai-offset=100007 test "$BOX/one.csv"
has_rows numbered 9000
want 0 "$BIN/ndb_select_all" -d test -h 0 -D , numbered
[ "$(awk -F, '$1 == "[NULL]" && $2 % 10 == 7 && $2 >= 100007 { n++ } END { print n + 0 }' "$BOX/out")" = 3000 ] || fail "the numbers are others than every tenth from 100007 on"
want 2 "$BIN/ndb_import" -m --resume test "$BOX/one.csv"
want_text err 'exclude each other'
want 1 "$BIN/ndb_import" --state-dir="$BOX" --table=small -m test "$BOX/one.csv"
want_text err 'no AUTO_INCREMENT column'
want 1 "$BIN/ndb_import" --state-dir="$BOX" --table=numbered --columns=name,id -m test "$BOX/one.csv"
want_text err 'columns has it'

say "numbers for rows that have none: how to go on"
printf '"a",1\n"b",none\n' >"$BOX/stops.csv"
import 1 --table=numbered --rejects-file="$BOX/stops.rej" -m test "$BOX/stops.csv"
want_text err 'row 2 is the last one that is done; --ignore-lines=2 goes on there$'
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE tiny (id TINYINT AUTO_INCREMENT PRIMARY KEY, n INT)"
seq 130 >"$BOX/tiny.csv"
import 1 -m test "$BOX/tiny.csv"
want_text err 'a number for row 128: 4314'
want_text err 'row 127 is the last one that is done; --ignore-lines=127 goes on there, but some of the rows up to 128 may be in'
has_rows tiny 127
want 0 "$BIN/ndb_delete_all" -d test tiny
import 1 -m --rejects-file="$BOX/tiny.rej" --table=tiny test <(seq 9) # The numbers are used up.
want_text err ': row 1 is the last one that was read; --ignore-lines=1 goes on behind it$'
[ "$(cut -f 1,2,4 "$BOX/tiny.rej")" = $'1\t4314\t1' ] || fail "the row without a number has no name: $(cat "$BOX/tiny.rej")"

printf '"a",1\n"b",2\n"c",3\n"d",4\n' >"$BOX/rest.csv" # What is left out is done, and rejected rows of another run are told.
for input in "$BOX/rest.csv" "$BOX/rest"; do
    [ -e "$input" ] || mkfifo "$input"
    [ -p "$input" ] && { cat "$BOX/rest.csv" >"$input" & }
    printf '1\t4313\ttext\trow in front\n4\t4009\ttext\trow behind\n9\t4009\ttext\tnot decided\n' >"$BOX/rest.rej"
    import 0 -m --ignore-lines=2 --input-type=csv --table=numbered --rejects-file="$BOX/rest.rej" test "$input"
    want_text err ': no row is rejected; 2 that stand in .*/rest\.rej are of another run$'
    [ "$(cut -f 1 "$BOX/rest.rej" | tr '\n' ' ')" = '1 4 9 ' ] || fail "rejected rows of another run are gone: $(cat "$BOX/rest.rej")"
done
import 0 -m --ignore-lines=2 --rejects=9 --input-type=csv --table=numbered --rejects-file="$BOX/rest.rej" test - </dev/null
[ "$(wc -l <"$BOX/rest.rej")" = 3 ] || fail "nothing was read, and rejected rows are gone: $(cat "$BOX/rest.rej")"
sed -n 2,25001p "$BOX/big.csv" | cut -d, -f 2,3 >"$BOX/left.csv"
for _ in $(seq 20); do # Until one is killed before its end.
    "$BIN/ndb_import" --state-dir="$BOX/state" --table=numbered -m --ignore-lines=9999 --opbatch=1 --db-workers=1 test "$BOX/left.csv" >"$BOX/out" 2>"$BOX/err" &
    importer=$!
    PIDS+=("$importer")
    until [ -s "$BOX/state/left.map" ]; do kill -0 "$importer" 2>/dev/null || break; done
    kill -9 "$importer"
    wait "$importer"
    [ $? = 137 ] && [ -s "$BOX/state/left.map" ] && break
done
[ "$(sed -n 2p "$BOX/state/left.map" | cut -f 3)" -ge 9999 ] || fail "rows that were left out would come twice: $(cat "$BOX/state/left.map")"
rm "$BOX/state/left.map"

say "the reject file is taken away while it is written to"
mkfifo "$BOX/taken"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE taken (a INT NOT NULL PRIMARY KEY, b INT)"
for way in rm mv replace; do
    echo 'a line of somebody else' >"$BOX/other"
    "$BIN/ndb_import" --state-dir="$BOX/state" --rejects=9 --rejects-file="$BOX/taken.rej" --input-type=csv --table=taken test "$BOX/taken" >"$BOX/out" 2>"$BOX/err" &
    importer=$!
    PIDS+=("$importer")
    exec 8<>"$BOX/taken" # Without waiting for a reader.
    awk 'BEGIN { print "none,1"; for (i = 1; i <= 600; i++) printf "%d,1\n", i }' >&8 # It sends 256 at a time.
    until [ "$(rows_of taken)" -gt 0 ]; do kill -0 "$importer" || die "$(cat "$BOX/err")"; done
    case $way in
    rm) rm "$BOX/taken.rej" ;;
    mv) mv "$BOX/taken.rej" "$BOX/taken.1" ;;
    replace) mv "$BOX/other" "$BOX/taken.rej" ;;
    esac
    exec 8>&-
    wait "$importer" && fail "rejected rows that are gone: $(cat "$BOX/err")"
    want_text err 'taken\.rej: it was removed or replaced since this import began, and the rejected rows with it\. Rejected rows cannot be kept; those before are not tried again$'
    grep -q 'Rejected rows are in' "$BOX/err" && fail "rejected rows are where none are: $(cat "$BOX/err")"
    want 0 "$BIN/ndb_delete_all" -d test taken
done
[ "$(cat "$BOX/taken.rej")" = 'a line of somebody else' ] || fail "a file that has taken the place of the reject file: $(cat "$BOX/taken.rej")"

say "interrupted: a line says what is in the table and how to go on"
interrupt() { # SIGNAL CODE: the importer ends with it.
    kill "-$1" "$importer"
    wait "$importer"
    code=$?
    [ "$code" = "$2" ] || [ "$code" = 0 ] || fail "interrupted by $1 it ends with exit code $code: $(cat "$BOX/err")"
}
sed -n 2,25001p "$BOX/big.csv" >"$BOX/long.csv"
for _ in $(seq 20); do # Until one has not ended before.
    want 0 "$BIN/ndb_delete_all" -d test big
    "$BIN/ndb_import" --state-dir="$BOX/state" --table=big --opbatch=1 --db-workers=1 test "$BOX/long.csv" >"$BOX/out" 2>"$BOX/err" &
    importer=$!
    PIDS+=("$importer")
    until [ "$(rows_of big)" -gt 0 ]; do kill -0 "$importer" 2>/dev/null || break; done
    interrupt TERM 143
    [ "$code" = 0 ] || break
done
IN_TABLE='interrupted, [0-9]+ rows are in the table, (on disk|[0-9]+ of them known to be on disk|not known to be on disk)'
want_text err "^.*/long\\.csv: $IN_TABLE; row [0-9]+ is the last one that is done; --resume goes on there\$"
[ "$(cat "$BOX/out" "$BOX/err" | wc -l)" = 1 ] || fail "that is more than a line: $(cat "$BOX/out" "$BOX/err")"
has_rows big "$(sed -nE 's/.*interrupted, ([0-9]+) rows.*/\1/p' "$BOX/err")"
import 0 --table=big --resume test "$BOX/long.csv"
want_text out '^test\.big: 25000 rows imported \(run 2, [0-9]+ new\), 0 rejected'
has_rows big 25000

say "interrupted while it waits for more from a pipe"
want 0 "$BIN/ndb_delete_all" -d test big
mkfifo "$BOX/slow"
env --default-signal=INT "$BIN/ndb_import" --state-dir="$BOX/state" --input-type=csv --table=big test - <"$BOX/slow" >"$BOX/out" 2>"$BOX/err" &
importer=$!
PIDS+=("$importer")
exec 8>"$BOX/slow"
awk 'BEGIN { for (i = 1; i <= 600; i++) printf "%d,\"x\",1\n", i; printf "601,\"cut" }' >&8
for _ in $(seq 900); do # Until it has read them: it sends 256 at a time, and waits for the rest of the last one.
    [ "$(rows_of big)" -gt 0 ] && break
done
interrupt INT 130
exec 8>&-
want_text err "^-: $IN_TABLE; row [0-9]+ is the last one that was read; (--ignore-lines=[0-9]+ goes on behind it|some of the rows up to it may be .*)\$"
[ "$(cat "$BOX/out" "$BOX/err" | wc -l)" = 1 ] || fail "that is more than a line: $(cat "$BOX/out" "$BOX/err")"
rows=$(sed -nE 's/.*interrupted, ([0-9]+) rows.* row ([0-9]+) is.*/\1 \2/p' "$BOX/err")
[ "${rows% *}" = "${rows#* }" ] || fail "rows that were read and not rejected are not in the table: $(cat "$BOX/err")"
has_rows big "${rows% *}"
want 0 "$BIN/ndb_delete_all" -d test big

say "rows of a pipe are in the table while its next row is waited for"
want 0 "$BIN/ndb_delete_all" -d test taken
rm -f "$BOX/taken.rej"
"$BIN/lock_client" taken a 9 insert <"$BOX/hold" >"$BOX/lock.out" 2>&1 &
lock=$!
PIDS+=("$lock")
exec 7>"$BOX/hold"
wait_text lock.out locked
"$BIN/ndb_import" --state-dir="$BOX/state" --rejects=9 --rejects-file="$BOX/taken.rej" --input-type=csv --table=taken test "$BOX/taken" >"$BOX/out" 2>"$BOX/err" 7>&- &
importer=$!
PIDS+=("$importer")
exec 8<>"$BOX/taken" # Without waiting for a reader.
become() { # NUMBER: so many rows are in the table soon.
    for _ in $(seq 900); do
        [ "$(rows_of taken)" = "$1" ] && return
        kill -0 "$importer" || break
    done
    die "there are $(rows_of taken) rows instead of $1: $(cat "$BOX/err")"
}
printf '1,1\n2' >&8 # With the begin of the next one.
become 1
printf ',1\nnone,1\n9,1\n' >&8
become 2
wait_text taken.rej $'^3\t.*none,1$'
wait_text err 'have taken no row for a while' # The last one waits for the lock, in vain more than once.
exec 7>&-
wait "$lock" || fail "the lock: $(cat "$BOX/lock.out")"
become 3
exec 8>&-
wait "$importer" || fail "rows of a pipe: $(cat "$BOX/err")"
rm "$BOX/taken.rej"

begin_unread() { # FILE: its import from a pipe has more rejected rows than the pipe takes where they go.
    env --default-signal=INT "$BIN/ndb_import" --state-dir="$BOX/state" --rejects=99999 --rejects-file="$BOX/unread" --input-type=csv --table=taken test "$BOX/taken" >"$BOX/out" 2>"$BOX/err" 7>&- &
    importer=$!
    PIDS+=("$importer")
    exec 7<>"$BOX/unread" 8<>"$BOX/taken"
    cat "$1" >&8 # The pipe takes all of it.
    wait_text err 'row [0-9]+ rejected'
    until ! dd if=/dev/zero of="$BOX/unread" oflag=nonblock bs=4096 count=1 2>/dev/null && grep -q '^State:.*sleeping' "/proc/$importer/status"; do # It is full.
        kill -0 "$importer" || die "it does not wait for the reader: $(cat "$BOX/err")"
    done
}
mkfifo "$BOX/unread"
awk 'BEGIN { for (i = 1; i <= 4000; i++) printf "none,%d\n", i }' >"$BOX/bad.csv"
for way in stalls goes; do
    say "interrupted while nobody reads the rejected rows: the reader $way"
    begin_unread "$BOX/bad.csv"
    kill -INT "$importer"
    [ $way = stalls ] || exec 7>&-
    wait "$importer"
    code=$?
    exec 7>&- 8>&-
    [ $code = 130 ] || fail "the exit code is $code: $(cat "$BOX/err")"
    [ $way = goes ] || want_text err 'unread: interrupted, and who reads it has not read on for two seconds\. Rejected rows cannot be kept'
    want_text err 'interrupted, .* row [0-9]+ is the last one that was read; some of the rows up to it may be neither in the table nor in .*/unread$'
done

say "rows that the cluster refuses wait for their reader, and the connection does not"
awk 'BEGIN { for (i = 1; i <= 4000; i++) printf "%d,1\n", i }' >"$BOX/good.csv"
import 0 --rejects-file="$BOX/good.rej" --rejects=4000 --table=taken test "$BOX/good.csv"
begin_unread "$BOX/good.csv"
exec 8>&-
sleep "${STALL:-8}" # A client that says nothing for six seconds is put out; requests wait half a minute, and import_tool_night longer than that.
slowly() { while IFS= read -r line; do printf '%s\n' "$line"; [ "${STALL:-8}" = 8 ] || sleep 0.01; done; }
tr -d '\0' <"$BOX/unread" 7>&- | slowly >"$BOX/read" 7>&- &
reader=$!
PIDS+=("$reader")
exec 7>&-
wait "$importer" || fail "rejected rows that were permitted: exit code $?: $(cat "$BOX/err")"
wait "$reader"
want_text out '^test\.taken: 0 rows imported, 4000 rejected, 0 tried again'
[ "$(grep -c '	630	' "$BOX/read")" = 4000 ] || fail "the reader has $(grep -c '	630	' "$BOX/read") rows"

say "rejected rows longer than what a pipe takes at once are whole"
awk 'BEGIN { for (r = 1; r <= 3; r++) { printf "none,\""; for (i = 0; i < 2500; i++) printf "%d\t\\\\\n", i * r; printf "\"\n" } }' >"$BOX/long.csv"
import 0 --rejects=3 --rejects-file="$BOX/long.rej" --table=taken test "$BOX/long.csv"
[ "$(wc -l <"$BOX/long.rej")" = 3 ] || fail "the file has $(wc -l <"$BOX/long.rej") lines of 3"
[ "$(wc -c <"$BOX/long.rej")" -gt 60000 ] || fail "the file has $(wc -c <"$BOX/long.rej") bytes"
cat "$BOX/unread" >"$BOX/read" &
reader=$!
PIDS+=("$reader")
import 0 --rejects=3 --rejects-file="$BOX/unread" --table=taken test "$BOX/long.csv"
wait "$reader"
cmp "$BOX/long.rej" "$BOX/read" || fail "a pipe gets other rows than a file"
import 1 --rejects=3 --rejects-file=/dev/full --table=taken test "$BOX/long.csv"
want_text err '/dev/full: No space left on device'
rm -f "$BOX/state/long.map"

say "a signal behind the row that ends it interrupts nothing"
env --default-signal=INT "$BIN/ndb_import" --state-dir="$BOX/state" --rejects-file="$BOX/good.rej" --input-type=csv --table=taken test "$BOX/taken" >"$BOX/out" 2>"$BOX/err" &
importer=$!
PIDS+=("$importer")
exec 8<>"$BOX/taken"
echo 9999,1 >&8
until [ "$(rows_of taken)" = 4001 ]; do kill -0 "$importer" || die "$(cat "$BOX/err")"; done
kill -STOP "${NODE_PIDS[@]}" # Nobody says whether the row is on disk.
echo none,1 >&8
wait_text err 'row 2 rejected'
kill -INT "$importer"
wait "$importer"
code=$?
kill -CONT "${NODE_PIDS[@]}"
exec 8>&-
[ $code = 1 ] || fail "the exit code is $code: $(cat "$BOX/err" "$BOX/out")"
want_text out '^test\.taken: 1 rows imported, 1 rejected'
grep -q interrupted "$BOX/err" && fail "it says that it was interrupted: $(cat "$BOX/err")"
want 0 "$BIN/ndb_waiter" --timeout=100

say "a file that is cut while it is imported: while it is read, and behind that"
for rows in 900000 60000; do
    want 0 "$BIN/ndb_delete_all" -d test taken
    awk -v rows=$rows 'BEGIN { for (i = 1; i <= rows; i++) printf "%d,1\n", i }' >"$BOX/taken.csv"
    if [ $rows = 60000 ]; then few=(--opbatch=1 --db-workers=1); else few=(--opbatch=16); fi
    "$BIN/ndb_import" --state-dir="$BOX/state" "${few[@]}" test "$BOX/taken.csv" >"$BOX/out" 2>"$BOX/err" &
    importer=$!
    PIDS+=("$importer")
    until [ "$(rows_of taken)" -gt 0 ]; do kill -0 "$importer" || die "$(cat "$BOX/err")"; done
    truncate -s $((rows * 3)) "$BOX/taken.csv"
    wait "$importer" && fail "a file that was cut is complete: $(cat "$BOX/err")"
    want_text err 'taken\.csv: (after row [0-9]+: )?it was made shorter since its import began$'
    [ "$(grep -c 'made shorter' "$BOX/err")" = 1 ] || fail "that is told more than once: $(cat "$BOX/err")"
    want_text err 'taken\.csv: row [0-9]+ is the last one that is done; --resume refuses the file, which is another one now'
    import 1 --resume test "$BOX/taken.csv"
    rm -f "$BOX/taken.csv" "$BOX/state/taken.map"
done

say "interrupted while nobody writes to a pipe"
for left_out in 0 9; do
    printf '5\t4009\ttext\tfive\n12\t4009\ttext\ttwelve\n' >"$BOX/state/slow.rej" # Of another run, which this one is to tell of.
    if [ $left_out = 0 ]; then old=2 word='was read'; else old=1 word='is left out'; fi
    env --default-signal=INT "$BIN/ndb_import" --state-dir="$BOX/state" --table=numbered -m --ignore-lines=$left_out test "$BOX/slow" >"$BOX/out" 2>"$BOX/err" &
    importer=$!
    PIDS+=("$importer")
    until find "/proc/$importer/fd" -lname "$BOX/slow" | grep -q .; do kill -0 "$importer" || break; done
    interrupt INT 130
    want_text err "slow: $IN_TABLE; row $left_out is the last one that $word; --ignore-lines=$left_out goes on behind it\$"
    want_text err "slow: no row is rejected; $old that stand in .*/slow\.rej are of another run\$"
done
rm "$BOX/state/slow.rej"

# next_is TABLE NUMBER: the cluster gives this one next.
next_is() {
    want 0 "$BIN/ndb_desc" -d test -a "$1"
    want_text out "^AutoIncrement: $2\$"
}

say "numbers of the file's own: those that the cluster gives go on behind them"
OWN='CREATE TABLE `own` (`id` int NOT NULL AUTO_INCREMENT, `n` int DEFAULT NULL, PRIMARY KEY (`id`)) ENGINE=ndbcluster'
want 0 "$BIN/ndb_create_table" -d test -e "$OWN AUTO_INCREMENT=500 DEFAULT CHARSET=utf8mb4"
next_is own 500
printf '7,1\n-3,2\n' >"$BOX/own.csv"
import 0 --rejects-file="$BOX/own.rej" test "$BOX/own.csv"
next_is own 500
printf '600,1\n900,2\nx,3\n700,4\n' >"$BOX/own.csv"
import 1 --rejects-file="$BOX/own.rej" test "$BOX/own.csv"
next_is own 901
sed -i 's/^number	900$/number	5000/; /^check/d' "$BOX/state/own.map"
printf 'check\t%s\n' "$(cksum <"$BOX/state/own.map" | cut -d ' ' -f 1)" >>"$BOX/state/own.map"
import 1 --rejects-file="$BOX/own.rej" --resume --keep-state test "$BOX/own.csv" # The state knows what the first run has seen.
has_rows own 5
next_is own 5001
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE moved (id BIGINT AUTO_INCREMENT PRIMARY KEY, n INT)"
want 0 "$BIN/ndb_move_data" -d test -A --drop-source own moved
want_text out '^5 rows moved from own to moved$'
next_is moved 901
want 0 "$BIN/ndb_create_table" -d test -e "$OWN"
next_is own 1
import 1 --rejects-file="$BOX/own.rej" --resume test "$BOX/own.csv" # It has the number of the dropped one, most often.
want_text err "own\\.map: table test/own is not the one .*$WHOLE_FILE"
has_rows own 0
next_is own 1
printf '18446744073709551615,1\n' >"$BOX/most.csv"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE most (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, n INT)"
import 0 test "$BOX/most.csv"
next_is most 18446744073709551615
stop_cluster
