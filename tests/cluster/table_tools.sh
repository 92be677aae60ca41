#!/bin/bash
# table_tools.sh -- the tools that work on whole tables, against two data nodes.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

rows_of() { "$BIN/ndb_select_count" -d test "$1" | sed -nE 's/^([0-9]+) records.*/\1/p'; }

# has_rows TABLE COUNT
has_rows() { [ "$(rows_of "$1")" = "$2" ] || fail "table $1 has $(rows_of "$1") rows instead of $2"; }

want 0 "$BIN/ndb_create_table" --execute="$AWKWARD_TABLE"
awkward_rows 5000 >"$BOX/awkward.csv"
load() { want 0 "$BIN/ndb_import" --rejects-file="$BOX/awkward.rej" test "$BOX/awkward.csv"; }

say "the database of a table that is named without one"
want 0 "$BIN/ndb_create_table" -e "CREATE TABLE here (a INT PRIMARY KEY, b INT)"
want 0 "$BIN/ndb_select_count" -d test here
want 0 "$BIN/ndb_create_table" -d TEST_DB -e "CREATE TABLE there (a INT PRIMARY KEY, b INT); CREATE TABLE here (a INT PRIMARY KEY, b INT)"
want 0 "$BIN/ndb_desc" there
want 0 "$BIN/ndb_select_all" there
want 0 "$BIN/ndb_create_index" -e "CREATE INDEX i ON there (b)"
want 1 "$BIN/ndb_create_index" -e "CREATE INDEX j ON there (c)" # The error of the table that is there.
want_text err '^4004: .*column c$'
want 0 "$BIN/ndb_drop_index" there i
want 0 "$BIN/ndb_alter_table" -e "ALTER TABLE there RENAME elsewhere; ALTER TABLE here RENAME nearby"
want 0 "$BIN/ndb_delete_all" elsewhere nearby
want 0 "$BIN/ndb_select_count" -d TEST_DB elsewhere here
want 0 "$BIN/ndb_select_count" -d test nearby
want 1 "$BIN/ndb_select_count" -d test elsewhere
want_text err '^test/elsewhere: 723: .*: test/def/elsewhere$'
want 1 "$BIN/ndb_select_count" nothing
want_text err '^test/nothing: 723: .*: test/def/nothing$'
want 1 "$BIN/ndb_alter_table" -e "ALTER TABLE nothing RENAME x"
want_text err '^723: .*: test/def/nothing$'
want 0 "$BIN/ndb_drop_table" elsewhere nearby here

say "ndb_delete_all"
load
want 0 "$BIN/ndb_delete_all" -d test awkward
want_text out '^Deleting all from awkward \(non-transactional\) \.\.\.$'
want_text out '^awkward: 5000 rows deleted$'
has_rows awkward 0
want 0 "$BIN/ndb_delete_all" -d test awkward # An empty table is one, too.
want_text out '^awkward: 0 rows deleted$'
load
want 0 "$BIN/ndb_delete_all" -t --tupscan --format=json test.awkward
want_text out '"deleted":[[:space:]]*5000'
has_rows awkward 0
load
want 1 "$BIN/ndb_delete_all" -d test awkward nothing
want_text err '^test/nothing: 723: '
has_rows awkward 0
want 2 "$BIN/ndb_delete_all"
want 0 "$BIN/ndb_delete_all" --diskscan awkward # No column of this cluster is on disk.
want_text err '^ndb_delete_all: warning: --diskscan has no effect: no columns are on disk$'

say "ndb_desc -p"
load # For the fourth time, after three rounds of deletes: 35000 changes.
want 0 "$BIN/ndb_desc" -d test -p -n awkward
want_text out '^Partition	Row count	Commit count	Frag fixed memory	Frag varsized memory	Extent_space	Free extent_space	Nodes$'
awk -F'\t' '/^-- Per partition/ { on = 1 } on && $1 ~ /^[0-9]+$/ {
        rows += $2; commits += $3; if ($4 % 32768 || $5 % 32768 || !$4 || !$5 || $8 !~ /^[12],[12]$/) wrong++
    }
    END { exit !(rows == 5000 && commits == 35000 && !wrong) }' "$BOX/out" || fail "wrong figures: $(tail -n 5 "$BOX/out")"
