#!/bin/bash
# one_node.sh -- one data node: all tools, their output, their errors and exit codes.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 1 1

load_and_compare 20000

say "ndb_show_tables, ndb_desc"
want 0 "$BIN/ndb_show_tables"
want_text out '^id +type +state +logging +database +schema +name'
want_text out '^[0-9]+ +UserTable +Online +Yes +test +def +awkward$'
want 0 "$BIN/ndb_show_tables" -p
want_text out "^[0-9]+	'UserTable'	'Online'	'Yes'	'test'	'def'	'awkward'$"
want 0 "$BIN/ndb_show_tables" --format=json -d test awkward
want_text out '"name":[[:space:]]*"awkward"'
want 0 "$BIN/ndb_desc" -d test -p -n awkward
want_text out '^-- awkward --$'
want_text out '^Number of attributes: 10$'
want_text out '^id Unsigned PRIMARY KEY DISTRIBUTION KEY AT=FIXED ST=MEMORY$'
want_text out '^kind Varchar\(.*\) PRIMARY KEY'
want_text out '^price Decimal\(10,2\) NULL'
want_text out '^small Smallint NOT NULL'
want_text out '^PRIMARY KEY\(id, kind\) - UniqueHashIndex$'
rows=$(awk -F'\t' '/^-- Per partition/ { on = 1 } on && $1 ~ /^[0-9]+$/ { sum += $2 } END { print sum }' "$BOX/out")
[ "$rows" = 20000 ] || fail "ndb_desc -p counts $rows rows"
want 0 "$BIN/ndb_desc" -d test --format=json awkward
want_text out '"primary_key":[[:space:]]*true'
want 1 "$BIN/ndb_desc" -d test nothing
want_text out '^No such object: nothing$'

say "ndb_select_all"
want 0 "$BIN/ndb_select_all" -d test --limit=3 awkward
want_text out '^id	kind	name	note	price	day	big	small	code	bits$'
want_text out '^3 rows returned$'
[ "$(wc -l <"$BOX/out")" -ge 5 ] || fail "header, 3 rows and the total expected"
want 0 "$BIN/ndb_select_all" -d test -h 0 -D '|' awkward
want_text out '^7\|"empty"\|""\|"note 7"\|\[NULL\]\|1977-08-08\|900719925477\|-32761\|"c7"\|0x7$'
want_text out '^20000 rows returned$'
want 0 "$BIN/ndb_select_all" -d test -l 2 -p 1 awkward
want_text out '^20000 rows returned$'
want 0 "$BIN/ndb_select_count" --format=json test.awkward
want_text out '"rows":[[:space:]]*20000'

say "rejected rows"
awkward_rows 5 30001 >"$BOX/more.csv"
{
    echo '30010,"plain","x"'
    echo 'abc,"plain","x",\N,1.5,2000-01-01,1,1,"a",0x1'
    echo '1,"comma","again",\N,1.5,2000-01-01,1,1,"a",0x1'
    echo '30011,"plain",\N,\N,1.5,2000-01-01,1,1,"a",0x1'
    echo '30012,"plain","x",\N,1.5,2000-01-01,1,99999,"a",0x1'
    echo '30013,"plain","x",\N,1.5,2000-01-01,1,1,"too long",0x1'
    echo '30014,"plain","good",\N,1.5,2000-01-01,1,1,"a",0x1'
} >>"$BOX/more.csv"
want 1 "$BIN/ndb_import" --state-dir="$BOX" --table=awkward --rejects-file="$BOX/first.rej" test "$BOX/more.csv"
want_text out 'awkward: [0-9]+ rows imported, [1-9][0-9]* rejected'
want 0 "$BIN/ndb_import" --rejects=1000000 --table=awkward --ignore-lines=8 --rejects-file="$BOX/more.rej" test "$BOX/more.csv"
want 0 "$BIN/ndb_select_count" -d test awkward
want_text out '^20006 records'
want 0 "$BIN/ndb_import" --rejects=1000000 --table=awkward --rejects-file="$BOX/more.rej" test "$BOX/more.csv"
want_text out 'awkward: 0 rows imported'
cp "$BOX/more.rej" "$BOX/out"
want_text out '	4313	3 fields instead of 10	30010,'
want_text out '	630	.*	1,"comma","again"'
want_text out '	4314	.*column small.*	30012,'
want_text out '	4216	.*column code.*	30013,'
want 2 "$BIN/ndb_import" --input-type=xml test "$BOX/more.csv"
want 1 "$BIN/ndb_import" test "$BOX/no-such-file.csv"
want 1 "$BIN/ndb_import" --table=awkward --columns=id,nix test "$BOX/more.csv"
want_text err 'No column nix'

