#!/bin/bash
# wrong_inputs.sh -- what people get wrong, in all programs: the exit code, and a message that says what, where and the cure.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

ROWS=0
# wrong CODE PATTERN PROGRAM ARGUMENT...: the exit code is CODE (or one of A|B), and the extended regular expression must match all that it prints, as one line. Where
# the arguments are wrong (2), there must be the way to the help, too.
wrong() {
    local code=$1 pattern=$2 program=$3 got text
    shift 3
    timeout -k 5 60 "$BIN/$program" "$@" </dev/null >"$BOX/both" 2>&1
    got=$?
    text=$(tr '\n' ' ' <"$BOX/both")
    ROWS=$((ROWS + 1))
    [[ $got =~ ^($code)$ ]] || fail "exit code $got instead of $code: $program $*: $text"
    grep -Eq -- "$pattern" <<<"$text" || fail "no '$pattern': $program $*: $text"
    [ "$code" != 2 ] || [ "$program" = ndb_mgm ] || grep -Eq "Try [\`']$program --help'" <<<"$text" || fail "no way to the help: $program $*: $text"
}

PROGRAMS=(ndb_alter_table ndb_config ndb_create_index ndb_create_table ndb_delete_all ndb_desc ndb_drop_index ndb_drop_table
    ndb_import ndb_lcp_reader ndb_memcached ndb_memcached_config ndb_mgm ndb_mgmd ndb_move_data ndb_perror ndb_print_schema_file
    ndb_print_sys_file ndb_redo_log_reader ndb_select_all ndb_select_count ndb_show_tables ndb_top ndb_waiter ndbmtd)

echo x >"$BOX/junk"
: >"$BOX/empty"
head -c 5000 /dev/zero >"$BOX/zeros"
printf '[ndbd default]\nNoOfReplicas=2\n' >"$BOX/half.ini"
printf '1,2,abc\nx,3,d\n' >"$BOX/t.csv"
dead=127.0.0.1:$(free_port)
export NDB_CONNECTSTRING=$dead

say "options that there are not, in all programs"
for program in "${PROGRAMS[@]}"; do
    wrong 2 "$program: .* option '?--foo'?" "$program" --foo
    wrong 2 "$program: .* option .*'?9'?" "$program" -9
done

say "addresses, in all programs that have one"
for program in ndb_config ndb_desc ndb_import ndb_memcached_config ndb_select_all ndb_show_tables ndb_top ndb_waiter; do
    case $program in
    ndb_import) set -- test t.csv ;;
    ndb_memcached_config) set -- show ;;
    ndb_desc | ndb_select_all) set -- t ;;
    *) set -- ;;
    esac
    wrong 2 "$program: --ndb-connectstring: .*\"host:1186:x\" is neither host\[:port\] nor an IPv6 address" "$program" -c host:1186:x "$@"
    wrong 2 "$program: option '--ndb-connectstring' requires an argument" "$program" "$@" --ndb-connectstring