want 0 "$BIN/ndb_desc" -d test -p --format=json awkward
want_text out '"index_memory":	[1-9]'
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE empty (a INT NOT NULL PRIMARY KEY)"
want 0 "$BIN/ndb_desc" -d test -p empty
want_text out '^0	0	0	0	0	0	0$'

say "ndb_desc of indexes"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE indexed (a INT NOT NULL PRIMARY KEY, b INT, c VARCHAR(20), INDEX by_b (b), KEY by_c_b (c, b))"
want 0 "$BIN/ndb_desc" -d test indexed
want_text out '^by_b\(b\) - OrderedIndex$'
want_text out '^by_c_b\(c, b\) - OrderedIndex$'
want 0 "$BIN/ndb_desc" -d test --format=json indexed
want_text out '"columns":	\["c", "b"\]'
for line in 'K Value: 6' 'Min load factor: 78' 'Length of frm data: 0' 'SingleUserMode: 0' 'ForceVarPart: 1' 'ExtraRowGciBits: 0'; do
    want 0 "$BIN/ndb_desc" -d test -u indexed
    want_text out "^$line\$"
done
want 0 "$BIN/ndb_desc" -d test -i indexed
[ "$(grep -c '^Index type: OrderedIndex$' "$BOX/out")" = 2 ] || fail "not both indexes: $(cat "$BOX/out")"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE named (a INT AUTO_INCREMENT PRIMARY KEY, b INT UNIQUE)"
want 0 "$BIN/ndb_desc" -d test -t named b
want_text out '^Base table: named$'
want_text out '^Index type: UniqueHashIndex$'
want_text out '^b Int NULL AT=FIXED ST=MEMORY$'
want_text out '^-- IndexTable sys/def/NDB\$UNIQUE_[0-9]+_b, id [0-9]+ --$'
want 0 "$BIN/ndb_desc" -d test -t indexed --format=json by_c_b
want_text out '"type":	"OrderedIndex"'
want 1 "$BIN/ndb_desc" -d test -t indexed nothing
want_text out '^No such object: nothing$'
for arguments in 'nothing' '-t indexed nothing'; do # What is on standard output is JSON.
    # shellcheck disable=SC2086
    want 1 "$BIN/ndb_desc" -d test --format=json $arguments
    want_text err '^No such object: nothing$'
    [ "$(tr -d '[:space:]' <"$BOX/out")" = '[]' ] || fail "no JSON: $(cat "$BOX/out")"
done
# A unique index has the version of the table that it is, and keeps it when the base table gets another one.
version_of() { "$BIN/ndb_desc" -d test "$@" | sed -nE 's/^Version: ([0-9]+)$/\1/p'; }
before=$(version_of -t named b)
want 0 "$BIN/ndb_create_index" -d test -e "CREATE INDEX by_a ON named (a)"
[ "$(version_of named)" != "$before" ] || fail "the table has still version $before"
[ "$(version_of -t named b)" = "$before" ] || fail "the unique index has version $(version_of -t named b) instead of $before"
[ "$(version_of -t named by_a)" = "$(version_of named)" ] || fail "the ordered index has a version of its own"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE big (a BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)"
want 0 "$BIN/ndb_desc" -d test -a --format=json big
want_text out '"next_number":	1[,}]?$'
want 0 "$BIN/ndb_drop_table" -d test big
want 0 "$BIN/ndb_desc" -d test -a named
want_text out '^AutoIncrement: 1$'
(sleep 2; "$BIN/ndb_create_table" -d test -e "CREATE TABLE later (a INT PRIMARY KEY)" >"$BOX/later.out" 2>&1) &
want 0 "$BIN/ndb_desc" -d test -r 60 later
wait $!
want 0 "$BIN/ndb_drop_table" -d test named later

say "ndb_select_all in the order of an index"
seq 1 3000 | awk '{ printf "%d,%s,\"c%d\"\n", $1, $1 % 7 ? ($1 * 7919) % 1000 - 500 : "\\N", $1 % 13 }' >"$BOX/indexed.csv"
want 0 "$BIN/ndb_import" test "$BOX/indexed.csv"
by_b() { awk -F'\t' '{ print ($2 == "[NULL]") ? -1000000 : $2 }' "$BOX/out"; }
want 0 "$BIN/ndb_select_all" -d test -h 0 -o indexed by_b
[ "$(by_b | head -n 3000 | sort -n | cksum)" = "$(by_b | head -n 3000 | cksum)" ] || fail "by_b: not in order"
want_text out '^3000 rows returned$'
want 0 "$BIN/ndb_select_all" -d test -h 0 --order --descending -l 1 indexed BY_B
[ "$(by_b | head -n 3000 | sort -rn | cksum)" = "$(by_b | head -n 3000 | cksum)" ] || fail "by_b: not in descending order"
want_text out '^3000 rows returned$'
want 0 "$BIN/ndb_select_all" -d test indexed by_c_b
want_text out '^3000 rows returned$'
want 1 "$BIN/ndb_select_all" -d test indexed nothing
want_text err 'indexed has no ordered index nothing'
want 2 "$BIN/ndb_select_all" -d test -o indexed
want 2 "$BIN/ndb_select_all" -d test -z indexed by_b