say "other formats"
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE t (a INT NOT NULL PRIMARY KEY, b VARCHAR(50), c VARCHAR(50) DEFAULT 'dflt')"
printf '1\tx\\ty\t\\N\n2\t\\N\tz\n3\t\tq\n' >"$BOX/t.tsv"
want 0 "$BIN/ndb_import" test "$BOX/t.tsv"
printf 'id;txt;skip\r\n4;"a;""b""";x\r\n5;\\N;y\r\n' >"$BOX/semi.csv"
want 0 "$BIN/ndb_import" --fields-terminated-by=';' --ignore-lines=1 --table=t --columns=a,b,@skip test "$BOX/semi.csv"
want 0 "$BIN/ndb_import" --csvopt=cq --fields-escaped-by= --columns=a,b --table=t test - < <(printf '6,six\n7,NULL\n')
want 0 "$BIN/ndb_import" --input-type=csv --max-rows=1 --table=t --columns=a,b test <(printf '8,eight\n9,nine\n')
want 0 "$BIN/ndb_select_all" -d test --csv t
cat >"$BOX/expected" <<END
1,"x	y",\\N
2,\\N,"z"
3,"","q"
4,"a;""b""","dflt"
5,\\N,"dflt"
6,"six","dflt"
7,\\N,"dflt"
8,"eight","dflt"
END
sort -n "$BOX/out" | diff "$BOX/expected" - || fail "rows of other formats"

say "ndb_create_table"
want 1 "$BIN/ndb_create_table" -d test -e "CREATE TABLE t (a INT PRIMARY KEY)"
want_text err '^721: '
want 0 "$BIN/ndb_create_table" -d test -e "CREATE TABLE IF NOT EXISTS t (a INT PRIMARY KEY)"
printf -- '-- two tables\nCREATE TABLE f1 (a INT PRIMARY KEY);\nCREATE TABLE f2 (a INT PRIMARY KEY,\n  b NONSENSE);\n' >"$BOX/two.sql"
want 1 "$BIN/ndb_create_table" -d test "$BOX/two.sql"
want_text err "^4247: .*: line 4, column 5: at 'NONSENSE': expected a column type$"
want_text err '^  b NONSENSE\);$'
want_text err '^    \^$'
[ "$(grep -c 'column 5' "$BOX/err")" = 1 ] || fail "the place is told twice: $(cat "$BOX/err")"
want 0 "$BIN/ndb_show_tables" -d test f1
want_text out ' f1$'
want 2 "$BIN/ndb_create_table"
want 1 "$BIN/ndb_create_table" "$BOX/no-such-file.sql"

say "wrong arguments and wrong addresses"
for tool in ndb_create_table ndb_desc ndb_drop_table ndb_import ndb_select_all ndb_select_count ndb_show_tables ndb_waiter; do
    want 2 "$BIN/$tool" --no-such-option
    want 0 "$BIN/$tool" --help
    want_text out 'ndb-connectstring'
    want 0 "$BIN/$tool" --version
    want_text out '^ndb_'
done
want 2 "$BIN/ndb_desc"
want 2 "$BIN/ndb_select_all"
want 2 "$BIN/ndb_select_all" --limit=x t
want 2 "$BIN/ndb_drop_table"
want 2 "$BIN/ndb_import" test
want 2 "$BIN/ndb_waiter" --wait-nodes=1 --nowait-nodes=1
want 1 "$BIN/ndb_drop_table" -d test nothing
want_text err '^723: '
want 1 "$BIN/ndb_select_all" -d test nothing
want_text err '723: '
dead=127.0.0.1:$(free_port)
want 1 "$BIN/ndb_show_tables" -c "$dead" --connect-retries=0
want_text err '^Unable to connect to management server'
want 3 "$BIN/ndb_waiter" -c "$dead" --connect-retries=0
want 0 "$BIN/ndb_waiter" --format=json
want_text out '"reached":[[:space:]]*true'
want 1 "$BIN/ndb_waiter" --no-contact --timeout=1
want 0 "$BIN/ndb_perror" 630
want_text out 'exists already'
want_text out '^  Cause: .*primary key'
want_text out '^  Cure: .*NDB_WRITE'
want 0 "$BIN/ndb_perror" --silent 630 20003
[ "$(wc -l <"$BOX/out")" -eq 2 ] || fail "a silent ndb_perror says more than the text"
want 0 "$BIN/ndb_perror" 20003
want_text out '^  No part of this version raises it'
for code in 283 1226; do # Clients of a table that is truncated get them, too.
    want 0 "$BIN/ndb_perror" "$code"
    want_text out 'Table is being dropped, or truncated; .*open it again'
done

drop_awkward
want 0 "$BIN/ndb_drop_table" -d test t f1
run_example

say "one example for each style"
for style in blocking async batch scan scan_async event_loop durable; do
    want 0 "$BIN/example_$style" "$CS"
    cat "$BOX/out"
done
want 1 "$BIN/example_packages" 127.0.0.1:x
stop_cluster