done
wrong 2 '"host:": port "" is wrong \(allowed range 1\.\.65535\)' ndb_desc -c host: t
wrong 2 '"b:99999": port "99999" is wrong \(allowed range 1\.\.65535\)' ndb_desc -c a,b:99999 t
wrong 2 '":1186x": the host name is missing' ndb_waiter -c :1186x
wrong 2 'nodeid=0 is wrong \(allowed range 1\.\.255\)' ndb_waiter -c nodeid=0,host
wrong 2 '"hots=a" is unknown \(allowed: nodeid=, bind-address=, host\)' ndb_waiter -c hots=a
wrong 2 'ndb_memcached: -e connectstring: .*"host:1:x" is neither' ndb_memcached -e connectstring=host:1:x
wrong 2 '"host:1186:x" is neither' ndb_mgm -c host:1186:x -e SHOW
wrong 2 '"host:1186:x" is neither' ndbmtd -c host:1186:x
NDB_CONNECTSTRING=host:x wrong 2 'NDB_CONNECTSTRING: .*"host:x": port "x" is wrong' ndb_show_tables
NDB_CONNECTSTRING=host:x wrong 2 'NDB_CONNECTSTRING: .*"host:x": port "x" is wrong' ndb_show_tables -c ''
NDB_CONNECTSTRING=host:x wrong 2 'NDB_CONNECTSTRING: .*"host:x": port "x" is wrong' ndbmtd
NDB_CONNECTSTRING=host:x wrong 2 'NDB_CONNECTSTRING: .*"host:x": port "x" is wrong' ndb_mgm -e SHOW
NDB_CONNECTSTRING=host:x wrong 2 'NDB_CONNECTSTRING: .*"host:x": port "x" is wrong' ndb_memcached
wrong 1 "127\.0\.0\.1 port ${dead#*:}: Connection refused.*Start ndb_mgmd there .*, or name another address with --ndb-connectstring" ndb_desc --connect-retries=0 t
wrong 3 "1011: 127\.0\.0\.1 port ${dead#*:}: Connection refused Start ndb_mgmd there" ndb_waiter --connect-retries=0
wrong 255 "1011: 127\.0\.0\.1 port ${dead#*:}: Connection refused Start ndb_mgmd there" ndb_config --connect-retries=0
wrong 1 "management server: 127\.0\.0\.1 port ${dead#*:}: Connection refused" ndbmtd --connect-retries=0
wrong 3 '1011: no\.such\.host\.invalid: .* Start ndb_mgmd there' ndb_waiter -c no.such.host.invalid --connect-retries=0