say "--where"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE goods (id INT NOT NULL PRIMARY KEY, price DECIMAL(8,2), name VARCHAR(20), INDEX by_price (price))"
printf '%s\n' '1,9.99,bread' '2,12.50,Butter' "3,\\N,bee's wax" '4,100,cheese' '5,12.51,\N' >"$BOX/goods.csv"
want 0 "$BIN/ndb_import" test "$BOX/goods.csv"
fits() { # CONDITION ID...: these rows, by both tools
    local condition=$1
    shift
    want 0 "$BIN/ndb_select_all" -d test -h 0 --csv --where="$condition" goods
    [ "$(cut -d, -f1 "$BOX/out" | sort -n | tr '\n' ' ')" = "${*:+$* }" ] || fail "$condition: $(cat "$BOX/out")"
    want 0 "$BIN/ndb_select_count" -d test --where="$condition" goods
    want_text out "^$# records in table goods\$"
}
fits 'price <= 12.50' 1 2
fits "name LIKE 'b%' AND NOT id = 1" 2 3
fits "price IS NULL OR name IS NULL" 3 5
fits 'price BETWEEN 10 AND 99.99 || id IN (4, 7)' 2 4 5
fits "name = 'bee''s wax'" 3
fits 'id >= id AND price <> 100' 1 2 5
fits 'id > 5'
want 0 "$BIN/ndb_select_all" -d test -h 0 --order --descending --where='price < 50' goods by_price
[ "$(grep -c . "$BOX/out")" = 4 ] && [ "$(head -c 1 "$BOX/out")" = 5 ] || fail "not in the order of the index: $(cat "$BOX/out")"
want 0 "$BIN/ndb_select_count" -d test -l 2 --where='id < 3' goods
want_text out '^2 records'
want 1 "$BIN/ndb_select_all" -d test --where='prize < 50' goods
want_text err "^--where: 4004: .*: line 1, column 1: at 'prize'$"
want_text err '^\^$'
want 1 "$BIN/ndb_select_count" -d test --where="price < 'much'" goods
want_text err "^--where: .*line 1, column 9: "
want 1 "$BIN/ndb_select_count" -d test --where='price < id' goods # Columns of two types.
want_text err '^--where: 892: '

say "ndb_select_all, ndb_select_count"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE three (a INT NOT NULL PRIMARY KEY, b VARBINARY(20), c BIGINT)"
printf '1,"x",9007199254740993\n2,\\N,\\N\n3,"q""q",-1\n' >"$BOX/three.csv"
want 0 "$BIN/ndb_import" test "$BOX/three.csv"
want 0 "$BIN/ndb_select_all" -d test --nodata three
[ "$(cat "$BOX/out")" = '3 rows returned' ] || fail "--nodata prints $(cat "$BOX/out")"
want 0 "$BIN/ndb_select_all" -d test -t --rowid --gci -D ' | ' -l 1 -p 1 three
want_text out '^a \| b \| c \| ROWID \| GCI$'
want_text out '^3 \| .* \| -1 \| \[ fragment: [01] page: [0-9]+ index: [0-9]+ \] \| [1-9][0-9]*$'
want 0 "$BIN/ndb_select_all" -d test --nodata --gci -h 0 three
[ "$(grep -cE '^[1-9][0-9]*$' "$BOX/out")" = 3 ] || fail "three GCIs expected: $(cat "$BOX/out")"
want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE test.controls (a INT NOT NULL PRIMARY KEY, t VARCHAR(20))"
printf '1\tnl\\nx\n2\t0x6E6C0A78\n' >"$BOX/controls.tsv" # Two values that are told apart.
want 0 "$BIN/ndb_import" test "$BOX/controls.tsv"
want 0 "$BIN/ndb_select_all" -d test --format=json controls
want_text out '"t": ?"nl\\nx"'
want_text out '"t": ?"0x6E6C0A78"'
want 0 "$BIN/ndb_drop_table" -d test controls
want 0 "$BIN/ndb_select_all" -d test --format=json -x --rowid three
want_text out '^\{"a":1,"b":"0x78","c":9007199254740993,"ROWID":\{"fragment":[0-9]+,"page":[0-9]+,"index":[0-9]+\}\}$'
want_text out '^\{"a":2,"b":null,"c":null,'
[ "$(wc -l <"$BOX/out")" = 3 ] || fail "a line per row expected"
want 0 "$BIN/ndb_select_count" -d test --lock=2 -p 1 three empty
want_text out '^3 records in table three$'
want_text out '^0 records in table empty$'
want 2 "$BIN/ndb_select_all" -d test --csv --rowid three
want 2 "$BIN/ndb_select_all" -d test --order three # There are no ordered indexes.

say "ndb_create_index, ndb_drop_index, ndb_show_tables"
want 0 "$BIN/ndb_create_index" -d test -e "CREATE INDEX by_c ON indexed (c); CREATE INDEX IF NOT EXISTS by_c ON test.indexed (c)"
want_text out '^2 statements executed$'
want 0 "$BIN/ndb_desc" -d test indexed
want_text out '^by_c\(c\) - OrderedIndex$'
want 0 "$BIN/ndb_select_all" -d test -h 0 -o indexed by_c
[ "$(awk -F'\t' '{ print $3 }' "$BOX/out" | head -n 3000 | LC_ALL=C sort -f | cksum)" = "$(awk -F'\t' '{ print $3 }' "$BOX/out" | head -n 3000 | cksum)" ] ||
    fail "by_c: not in order"
want 1 "$BIN/ndb_create_index" -d test -e "CREATE INDEX BY_C ON indexed (b)"
want_text err "^4244: .*line 1, column 14: at 'BY_C': "
want_text err '^             \^$'
want 1 "$BIN/ndb_create_index" -d test -e "CREATE INDEX x ON indexed (b, z)"
want_text err "^4004: .*line 1, column 31: at 'z': table indexed, index x, column z$"
want_text err '^                              \^$'
want 1 "$BIN/ndb_create_index" -d test -e "CREATE INDEX x ON nothing (b)"
want_text err '^723: '
want 1 "$BIN/ndb_create_index" -d test -e "CREATE INDEX x indexed (b)"
want_text err 'line 1, column 16: .*expected ON'
want 1 "$BIN/ndb_create_index" -d test -e "CREATE UNIQUE INDEX x ON indexed (b) USING BTREE"
want_text err 'line 1, column 44: .*expected HASH'
want 1 "$BIN/ndb_create_index" -d test -e "CREATE INDEX x USING HASH ON indexed (b)"
want_text err 'line 1, column 22: .*expected BTREE'
want 0 "$BIN/ndb_show_tables" -p -f -d test indexed
want_text out "^[0-9]+	'OrderedIndex'	'Online'	'No'	'sys/def/[0-9]+/by_c'$"
want 0 "$BIN/ndb_show_tables" -t 6
want_text out '^[0-9]+ +OrderedIndex +Online +No +sys +def +by_c_b$'
want_text out '^id +type'
if grep -q UserTable "$BOX/out"; then fail "--type=6 lists tables"; fi
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE with_unique (a INT PRIMARY KEY, b INT UNIQUE, INDEX i (a)) COMMENT='NDB_TABLE=NOLOGGING=1'"
want 0 "$BIN/ndb_show_tables" -t 3
want_text out '^[0-9]+ +UniqueHashIndex +Online +No +sys +def +b$'
if grep -qE 'UserTable|OrderedIndex' "$BOX/out"; then fail "--type=3 lists others: $(cat "$BOX/out")"; fi
want 0 "$BIN/ndb_show_tables" -p -f with_unique
want_text out "^[0-9]+	'UserTable'	'Online'	'No'	'test/def/with_unique'$"
want_text out "^[0-9]+	'UniqueHashIndex'	'Online'	'No'	'sys/def/[0-9]+/b'$"
want_text out "^[0-9]+	'OrderedIndex'	'Online'	'No'	'sys/def/[0-9]+/i'$"
[ "$(cut -f1 "$BOX/out" | sort -u | wc -l)" = 2 ] || fail "the unique index has no number of its own: $(cat "$BOX/out")"
want 0 "$BIN/ndb_drop_table" -d test with_unique
want 0 "$BIN/ndb_show_tables" --format=json -d test indexed
want_text out '"table":	"test/def/indexed"'
want 0 "$BIN/ndb_drop_index" -d test indexed by_c
want_text out '^Dropping index indexed/by_c\.\.\.OK$'
want 1 "$BIN/ndb_drop_index" -d test indexed by_b indexed by_c
want_text out '^Dropping index indexed/by_b\.\.\.OK$'
want_text err '^4243: '
want 2 "$BIN/ndb_drop_index" -d test indexed
want 0 "$BIN/ndb_drop_index" -d test --format=json test.indexed by_c_b
want_text out '"dropped":	true'
want 0 "$BIN/ndb_desc" -d test indexed
if grep -q OrderedIndex "$BOX/out"; then fail "indexed still has indexes"; fi