say "options of other such systems: each of service/foreign_options.def is passed over with a word, or refused with the reason"
OPTIONS=0
while IFS='|' read -r program names takes verdict; do
    program=${program:-ndb_show_tables}
    for name in ${names//,/ }; do
        [ "$takes" = WITHOUT ] || name=$name=strange
        if [ "$verdict" = REFUSED ]; then
            wrong 2 "^$program: ${name%=*}: [A-Za-z<-]" "$program" "$name" --help
        elif [ "$name" != --no-defaults ]; then
            wrong 0 "^$program: warning: ${name%=*} has no effect: .*[Uu]sage: " "$program" "$name" --help
        fi
    done
    OPTIONS=$((OPTIONS + 1))
done < <(sed -nE 's/^FOREIGN\("([^"]*)", "([^"]*)", ([A-Z]+), .*, (PASSED|REFUSED), ".*"\)$/\1|\2|\3|\4/p' "$HERE/../../service/foreign_options.def")
[ "$OPTIONS" -eq "$(grep -c '^FOREIGN' "$HERE/../../service/foreign_options.def")" ] || fail "$OPTIONS options have been read"
wrong 0 '^Usage: ndb_mgmd' ndb_mgmd --config-cache=TRUE --help
wrong 0 '^ndb_mgm: warning: -v has no effect.*Usage: ndb_mgm' ndb_mgm -v 2 --help
wrong 0 '^Usage: ndb_config' ndb_config --no-defaults --help
for program in ndb_mgm ndb_mgmd ndbmtd ndb_import ndb_desc; do wrong 0 '(^| )(ndb-)?[0-9]+\.[0-9]+\.[0-9]+' "$program" -V; done
wrong 0 '^Usage: ndb_mgmd' ndb_mgmd --config-cache --config-cache=1 --help
wrong 2 "ndb_config: --no-defaults: it takes no value" ndb_config --no-defaults=3
wrong 2 "ndb_config: --defaults-file: it needs a value" ndb_config --defaults-file
wrong 2 "ndb_mgm: --verbose: it needs a value" ndb_mgm --verbose -e SHOW

say "values of options"
wrong 2 "ndbmtd: --ndb-nodeid must be a number from 0 to 144, not 'none'" ndbmtd --ndb-nodeid=none
wrong 2 "ndbmtd: --ndb-nodeid must be a number from 0 to 144, not '-18446744073709551615'" ndbmtd --ndb-nodeid=-18446744073709551615
wrong 2 "ndbmtd: --connect-retries must be a number from 0 to [0-9]+, or -1 \(for ever\), not 'often'" ndbmtd --connect-retries=often
wrong 2 'ndb_mgmd: --ndb-nodeid=0 is wrong \(allowed range 1\.\.255\)' ndb_mgmd --ndb-nodeid=0
wrong 2 'ndb_mgmd: --cluster-id=x is wrong \(allowed range 1\.\.' ndb_mgmd --cluster-id=x
wrong 2 "ndb_mgmd: option '--daemon' doesn't allow an argument" ndb_mgmd --daemon=3
wrong 2 "ndb_mgmd: option requires an argument -- 'f'" ndb_mgmd -f
wrong 2 "ndb_config: --type must be ndbd, mysqld, api, ndb_mgmd or tcp, not 'x'" ndb_config --type=x
wrong 2 "ndb_config: --nodeid must be a number from 1 to 255, not '0'" ndb_config --nodeid=0
wrong 2 'ndb_config: --xml needs --configinfo' ndb_config --xml
wrong 2 'ndb_config: only one of --nodes, --connections and --system' ndb_config --nodes --connections
wrong 2 "ndb_redo_log_reader: --format must be text or json, not 'x'" ndb_redo_log_reader --format=x f
wrong 2 'ndb_import: --columns names no column' ndb_import --columns= test f.csv
wrong 2 'ndb_import: --table names no table' ndb_import --table= test f.csv
wrong 2 'ndb_import: --rejects-file names no file' ndb_import --rejects-file= test f.csv
wrong 2 'ndb_import: the name of the database is empty' ndb_import '' f.csv
wrong 2 "ndb_perror: --format must be text or json, not 'x'" ndb_perror --format=x 1
wrong 2 'ndb_memcached: wrong value for -p: x \(allowed: 0 to 65535\)' ndb_memcached -p x
wrong 2 'ndb_memcached: wrong value for -t: 999 \(allowed: 1 to 64\)' ndb_memcached -t 999
wrong 2 'ndb_memcached: wrong value for -B: foo \(allowed: ascii, binary, auto\)' ndb_memcached -B foo
wrong 2 'ndb_memcached: -e knows no foo' ndb_memcached -e foo=bar
wrong 2 'ndb_memcached: -p 0 without -U or -s: nobody could connect' ndb_memcached -p 0
wrong 2 "ndb_memcached_config: --connect-retries \(-1: for ever\) must be a number from 0 to 100000, not 'x'" ndb_memcached_config --connect-retries=x show
wrong 2 'ndb_memcached_config: add-container needs --table and --key' ndb_memcached_config add-container x
wrong 2 "ndb_desc: --database must have 1 to 64 characters without / and \., not 'a/b'" ndb_desc --database=a/b t
wrong 2 "ndb_desc: --format must be text or json, not 'xml'" ndb_desc --format=xml t
wrong 2 "ndb_desc: --ndb-nodeid must be a number from 0 to 255, not '256'" ndb_desc --ndb-nodeid=256 t
wrong 2 "ndb_select_all: --lock must be a number from 0 to 2, not '3'" ndb_select_all --lock=3 t
wrong 2 'ndb_select_all: --order needs an INDEX' ndb_select_all -o t
wrong 2 'ndb_import: a/x\.csv and b/x\.tsv: the rejected rows and the state of both .* --state-dir' ndb_import test a/x.csv y.csv b/x.tsv
wrong 2 'ndb_select_all: --csv is for whole rows: without --nodata, --rowid and --gci' ndb_select_all --csv --rowid t
wrong 2 "ndb_select_count: --parallelism must be a number from 0 to 10000, not 'x'" ndb_select_count --parallelism=x t
wrong 2 "ndb_move_data: --staging-tries must be like 10,1000,60000, not 'x'" ndb_move_data --staging-tries=x a b
wrong 2 "ndb_import: --fields-terminated-by must have 1 to 8 characters, not ''" ndb_import --fields-terminated-by= test junk
wrong 2 "ndb_import: --csvopt knows the letters c, d, n, q and r, not 'z'" ndb_import --csvopt=z test junk
wrong 2 "ndb_show_tables: --type must be a number from 1 to 99, not 'x'" ndb_show_tables --type=x
wrong 2 "ndb_top: --count must be a number from 0 to [0-9]+, not 'x'" ndb_top --count=x
wrong 2 "ndb_waiter: --timeout must be a number from 0 to 1000000, not '-1'" ndb_waiter --timeout=-1
wrong 2 "ndb_waiter: --wait-nodes must be a number from 1 to 255, not 'x'" ndb_waiter --wait-nodes=1,x
wrong 2 'ndb_waiter: --wait-nodes and --nowait-nodes exclude each other' ndb_waiter --wait-nodes=1 --nowait-nodes=2

say "arguments that are missing, or too many"
for program in ndb_delete_all ndb_desc ndb_drop_table ndb_select_count; do
    wrong 2 "$program: give at least one table" "$program"
done
wrong 2 'ndb_select_all: give a table' ndb_select_all
wrong 2 'ndb_drop_index: give a table and an index, or several such pairs' ndb_drop_index t
wrong 2 'ndb_move_data: give a source and a target table' ndb_move_data a
wrong 2 'ndb_import: give a database and a file' ndb_import test
wrong 2 'ndb_create_table: give either --execute or a file' ndb_create_table
wrong 2 'ndb_create_table: give either --execute or a file' ndb_create_table -e x file
wrong 2 'ndb_alter_table: only one file can be given' ndb_alter_table a b
wrong 2 'ndb_perror: give at least one error code' ndb_perror
wrong 2 'ndb_memcached_config: say what to do' ndb_memcached_config
wrong 2 "ndb_memcached_config: there is no command 'foo'" ndb_memcached_config foo
wrong 2 "ndb_top: takes no argument: 'x'" ndb_top x
wrong 2 "ndb_waiter: takes no argument: 'x'" ndb_waiter x
wrong 2 "ndb_config: takes no argument: 'x'" ndb_config x
wrong 2 "ndb_mgmd: takes no argument: 'x'" ndb_mgmd x
wrong 2 "ndb_memcached: takes no argument: 'x'" ndb_memcached x
wrong 2 'ndb_mgm: --execute is given twice' ndb_mgm -e 'PROMPT a' --execute='PROMPT b'
wrong 2 'port 1186 is of which of these servers: a,b\? Write host:port for each' ndb_mgm a,b 1186 -e SHOW
wrong '1|255' "127\.0\.0\.1 port ${dead#*:}: Connection refused" ndb_mgm --try-reconnect=0 127.0.0.1 "${dead#*:}" -e SHOW
wrong '1|255' "::1 port ${dead#*:}: " ndb_mgm --try-reconnect=0 ::1 "${dead#*:}" -e SHOW
wrong 2 "ndb_mgm: .* argument.* '?c'?" ndb_mgm a 1 c
wrong 2 "ndbmtd: 'b' is one argument too much: the connect string is 'a'" ndbmtd a b

say "files"
wrong 1 'there is no file nofile\.ini; use -f, or --config-dir' ndb_mgmd -f nofile.ini --nodaemon
wrong 1 'the file cannot be read: Is a directory' ndb_mgmd -f . --nodaemon
printf '[ndbd default]\nNoOfReplicas=1\n[ndb_mgmd]\nNodeId=49\nHostName=127.0.0.1\nLogDestination=FILE:filename=/no/where.log\n[ndbd]\nNodeId=1\nHostName=127.0.0.1\n[api]\n' >"$BOX/nolog.ini"
wrong 1 'the cluster log /no/where\.log cannot be opened: No such file or directory' ndb_mgmd -f nolog.ini --nodaemon --config-dir="$BOX"
for log in "$BOX/nolog.ini" "$BOX/ndb_49_config.bin" "$BOX/./ndb_49_new_cluster" ndb_49.pid; do # ndb_49_config.bin.1 is its first kept file.
    sed "/^DataDir=/d; s#^LogDestination=.*#DataDir=$BOX\nLogDestination=FILE:filename=$log#" "$BOX/nolog.ini" >"$BOX/own.ini"
    cp "$BOX/own.ini" "$BOX/nolog.ini"
    wrong 1 "the cluster log .*\\.?[/_0-9a-z]+ is a file that the server itself needs: change LogDestination" ndb_mgmd -f nolog.ini --nodaemon --config-dir="$BOX"
    cmp -s "$BOX/own.ini" "$BOX/nolog.ini" || { echo "FAIL: the log is in config.ini"; FAILED=1; }
done
wrong 1 'junk:1: .*neither \[section\] nor name=value' ndb_mgmd -f junk --nodaemon --config-dir="$BOX"
wrong 1 'half\.ini: \[ndbd\]: the section is missing: at least one is needed' ndb_mgmd -f half.ini --nodaemon --config-dir="$BOX"
wrong 255 'nofile: the file cannot be opened: No such file or directory' ndb_config --config-file=nofile
wrong 255 'junk: its size is impossible' ndb_config --config-binary-file=junk
for program in ndb_lcp_reader ndb_redo_log_reader ndb_print_sys_file ndb_print_schema_file; do
    wrong 1 '^nofile: No such file or directory' "$program" nofile
    wrong 1 '^junk.* (ends too early|no file of a redo log|too short for a header)' "$program" junk
done
wrong 1 '^zeros: byte 0: ' ndb_lcp_reader zeros
wrong 1 '^zeros: byte 0: .*does not begin as a file of a data node' ndb_print_sys_file zeros
wrong 1 'ndb_create_table: nofile\.sql: No such file or directory' ndb_create_table nofile.sql
wrong 1 'ndb_create_index: zeros: contains a NUL byte' ndb_create_index zeros
wrong 1 'nofile: No such file or directory' ndb_memcached -Y nofile -p "$(free_port)"
wrong 1 'Illegal ndb error code: 99999' ndb_perror 99999

start_cluster 1 1
say "tables, indexes and columns that are not there, or are there already"
want 0 "$BIN/ndb_create_table" -e "CREATE TABLE t (a INT PRIMARY KEY, b INT, c VARCHAR(5), UNIQUE u (b), INDEX i (c))"
for program in ndb_desc ndb_select_all ndb_select_count ndb_delete_all; do
    wrong 1 'test/nothing: 723: No table with this name; check database and name: test/def/nothing' "$program" nothing
done
for count in 5 6 7 8 9 10; do # libuv ends a process that has too few descriptors for its first loop.
    want 1 bash -c "ulimit -n $count; exec '$BIN/ndb_show_tables'"
    want_text err '[Tt]oo many open files'
    want 1 bash -c "ulimit -n $count; exec '$BIN/ndb_mgmd' -f '$BOX/config.ini' --config-dir='$BOX' --nodaemon"
    want_text err '[Tt]oo many open files'
done
wrong 1 '723: No table with this name; check database and name: nothing' ndb_show_tables nothing
wrong 1 '723: No table with this name; check database and name: nowhere/nothing' ndb_show_tables -d nowhere nothing
wrong 1 'Dropping table nothing\.\.\. 723: No table with this name; check .*: test/def/nothing' ndb_drop_table nothing
wrong 1 'Dropping index t/nothing\.\.\. 4243: No such index; check the name: table test/t' ndb_drop_index t nothing
wrong 1 '723: No table with this name; check .*: test/def/nothing' ndb_drop_index nothing i
wrong 1 't has no ordered index u; ndb_desc lists its indexes' ndb_select_all t u
wrong 1 't and t are the same table' ndb_move_data t t
wrong 1 'test/nothing: 723: ' ndb_move_data t nothing
wrong 1 '--columns: No column zz in the table; ndb_desc lists them' ndb_import --csvopt=c --columns=a,zz test t.csv
wrong 1 '^ndb_import: nofile\.csv: No such file or directory $' ndb_import test nofile.csv # Not: no such table.
wrong 1 "t\.csv: row 2 rejected: 4313: field 1, column a: Text or bytes are not a value of the column's type; correct the value.*Rejected rows are in .*/t\.rej" ndb_import --csvopt=c --rejects-file="$BOX/t.rej" test t.csv

say "statements: the text, the place and the caret"
wrong 1 "4247: .*: line 1, column 19: at 'FOO': expected a column type CREATE TABLE x \(a FOO PRIMARY KEY\)                   \^ $" ndb_create_table -e 'CREATE TABLE x (a FOO PRIMARY KEY)'
wrong 1 '4300: Table has no primary key; declare one: line 1, column 14: .*add PRIMARY KEY \(column, ' ndb_create_table -e 'CREATE TABLE x (a INT)'
wrong 1 "720: .*give each column its own name: line 1, column 36: at 'a'" ndb_create_table -e 'CREATE TABLE x (a INT PRIMARY KEY, a INT)'
wrong 1 "4301: .*line 1, column 38: at 'BLOB' CREATE" ndb_create_table -e 'CREATE TABLE x (a INT PRIMARY KEY, b BLOB)'
wrong 1 "721: Object with this name exists already; drop it or choose another name: line 1, column 14: at 't': test/def/t" ndb_create_table -e 'CREATE TABLE t (a INT PRIMARY KEY)'
wrong 1 "4258: Column occurs twice in the index; name it once: line 1, column 27: at 'a': table t, index i, column a" ndb_create_index -e 'CREATE INDEX i ON t (a,   a)'
wrong 1 "4247: .*line 1, column 1: at 'DROP': expected CREATE" ndb_create_table -e 'DROP TABLE t'
wrong 1 'ndb_create_table: no statement given' ndb_create_table -e ' '
wrong 1 '4244: Index or table exists already; choose another name: line 1, column 14: at .i.: table t ' ndb_create_index -e 'CREATE INDEX i ON t (c)'
wrong 1 '4004: No such column in this table; check the name: line 1, column 22: at .zz.: table t, index j, column zz CREATE INDEX j ON t \(zz\) {22}\^' ndb_create_index -e 'CREATE INDEX j ON t (zz)'
wrong 1 "line 1, column 16: at 't': expected ON CREATE INDEX j t \(a\)                \^" ndb_create_index -e 'CREATE INDEX j t (a)'
wrong 1 "4003: .*line 1, column 15: at 'DROP': expected ADD or RENAME" ndb_alter_table -e 'ALTER TABLE t DROP COLUMN b'
wrong 1 '741: This change is not possible online; create a new table and copy the rows: line 1, column 19: at .d.: table t ' ndb_alter_table -e 'ALTER TABLE t ADD d INT NOT NULL'
wrong 1 '723: No table with this name; check database and name: line 1, column 16: at .nothing.: test/def/nothing' ndb_alter_table -e 'TRUNCATE TABLE nothing'
wrong 1 "--where: 4004: .*line 1, column 1: at 'zz' zz = 1 \^" ndb_select_all --where='zz = 1' t
wrong 1 '--where: 4247: .*line 1, column 4: at the end: expected a value' ndb_select_count --where='a =' t
wrong 1 "--where: 4313: Text or bytes .*; correct the value: line 1, column 5: at ''x''" ndb_select_count --where="a = 'x'" t

say "programs that look at files, and at numbers"
for program in ndb_lcp_reader ndb_redo_log_reader ndb_print_sys_file ndb_print_schema_file; do
    wrong 2 "$program: name a file, or several" "$program"
    wrong 1 "$BOX: .*Is a directory" "$program" "$BOX"
    want 0 "$BIN/$program" --version
    want_text out "^$program [0-9]+\.[0-9]+\.[0-9]+$"
done
wrong 2 'Illegal ndb error code: abc' ndb_perror abc
wrong 1 'Illegal ndb error code: 999999' ndb_perror 999999
want 0 "$BIN/ndb_perror" 2002
want_text out '^NDB management code 2002: Stop failed: '
want 0 "$BIN/ndb_perror" 4011 1101 2001
want_text out '^NDB error code 4011: '
for code in 4011 1101 2001; do want_text out "^NDB management code $code: "; done
printf '[ndb_mgmd]\n[ndbd default]\nNoOfReplicas=1\n[ndbd]\n[mysqld]\n' >full.ini
for words in 'ndb_perror 626' 'ndb_print_sys_file nothing.sys' 'ndb_mgmd -P -f full.ini' 'ndb_mgmd --usage'; do
    # shellcheck disable=SC2086
    "$BIN"/$words >/dev/full 2>"$BOX/err" && fail "$words: a full device is no error"
done
"$BIN/ndb_perror" 626 >/dev/full 2>"$BOX/err"
want_text err '^ndb_perror: output: No space left on device$'

say "output that does not arrive, streams that are closed"
for program in "$BIN"/ndb*; do
    program=${program##*/}
    for option in --help --version; do
        "$BIN/$program" $option >/dev/full 2>"$BOX/err" && fail "$program $option: a full device is no error"
        want_text err "^$program: output: No space left on device$"
        "$BIN/$program" $option >&- 2>"$BOX/err" && fail "$program $option: a closed output is no error"
        want_text err "^$program: output: Bad file descriptor$"
    done
done
for command in ndb_waiter 'ndb_top --text --count=1'; do
    # shellcheck disable=SC2086
    "$BIN"/$command >&- 2>"$BOX/err" && fail "$command: a closed output is no error"
    want_text err "^${command%% *}: output: Bad file descriptor$"
done
for command in 'ndbmtd --foreground' ndb_waiter; do # Nothing that they open gets these numbers.
    # shellcheck disable=SC2086
    NDB_CONNECTSTRING=127.0.0.1:1 "$BIN"/$command <&- >&- 2>&- &
    pid=$!
    PIDS+=("$pid")
    until [ -n "$(ours "$pid")" ] && [ -n "$(readlink "/proc/$pid/fd/2")" ]; do
        [ -d "/proc/$pid" ] || die "$command has ended"
        sleep 0.02
    done
    for stream in 0 1 2; do
        [ "$(readlink "/proc/$pid/fd/$stream")" = /dev/null ] || fail "$command has as $stream: $(readlink "/proc/$pid/fd/$stream")"
    done
    kill "$pid"
    wait "$pid"
done

say "nodes"
wrong 1 '1704: Node id belongs to another kind of node; check the configuration: node id 1 ' ndb_show_tables --ndb-nodeid=1
wrong 1 '5002: Node 7: Node is not a data node' ndb_top -n 7 --count=1
wrong 1 '5066: Node 200: There is no such node' ndb_top -n 200 --count=1
wrong 1 '5002: Node 49: Node is not a data node' ndb_top -n 49 --count=1
wrong 1 'ndb_waiter: --nowait-nodes: no data node is left to wait for' ndb_waiter --nowait-nodes=1
wrong 1 'ndb_waiter: --wait-nodes: there is no data node 7' ndb_waiter --wait-nodes=7
wrong 1 'Not all nodes are NOT_STARTED after 1 s: node 1 is STARTED' ndb_waiter --not-started --timeout=1
wrong 1 "No node id from the management server at 127\.0\.0\.1 port ${CS#*:}: node id 7 is not configured as \[ndbd\] \(which has: 1\)" ndbmtd --ndb-nodeid=7
wrong 255 '4012: node 7 is no data node that runs' ndb_config --config_from_node=7
wrong 255 "ndb_config: --query: no such parameter: 'Nope' \(--configinfo lists them\)" ndb_config -q HostName,Nope
wrong '1|255' 'Invalid command: FOO.*HELP' ndb_mgm -e FOO
wrong '1|255' 'FOO.*MemoryUsage' ndb_mgm -e 'ALL REPORT FOO'
wrong '1|255' 'Node 7: Node is not a data node' ndb_mgm -e '7 RESTART'
wrong 255 'Node 49: Node is not a data node' ndb_mgm -e '49 START'
wrong 255 'Node 49: Node is not a data node' ndb_mgm -e '49 DUMP 1000'
wrong 255 'Node 49: Node is not a data node' ndb_mgm -e '49 LOGLEVEL STARTUP=3'
wrong 255 'Rolling restart refused: there is no node 200' ndb_mgm -e 'ROLLING RESTART 200'
for order in 'ENTER SINGLE USER MODE 200' '200 LOGLEVEL STARTUP=3' '200 CLUSTERLOG STARTUP=3' '200 RESTART' '200 START' '200 DUMP 1000' '200 REPORT MEMORY'; do
    wrong 255 'Node 200: There is no such node' ndb_mgm -e "$order"
done
wrong 1 'table ndbmemcache\.meta \(ndb_memcached_config bootstrap makes it\): 723: ' ndb_memcached_config show
wrong 1 '--table must be DATABASE\.TABLE, not "nope"' ndb_memcached_config add-container x --table=nope --key=a
wrong 1 'table ndbmemcache\.meta \(ndb_memcached_config bootstrap makes it\): 723: ' ndb_memcached -p "$(free_port)"
stop_cluster

echo "$ROWS wrong inputs"
[ "$ROWS" -ge 195 ] || fail "only $ROWS wrong inputs were tried"