say "ndb_alter_table: other names, and no rows"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE changed (a INT PRIMARY KEY, b VARCHAR(20), UNIQUE u (b), INDEX i (b))"
printf '1\tone\n2\ttwo\n' >"$BOX/changed.tsv"
want 0 "$BIN/ndb_import" test "$BOX/changed.tsv"
want 0 "$BIN/ndb_alter_table" -d test -e "ALTER TABLE changed RENAME COLUMN b TO word; RENAME TABLE changed TO moved.renamed"
want_text out '^2 statements executed$'
want 1 "$BIN/ndb_desc" -d test changed
want 0 "$BIN/ndb_desc" -d moved renamed
want_text out '^word Varchar'
want_text out '^u\(word\) - UniqueHashIndex$'
want 0 "$BIN/ndb_select_all" -d moved -h 0 -o renamed i
want_text out '^1\s+"one"$'
want 0 "$BIN/ndb_alter_table" -d moved -e "ALTER TABLE renamed ADD COLUMN number BIGINT; ALTER TABLE renamed ADD text VARCHAR(40) NULL"
want 0 "$BIN/ndb_desc" -d moved renamed
want_text out '^word Varchar\([^)]*\) NULL AT=SHORT_VAR ST=MEMORY$'
want_text out '^number Bigint NULL AT=FIXED ST=MEMORY DYNAMIC$'
want_text out '^text Varchar\([^)]*\) NULL AT=SHORT_VAR ST=MEMORY DYNAMIC$'
want 0 "$BIN/ndb_desc" -d moved --format=json renamed
[ "$(grep -oE '"dynamic":\s*(true|false)' "$BOX/out" | sed 's/.*:\s*//' | xargs)" = 'false false true true' ] || fail "other columns are dynamic: $(cat "$BOX/out")"
printf '3\tthree\t33\tdrei\n4\tfour\t\\N\t\n' >"$BOX/renamed.tsv"
want 0 "$BIN/ndb_import" moved "$BOX/renamed.tsv"
want 0 "$BIN/ndb_create_index" -d moved -e "CREATE INDEX later ON renamed (number, text)"
want 0 "$BIN/ndb_select_all" -d moved -h 0 -o renamed later
want_text out '^1\s+"one"\s+\[NULL\]\s+\[NULL\]$'
want_text out '^3\s+"three"\s+33\s+"drei"$'
want_text out '^4\s+"four"\s+\[NULL\]\s+""$'
want 1 "$BIN/ndb_alter_table" -d moved -e "ALTER TABLE renamed ADD other INT NOT NULL"
want_text err "^741: .*line 1, column 25: at 'other': table renamed$"
want_text err '^ {24}\^$'
want 1 "$BIN/ndb_alter_table" -d moved -e "ALTER TABLE renamed ADD other INT DEFAULT 5"
want_text err '^741: '
want 0 "$BIN/ndb_alter_table" -d moved -e "TRUNCATE TABLE renamed; ALTER TABLE renamed RENAME test.changed"
want 0 "$BIN/ndb_select_count" -d test changed
want_text out '^0 records in table changed$'
want 0 "$BIN/ndb_desc" -d test changed
want_text out '^number Bigint NULL AT=FIXED ST=MEMORY$' # As if it had been there from the beginning.
want 0 "$BIN/ndb_import" --columns=a,word test "$BOX/changed.tsv" # Nothing is left in the unique index.
want 0 "$BIN/ndb_select_count" -d test changed
want_text out '^2 records in table changed$'
want 1 "$BIN/ndb_alter_table" -d test -e "RENAME TABLE changed TO indexed"
want_text err "^721: .*line 1, column 25: at 'indexed': table indexed$"
want 1 "$BIN/ndb_alter_table" -e "ALTER TABLE test.changed RENAME TO test.indexed"
want_text err "^721: .*line 1, column 41: at 'indexed': table test/indexed$"
want_text err '^ {40}\^$'
want 1 "$BIN/ndb_alter_table" -e "ALTER TABLE test.nothing ADD b INT"
want_text err "^723: .*line 1, column 18: at 'nothing': test/def/nothing$"
want 1 "$BIN/ndb_alter_table" -d test -e "ALTER TABLE changed RENAME COLUMN none TO b"
want_text err "^4004: .*line 1, column 35: at 'none': table changed$"
want 1 "$BIN/ndb_alter_table" -d test -e "ALTER TABLE changed RENAME COLUMN word TO a"
want_text err "^720: .*line 1, column 43: at 'a': table changed$"
want 1 "$BIN/ndb_alter_table" -d test -e "TRUNCATE TABLE nothing"
want_text err "^723: .*line 1, column 16: at 'nothing': test/def/nothing$"
want 1 "$BIN/ndb_alter_table" -d test -e "ALTER TABLE changed RENAM x"
want_text err "^4003: .*: line 1, column 21: at 'RENAM': expected ADD or RENAME$"
want_text err '^ {20}\^$'
[ "$(grep -c 'column 21' "$BOX/err")" = 1 ] && [ "$(wc -l <"$BOX/err")" = 3 ] || fail "something is told twice: $(cat "$BOX/err")"
want 0 "$BIN/ndb_drop_table" -d test changed

say "ndb_create_table, ndb_drop_table: what was done, for scripts"
want 0 "$BIN/ndb_create_table" -d test --format=json -e "CREATE TABLE p (a INT NOT NULL PRIMARY KEY); CREATE TABLE q (a INT NOT NULL PRIMARY KEY)"
one_line
want_text out '^\{"executed":2\}$'
want 1 "$BIN/ndb_create_table" -d test --format=json -e "CREATE TABLE r (a INT NOT NULL PRIMARY KEY); CREATE TABLE p (a INT NOT NULL PRIMARY KEY); CREATE TABLE s (a INT NOT NULL PRIMARY KEY)"
one_line
want_text out '^\{"executed":1\}$'
want_text err '^721: '
printf '\xEF\xBB\xBFCREATE TABLE test.marked (a INT PRIMARY KEY);\nDROP IT' >"$BOX/marked.sql" # Some editors put a mark in front.
want 1 "$BIN/ndb_create_table" "$BOX/marked.sql"
want_text err "line 2, column 1: at 'DROP'"
want 0 "$BIN/ndb_drop_table" -d test marked
want 1 "$BIN/ndb_create_table" -d test -e "CREATE TABLE p (a INT NOT NULL PRIMARY KEY)"
[ ! -s "$BOX/out" ] || fail "nothing was executed, and this is said: $(cat "$BOX/out")"
want 0 "$BIN/ndb_drop_table" -d test --format=json p test.q
one_line
want_text out '^\[\{"table":"p","dropped":true\}, ?\{"table":"test\.q","dropped":true\}\]$'
want 1 "$BIN/ndb_drop_table" -d test --format=json r p s
one_line
want_text out '^\[\{"table":"r","dropped":true\}, ?\{"table":"p","dropped":false\}\]$'
want_text err '^723: '

say "ndb_move_data"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE wide (note VARCHAR(600), id BIGINT UNSIGNED NOT NULL,
    kind VARCHAR(40) NOT NULL, name VARCHAR(80) NOT NULL, price DECIMAL(14,4), day DATE, big BIGINT, small INT NOT NULL,
    code VARCHAR(9), bits BIT(20), more INT DEFAULT 7, PRIMARY KEY (kind, id))"
before=$(rows_of awkward)
want 1 "$BIN/ndb_move_data" -d test awkward wide
want_text err '^Column id: Unsigned to Bigunsigned; needs --promote-attributes$'
want 0 "$BIN/ndb_move_data" -d test -A awkward wide
want_text out "^$before rows moved from awkward to wide$"
has_rows awkward 0
has_rows wide "$before"
want 1 "$BIN/ndb_move_data" -d test --exclude-missing-columns wide awkward
want_text err 'needs --lossy-conversions'
want 1 "$BIN/ndb_move_data" -d test -L wide awkward
want_text err '^Column more is missing in awkward'
want 0 "$BIN/ndb_move_data" -d test -L -A --exclude-missing-columns --drop-source --format=json wide awkward
want_text out "\"moved\":	$before"
want 0 "$BIN/ndb_select_all" -d test --csv awkward # All that text can contain is as it was.
LC_ALL=C sort "$BOX/awkward.csv" >"$BOX/expected"
LC_ALL=C sort "$BOX/out" | cmp -s - "$BOX/expected" || fail "the rows are not what they were"
want 1 "$BIN/ndb_select_count" -d test wide
want 0 "$BIN/ndb_create_table" -d test -e "${AWKWARD_TABLE/test.awkward/test.other}"
timeout -s KILL 0.15 "$BIN/ndb_move_data" -d test awkward other 2>/dev/null # Somewhere on its way.
there=$(rows_of other)
has_rows awkward "$((before - there))"
want 0 "$BIN/ndb_move_data" -d test awkward other
has_rows other "$before"

say "ndb_move_data: rows of a batch that are locked, and rows that are gone between two tries"
for table in held_from held_to; do
    want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE $table (a INT NOT NULL PRIMARY KEY, b INT)"
done
seq 14 | sed 's/$/,7/' >"$BOX/held_from.csv"
want 0 "$BIN/ndb_import" --state-dir="$BOX" test "$BOX/held_from.csv"
export NDB_CONNECTSTRING=$CS
for key in 5 9; do
    mkfifo "$BOX/hold$key"
    "$BIN/lock_client" held_from a $key read <"$BOX/hold$key" >"$BOX/lock$key.out" 2>&1 &
    PIDS+=($!)
done
exec 7>"$BOX/hold5" 8>"$BOX/hold9"
wait_file() { # FILE TEXT
    for _ in $(seq 1200); do
        grep -q "$2" "$1" 2>/dev/null && return
        sleep 0.05
    done
    die "no '$2' in $1: $(cat "$1")"
}
wait_file "$BOX/lock5.out" locked
wait_file "$BOX/lock9.out" locked
"$BIN/ndb_move_data" -v --staging-tries=0,300,300 -d test held_from held_to >"$BOX/held.out" 2>"$BOX/held.err" 7>&- 8>&- &
mover=$!
PIDS+=("$mover")
wait_file "$BOX/held.err" '^Try 1 has failed.*: 266: '
for key in 1 6 11 14; do want 0 "$BIN/lock_client" held_from a $key delete; done
last=$(grep -c '^Try ' "$BOX/held.err")
wait_file "$BOX/held.err" "^Try $((last + 2)) has failed"
exec 7>&- 8>&-
wait "$mover" || fail "a batch with a row that is gone: $(cat "$BOX/held.err")"
grep -q '^10 rows moved' "$BOX/held.out" || fail "14 rows less 4: $(cat "$BOX/held.out" "$BOX/held.err")"
has_rows held_to 10
has_rows held_from 0

say "ndb_move_data: a value that would be another one in the target stays"
# kept SOURCE_TYPE TARGET_TYPE VALUE...: what does not fit; moved likewise: what does, and how it reads then.
exact() { # KEPT|MOVED SOURCE_TYPE TARGET_TYPE VALUE
    want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE exact_from (a INT NOT NULL PRIMARY KEY, b $2); CREATE TABLE exact_to (a INT NOT NULL PRIMARY KEY, b $3)"
    printf '1,%s\n' "$4" >"$BOX/exact_from.csv"
    want 0 "$BIN/ndb_import" --state-dir="$BOX" test "$BOX/exact_from.csv"
    want 0 "$BIN/ndb_select_all" -d test --csv exact_from
    cp "$BOX/out" "$BOX/exact"
    if [ "$1" = kept ]; then
        want 1 "$BIN/ndb_move_data" -d test -A -L exact_from exact_to
        want_text err '^exact_from \(1\): column b: 4314: '
        want 0 "$BIN/ndb_select_all" -d test --csv exact_from
        cmp -s "$BOX/exact" "$BOX/out" || fail "$2 to $3: $4 has become $(cat "$BOX/out")"
        has_rows exact_to 0
    else
        want 0 "$BIN/ndb_move_data" -d test -A -L exact_from exact_to
        want 0 "$BIN/ndb_select_all" -d test --csv exact_to
        [ "$(cat "$BOX/out")" = "$5" ] || fail "$2 to $3: $4 has become $(cat "$BOX/out")"
    fi
    want 0 "$BIN/ndb_drop_table" -d test exact_from exact_to
}
exact kept 'DECIMAL(10,4)' 'DECIMAL(10,2)' 1.2599
exact kept 'DECIMAL(10,4)' 'DECIMAL(10,0)' 0.4999
exact kept 'DATETIME(6)' 'DATETIME(0)' '2020-12-31 23:59:59.500000'
exact kept 'TIME(3)' TIME 10:00:00.100
exact kept 'TIMESTAMP(6)' 'TIMESTAMP(0)' 1577836800.600000
exact kept DOUBLE FLOAT 1.23456789012345
exact kept DOUBLE FLOAT 1e-300
exact kept 'VARCHAR(20)' 'CHAR(10)' '"abc  "'
exact kept 'VARBINARY(20)' 'BINARY(10)' 0x616200
exact moved 'DECIMAL(10,4)' 'DECIMAL(10,2)' 1.2500 1,1.25
exact moved 'DECIMAL(10,2)' 'DECIMAL(6,4)' -1.25 1,-1.2500
exact moved 'DATETIME(6)' 'DATETIME(0)' '2020-12-31 23:59:59' '1,2020-12-31/23:59:59'
exact moved 'TIME(3)' 'TIME(1)' -10:00:00.100 1,-10:00:00.1
exact moved DOUBLE FLOAT 1.25 1,1.25
exact moved DOUBLE FLOAT 0.10000000149011612 1,0.1 # Exactly that float.
exact kept DOUBLE FLOAT 0.1
exact kept DOUBLE FLOAT 3.4028235677973366e38
exact moved DOUBLE FLOAT 3.4028234663852886e38 1,3.4028235e+38
exact moved FLOAT DOUBLE 0.1 1,0.10000000149011612
exact moved FLOAT DOUBLE -3.3 1,-3.299999952316284
exact moved 'VARCHAR(20)' 'CHAR(10)' '"abc"' '1,"abc"'
exact moved BIGINT TINYINT -128 1,-128

# The greatest number may be of a row that was moved before the program was killed.
for table in counted behind; do
    want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE $table (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, n INT)"
done
(seq 20000; echo 1000000) | sed 's/.*/&,1/' >"$BOX/counted.csv"
want 0 "$BIN/ndb_import" --state-dir="$BOX" test "$BOX/counted.csv"
"$BIN/ndb_move_data" --ndb-connectstring="$CS" -d test counted behind >"$BOX/out" 2>&1 &
mover=$!
PIDS+=("$mover")
until [ "$(rows_of behind)" -gt 0 ]; do kill -0 "$mover" 2>/dev/null || break; done
kill -STOP "$mover"
[ "$(rows_of counted)" -gt 0 ] || fail "all rows were moved before it could be killed"
kill -9 "$mover"
wait "$mover" 2>/dev/null
want 0 "$BIN/ndb_desc" -d test -a behind
want_text out '^AutoIncrement: 1000001$'
want 0 "$BIN/ndb_move_data" -d test counted behind
want 0 "$BIN/ndb_desc" -d test -a behind
want_text out '^AutoIncrement: 1000001$'
has_rows behind 20001
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE narrow (a TINYINT NOT NULL PRIMARY KEY, b VARBINARY(2), c BIGINT)"
want 1 "$BIN/ndb_move_data" -d test -L --staging-tries=3,1,2 three narrow
want_text err '^three \([13]\): column b: 4216: '
has_rows three 3 # The others of the batch have not gone either.
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE number (a INT NOT NULL PRIMARY KEY, b INT, c BIGINT)"
want 1 "$BIN/ndb_move_data" -d test -A -L three number
want_text err '^Column b: Varbinary.* to Int, which is no such conversion'
want 1 "$BIN/ndb_move_data" -d test three three
want 2 "$BIN/ndb_move_data" -d test three
want 2 "$BIN/ndb_move_data" -d test --staging-tries=x three narrow

stop_cluster
