#!/bin/bash
# memcached.sh -- the cluster as a memcached server: each role with both protocols, what the tables have then, races through two
# servers while a data node dies, other configurations while requests run, and the end of the cluster.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
source "$HERE/memcached_server.sh"

# A value of 4 MB is one transaction, which has to fit into the log's buffer.
DATA_MEMORY=200M
SMALL_LOG=$'NoOfFragmentLogFiles=4\nFragmentLogFileSize=16M\nRedoBuffer=32M'
start_cluster 2 2

say "without its tables, or a way to it, it says so"
want 2 "$BIN/ndb_memcached" -p 0 -e "connectstring=$CS"
want_text err '-p 0 without -U or -s'
want 1 "$BIN/ndb_memcached" -s "$BOX/nobody" -e "connectstring=$CS"
want_text err 'ndbmemcache'
want 0 "$BIN/ndb_memcached" --bootstrap -e "connectstring=$CS"
want 0 "$BIN/ndb_memcached" --bootstrap -e "connectstring=$CS" # Again, with what is there.
want 1 "$BIN/ndb_memcached" -s "$BOX/nobody" -e "connectstring=$CS;role=nobody"
want_text err 'nobody'

for role in mc-only default_role db-only ndb-caching; do
    say "role $role: values, numbers, CAS"
    start_server "$role"
    reply "$PORT" 'flush_all\r\n' 'OK\n'
    reply "$PORT" 'set a 5 0 3\r\nabc\r\nget a\r\nget b\r\n' 'STORED\nVALUE a 5 3\nabc\nEND\nEND\n'
    reply "$PORT" 'add a 0 0 1\r\nx\r\nreplace a 7 0 1\r\ny\r\nget a\r\nreplace b 0 0 1\r\nz\r\n' \
        'NOT_STORED\nSTORED\nVALUE a 7 1\ny\nEND\nNOT_STORED\n'
    reply "$PORT" 'append a 0 0 2\r\nzz\r\nprepend a 0 0 1\r\nx\r\nget a\r\nappend b 0 0 1\r\nx\r\n' 'STORED\nSTORED\nVALUE a 7 4\nxyzz\nEND\nNOT_STORED\n'
    reply "$PORT" 'set n 0 0 2\r\n10\r\nincr n 5\r\ndecr n 3\r\nget n\r\ndecr n 20\r\nincr n 18446744073709551615\r\nincr n 2\r\nincr none 1\r\n' \
        'STORED\n15\n12\nVALUE n 0 2\n12\nEND\n0\n18446744073709551615\n1\nNOT_FOUND\n'
    reply "$PORT" 'delete a\r\ndelete a\r\nget a\r\n' 'DELETED\nNOT_FOUND\nEND\n'
    reply "$PORT" 'set k 0 0 1\r\n1\r\ncas k 0 0 1 999999\r\n2\r\ncas none 0 0 1 1\r\n2\r\nget k\r\n' 'STORED\nEXISTS\nNOT_FOUND\nVALUE k 0 1\n1\nEND\n'
    reply "$PORT" 'mg k v f\r\nmd k\r\nmg k v\r\nmn\r\n' 'VA 1 f0\n1\nHD\nEN\nMN\n'
    reply "$PORT" 'nonsense\r\nset a 0 0 x\r\n' 'ERROR\nCLIENT_ERROR bad command line format\n'
    # The others do not empty their tables.
    if command -v memccapable >/dev/null && [[ $role == mc-only || $role == default_role ]]; then
        for protocol in ${MC_PROTOCOLS:--a -b}; do
            run memccapable -h 127.0.0.1 -p "$PORT" "$protocol" >"$BOX/capable" 2>&1
            bad=$(grep -c '\[FAIL\]' "$BOX/capable")
            say "memccapable $protocol: $(grep -c '\[pass\]' "$BOX/capable") pass, $bad fail"
            grep -q 'All tests passed' "$BOX/capable" || fail "$(grep FAIL "$BOX/capable")"
        done
    fi
    stop_server "$SERVER_PID"
done

say "what is stored is in the table"
start_server default_role
reply "$PORT" 'flush_all\r\nset table:1 3 0 5\r\nhello\r\n' 'OK\nSTORED\n'
want 0 "$BIN/ndb_select_all" -d ndbmemcache demo_table
want_text out 'table:1.*hello'
stop_server "$SERVER_PID"

say "other people's clients, with values up to 4 MB in parts, and in the cache only"
for role in large mc-only; do
    start_server "$role" -I 8m -m 256
    want 0 /usr/bin/python3 "$HERE/memcached_clients.py" "$PORT" 4194304
    want_text out '^clients: all is right$'
    stop_server "$SERVER_PID"
done

say "copies of rows: what a server has written it keeps, and never an older value"
start_server ndb-caching -t 4
one=$PORT one_pid=$SERVER_PID
start_server ndb-caching
two=$PORT two_pid=$SERVER_PID
start_server db-only
want 0 /usr/bin/python3 "$HERE/memcached_copies.py" "$one" "$PORT" "$two" "${MC_SECONDS:-5}"
want_text out '^copies: all is right'
cat "$BOX/out"
stop_server "$one_pid"
stop_server "$two_pid"
stop_server "$SERVER_PID"

say "two servers, eight clients, and a data node that dies"
start_server db-only
one=$PORT one_pid=$SERVER_PID
start_server db-only
two=$PORT two_pid=$SERVER_PID
for what in incr cas append; do
    key=race-$what
    [ "$what" != append ] || key=b:$key # In parts: it gets longer than a column.
    run "$BIN/mc_client" "$what" 6 "$key" "$one" "$two" >"$BOX/race.out" 2>&1 &
    racer=$!
    sleep 2
    kill -9 "${NODE_PIDS[2]}"
    unset "NODE_PIDS[2]"
    sleep 1
    start_node 2
    wait "$racer" || fail "$what: $(cat "$BOX/race.out")"
    say "$what: $(tail -n 1 "$BOX/race.out")"
    want 0 "$BIN/ndb_waiter" --timeout=100
done
stop_server "$one_pid"
stop_server "$two_pid"

say "another configuration while requests run"
start_server default_role
run "$BIN/mc_client" incr 6 race-reload "$PORT" >"$BOX/race.out" 2>&1 &
racer=$!
reply "$PORT" 'set x:1 0 0 6\r\nbefore\r\nstats reconf\r\n' 'STORED\nSTAT Running 1\nSTAT Loaded 1\nEND\n'
want 0 "$BIN/ndb_memcached_config" add-prefix default_role x: memcache-only
for _ in $(seq 300); do
    grep -q 'ONLINE RECONFIGURATION COMPLETE' "$BOX/server.$PORT" && break
    sleep 0.1
done
grep -q 'ONLINE RECONFIGURATION COMPLETE' "$BOX/server.$PORT" || fail "the new configuration was not taken"
for _ in $(seq 300); do
    talk "$PORT" 'get x:1\r\nquit\r\n'
    grep -q VALUE "$BOX/out" || break
    sleep 0.1
done
reply "$PORT" 'get x:1\r\nset x:1 0 0 5\r\nafter\r\nget x:1\r\n' 'END\nSTORED\nVALUE x:1 0 5\nafter\nEND\n'
want 0 "$BIN/ndb_select_all" -d ndbmemcache demo_table
want_text out 'x:1.*before'
grep -q 'x:1.*after' "$BOX/out" && fail "a key that is in the cache only went to the table"
wait "$racer" || fail "the configuration changed: $(cat "$BOX/race.out")"
stop_server "$SERVER_PID"

say "a table is truncated under it"
start_server default_role
reply "$PORT" 'set before 0 0 1\r\n1\r\nget before\r\n' 'STORED\nVALUE before 0 1\n1\nEND\n'
want 0 "$BIN/ndb_alter_table" -e 'TRUNCATE TABLE ndbmemcache.demo_table'
for _ in $(seq 300); do
    talk "$PORT" 'set after 0 0 1\r\n2\r\nquit\r\n'
    grep -q STORED "$BOX/out" && break
    sleep 0.1
done
reply "$PORT" 'get before\r\nget after\r\n' 'END\nVALUE after 0 1\n2\nEND\n'
stop_server "$SERVER_PID"

say "who may use it: the file of users, in both protocols; TLS"
printf 'anna:secret\nbert:very secret\n' >"$BOX/users"
start_server mc-only -Y "$BOX/users" -S
reply "$PORT" 'get a\r\nset auth 0 0 12\r\nanna wrong!!\r\nget a\r\nset auth 0 0 11\r\nanna secret\r\nget a\r\n' \
    'CLIENT_ERROR unauthenticated\nCLIENT_ERROR authentication failure\nCLIENT_ERROR unauthenticated\nSTORED\nEND\n'
reply "$PORT" 'set auth 0 0 16\r\nbert very secret\r\nset a 0 0 1\r\n1\r\nget a\r\n' 'STORED\nSTORED\nVALUE a 0 1\n1\nEND\n'
stop_server "$SERVER_PID"
want 0 openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout "$BOX/key.pem" -out "$BOX/chain.pem"
start_server mc-only -Z --ssl-chain-cert="$BOX/chain.pem" --ssl-key="$BOX/key.pem"
printf 'set a 0 0 1\r\n1\r\nget a\r\nquit\r\n' | run openssl s_client -quiet -connect "127.0.0.1:$PORT" -CAfile "$BOX/chain.pem" 2>/dev/null | tr -d '\r' >"$BOX/out"
want_text out '^VALUE a 0 1$'
stop_server "$SERVER_PID"
want 1 "$BIN/ndb_memcached" -s "$BOX/nobody" -Z --ssl-chain-cert="$BOX/key.pem" --ssl-key="$BOX/key.pem" -e "connectstring=$CS"
want_text err 'certificate chain'
want 1 "$BIN/ndb_memcached" -s "$BOX/nobody" -S -e "connectstring=$CS"
want_text err '^.*-S needs -Y'

say "ms tells the size of the whole, h whether it was read before; what is refused says why"
for role in mc-only db-only ndb-caching; do
    start_server "$role"
    reply "$PORT" 'set n 0 0 1\r\n1\r\nms a 5\r\nhello\r\nms a 2 MA s\r\n!!\r\nms a 1 MP s k\r\n>\r\nms b:new 3 MA s N0\r\nabc\r\nmd a\r\nmd b:new\r\n' \
        'STORED\nHD\nHD s7\nHD s8 ka\nHD s3\nHD\nHD\n'
    reply "$PORT" 'ms b:x 20000\r\n'"$(head -c 20000 /dev/zero | tr '\0' v)"'\r\nms b:x 3 MA s\r\nxyz\r\nms b:x 2 MP s\r\nab\r\nmg b:x s\r\nmd b:x\r\n' \
        'HD\nHD s20003\nHD s20005\nHD s20005\nHD\n'
    h=1
    [ "$role" != db-only ] || h=0 # A row does not know who has read it.
    reply "$PORT" "mg n h\r\nmg n h\r\nmg n h u\r\nset n 0 0 1\r\n2\r\nmg n h u\r\nmg n h\r\nmg n h\r\nmd n\r\n" "HD h0\nHD h$h\nHD h$h\nSTORED\nHD h0\nHD h0\nHD h$h\nHD\n"
    [ "$role" != ndb-caching ] || kept_pid=$SERVER_PID kept=$PORT
    [ "$role" = ndb-caching ] || stop_server "$SERVER_PID"
done
start_server db-only
reply "$PORT" 'set seen 0 0 1\r\n1\r\nset b:count 0 0 1\r\n1\r\n' 'STORED\nSTORED\n'
reply "$kept" 'mg seen h\r\n' 'HD h0\n' # Read from the row first.
reply "$kept" 'mg seen h\r\nmd seen\r\n' 'HD h1\nHD\n'
reply "$PORT" 'incr b:count 1\r\nma b:count\r\nincr t:1 1\r\n' "$(printf 'SERVER_ERROR the container has no increment column\\n%.0s' 1 2 3)"
want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE test.typed (k VARCHAR(20) NOT NULL PRIMARY KEY, born DATE, size INT, note VARBINARY(5), flags SMALLINT UNSIGNED)"
want 0 "$BIN/ndb_memcached_config" add-container typed --table=test.typed --key=k --value=born,size,note --flags=flags
want 0 "$BIN/ndb_memcached_config" add-prefix db-only typed: ndb-only typed
wait_text "server.$PORT" 'ONLINE RECONFIGURATION COMPLETE'
stop_server "$SERVER_PID"
stop_server "$kept_pid"
start_server db-only
reply "$PORT" 'set typed:1 0 0 12\r\n2024-02-29\t5\r\nset typed:1 0 0 7\r\nnever\t5\r\nset typed:1 0 0 3\r\n\tx1\r\nset typed:1 0 0 10\r\n\t\tmuch too\r\nset typed:1 70000 0 0\r\n\r\n' \
    'STORED\nCLIENT_ERROR invalid value for column born\nCLIENT_ERROR invalid value for column size\nSERVER_ERROR object too large for column note\nCLIENT_ERROR invalid value for column flags\n'
reply "$PORT" 'get typed:1\r\n' 'VALUE typed:1 0 13\n2024-02-29\t5\t\nEND\n'
want 0 "$BIN/ndb_memcached_config" drop-prefix db-only typed:
stop_server "$SERVER_PID"

say "meta commands on rows: who is to bring a new value the cache knows, and what a row cannot be"
refused='CLIENT_ERROR invalid flag I: a value of the database is not marked, but deleted or replaced\nCLIENT_ERROR invalid flag x: a row is deleted as a whole\n'
start_server db-only
reply "$PORT" 'mg t:900 v N30\r\nms t:900 5 T900\r\nhello\r\nmg t:900 v R1000\r\nmg t:900 v R1000\r\n' 'EN\nHD\nVA 7\nhello\t\t\nVA 7\nhello\t\t\n'
reply "$PORT" 'ms t:900 5 I T900\r\nagain\r\nmg t:900 v\r\nmd t:900 I T30\r\nmd t:900 x\r\nmn\r\nmd t:900\r\nmg t:900 v\r\n' "HD\nVA 7\nagain\t\t\n${refused}MN\nHD\nEN\n"
reply "$PORT" 'ma meta N0 J5 v\r\nma meta N0 J5 v\r\nms meta 1 C1 I\r\nx\r\nmg meta v\r\nmd meta\r\n' 'VA 1\n5\nVA 1\n6\nEX\nVA 1\n6\nHD\n'
stop_server "$SERVER_PID"
start_server ndb-caching
reply "$PORT" 'mg t:900 v N30\r\nmg t:900 v N30\r\n' 'VA 0 W\n\nVA 0 Z\n\n' # Both look for the row.
reply "$PORT" 'mg t:900 v\r\nget t:900\r\nadd t:900 0 0 1\r\nx\r\nmd t:900\r\n' 'VA 0 Z\n\nVALUE t:900 0 0\n\nEND\nSTORED\nHD\n'
reply "$PORT" 'mg t:900 v N30\r\n' 'VA 0 W\n\n'
reply "$PORT" 'ms t:900 5 T900\r\nhello\r\nmg t:900 v R10\r\nmg t:900 v R1000\r\nmg t:900 v R1000\r\nmg t:900 v\r\n' 'HD\nVA 7\nhello\t\t\nVA 7 W\nhello\t\t\nVA 7 Z\nhello\t\t\nVA 7 Z\nhello\t\t\n'
reply "$PORT" 'touch t:900 900\r\nmg t:900 k R1000\r\nmg t:900 v R1000\r\n' 'TOUCHED\nHD kt:900 W\nVA 7 Z\nhello\t\t\n' # Read from the row first.
reply "$PORT" 'md t:900 I T30\r\nmd t:900 x\r\nmg t:900 v\r\nmd t:900\r\nmg t:900 v\r\n' "${refused}VA 7\nhello\t\t\nHD\nEN\n"
stop_server "$SERVER_PID"

say "ids of large values are none that a counter gives"
start_server default_role
large=$(head -c 20000 /dev/zero | tr '\0' v)
reply "$PORT" 'flush_all\r\n' 'OK\n'
reply "$PORT" "set b:id 0 0 20000\r\n$large\r\n" 'STORED\n'
want 0 "$BIN/ndb_select_all" -d ndbmemcache demo_table_large
awk -F '\t' '$1 == "\"id\"" && $5 >= 2147483648 && $6 == 20000 { ids++ } END { exit ids != 1 }' "$BOX/out" || fail "the id is $(cat "$BOX/out")"
reply "$PORT" 'delete b:id\r\n' 'DELETED\n'
want 0 "$BIN/ndb_select_all" -d ndbmemcache external_values
want_text out '^0 rows'
stop_server "$SERVER_PID"

say "numbers and large values in one container"
want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE test.counted (k VARCHAR(100) NOT NULL PRIMARY KEY, v VARBINARY(8), n BIGINT UNSIGNED,
    cas BIGINT UNSIGNED, e TIMESTAMP NULL, ext_id INT UNSIGNED, ext_size INT UNSIGNED)"
want 0 "$BIN/ndb_memcached_config" add-container counted --table=test.counted --key=k --value=v --increment=n --cas=cas --expire=e \
    --large-values=ndbmemcache.external_values
for role in db-only ndb-caching; do
    want 0 "$BIN/ndb_memcached_config" add-prefix "$role" n: "$([ "$role" = db-only ] && echo ndb-only || echo caching)" counted
    start_server "$role"
    reply "$PORT" 'set n:1 0 0 2\r\n10\r\nincr n:1 1\r\nget n:1\r\nset n:1 0 0 1\r\n7\r\nget n:1\r\ndecr n:1 2\r\nget n:1\r\n' \
        'STORED\n11\nVALUE n:1 0 2\n11\nEND\nSTORED\nVALUE n:1 0 1\n7\nEND\n5\nVALUE n:1 0 1\n5\nEND\n'
    reply "$PORT" 'append n:1 0 0 1\r\n0\r\nincr n:1 1\r\nappend n:1 0 0 8\r\n12345678\r\nincr n:1 1\r\nget n:1\r\n' \
        'STORED\n51\nSTORED\n5112345679\nVALUE n:1 0 10\n5112345679\nEND\n' # Longer than v.
    reply "$PORT" "set n:1 0 0 20000\r\n$large\r\nincr n:1 1\r\nma n:1 N0 J5 v\r\nmg n:1 s\r\n" \
        "STORED\n$(printf 'CLIENT_ERROR cannot increment or decrement non-numeric value\\n%.0s' 1 2)HD s20000\n"
    reply "$PORT" 'set n:1 0 0 12\r\n000000000012\r\nget n:1\r\nset n:1 0 0 2\r\n-1\r\nincr n:1 1\r\nset n:1 0 0 2\r\n41\r\nincr n:1 1\r\n' \
        'STORED\nVALUE n:1 0 12\n000000000012\nEND\nSTORED\nCLIENT_ERROR cannot increment or decrement non-numeric value\nSTORED\n42\n'
    reply "$PORT" 'get n:1\r\ndelete n:1\r\nincr n:1 1\r\nma n:1 N0 J3 v\r\nincr n:1 1\r\n' 'VALUE n:1 0 2\n42\nEND\nDELETED\nNOT_FOUND\nVA 1\n3\n4\n'
    reply "$PORT" 'delete n:1\r\n' 'DELETED\n'
    want 0 "$BIN/ndb_select_all" -d ndbmemcache external_values
    want_text out '^0 rows'
    stop_server "$SERVER_PID"
    want 0 "$BIN/ndb_memcached_config" drop-prefix "$role" n:
done

say "options of -e for the cache; a flush of rows has no delay"
start_server default_role -e "cache_size=2m;item_size_max=64k;verbose=1;eviction=false;debug=false;scheduler=S:c4,f1;preallocate=true"
reply "$PORT" "set b:x 0 0 70000\r\n$large$large$large${large:0:10000}\r\n" 'SERVER_ERROR object too large for cache\n'
talk "$PORT" 'stats settings\r\nquit\r\n'
for setting in 'maxbytes 2097152' 'item_size_max 65536' 'verbosity 1' 'evictions off'; do
    want_text out "^STAT $setting\$"
done
want_text "server.$PORT" '-e scheduler means nothing here'
reply "$PORT" 'set mc:x 0 0 1\r\n1\r\nset x 0 0 1\r\n1\r\nflush_all 1000\r\nget mc:x\r\nget x\r\n' 'STORED\nSTORED\nOK\nEND\nEND\n'
stop_server "$SERVER_PID"
start_server mc-only
reply "$PORT" 'set a 0 0 1\r\n1\r\nflush_all 1000\r\nget a\r\nflush_all\r\nget a\r\n' 'STORED\nOK\nVALUE a 0 1\n1\nEND\nOK\nEND\n'
stop_server "$SERVER_PID"

say "what stats count: each request once, by what the client was told"
for role in mc-only db-only ndb-caching; do
    start_server "$role"
    reply "$PORT" 'set s 0 0 1\r\n1\r\ndelete none\r\nstats reset\r\n' 'STORED\nNOT_FOUND\nRESET\n'
    reply "$PORT" 'get s\r\nget s none\r\nset s 0 0 1\r\n5\r\nget s\r\nincr s 1\r\ndecr s 1\r\nincr none 1\r\ncas s 0 0 1 1\r\n2\r\ncas none 0 0 1 1\r\n2\r\nmg s v\r\n' \
        'VALUE s 0 1\n1\nEND\nVALUE s 0 1\n1\nEND\nSTORED\nVALUE s 0 1\n5\nEND\n6\n5\nNOT_FOUND\nEXISTS\nNOT_FOUND\nVA 1\n5\n'
    reply "$PORT" 'touch s 0\r\ntouch none 0\r\ndelete s\r\ndelete s\r\nget s\r\n' 'TOUCHED\nNOT_FOUND\nDELETED\nNOT_FOUND\nEND\n'
    talk "$PORT" 'stats\r\nquit\r\n'
    for figure in 'cmd_get 6' 'get_hits 4' 'get_misses 2' 'cmd_set 3' 'cmd_touch 2' 'touch_hits 1' 'touch_misses 1' 'delete_hits 1' 'delete_misses 1' \
        'incr_hits 1' 'incr_misses 1' 'decr_hits 1' 'decr_misses 0' 'cas_hits 0' 'cas_misses 1' 'cas_badval 1' 'cmd_meta 1' 'cmd_flush 0' \
        'curr_connections 1' 'total_connections 3' 'threads 2' 'accepting_conns 1' 'pointer_size 64' 'curr_items 0' 'bytes 0'; do
        want_text out "^STAT $figure\$"
    done
    talk "$PORT" 'stats ndb\r\nstats scheduler\r\nstats errors\r\nquit\r\n'
    [ "$role" = mc-only ] || want_text out '^STAT ndb_error_626 [1-9]'
    [ "$role" = mc-only ] || want_text out '^STAT cl0.conn[01].sent_operations [1-9]'
    [ "$role" != mc-only ] || want_text out '^STAT reads 0$'
    [ "$role" != db-only ] || want_text out '^STAT reads 6$'
    [ "$role" != ndb-caching ] || want_text out '^STAT reads [34]$' # Those that the cache could not answer.
    stop_server "$SERVER_PID"
done

say "another configuration: copies of rows go, what is in the cache only stays"
start_server db-only
two=$PORT two_pid=$SERVER_PID
start_server ndb-caching
want 0 "$BIN/ndb_memcached_config" add-prefix ndb-caching only: memcache-only
# loaded N: the N-th new configuration is what both threads run with; connections take turns.
loaded() {
    local have
    for _ in $(seq 300); do
        have=0
        for _ in 1 2; do
            talk "$PORT" 'stats reconf\r\nquit\r\n'
            grep -q "^STAT Running $(($1 + 1))\$" "$BOX/out" && have=$((have + 1))
        done
        [ "$have" != 2 ] || return 0
        sleep 0.1
    done
    fail "the new configuration is not taken: $(cat "$BOX/out")"
}
loaded 1
reply "$PORT" 'set only:a 0 0 1\r\n1\r\nset copied 0 0 4\r\nmine\r\n' 'STORED\nSTORED\n'
reply "$two" 'set copied 0 0 6\r\ntheirs\r\n' 'STORED\n'
reply "$PORT" 'get copied only:a\r\n' 'VALUE copied 0 4\nmine\nVALUE only:a 0 1\n1\nEND\n'
want 0 "$BIN/ndb_memcached_config" reload ndb-caching
loaded 2
reply "$PORT" 'get copied only:a\r\n' 'VALUE copied 0 6\ntheirs\nVALUE only:a 0 1\n1\nEND\n'
want 0 "$BIN/ndb_memcached_config" drop-prefix ndb-caching only:
stop_server "$SERVER_PID"
stop_server "$two_pid"

say "stats detail: by prefixes of the configuration; switches that memcached has"
start_server default_role -b 50 -r -k -L
reply "$PORT" 'set mc:a 0 0 1\r\n1\r\nstats detail on\r\n' 'STORED\nOK\n'
reply "$PORT" 'set mc:a 0 0 1\r\n1\r\nget mc:a mc:b\r\nget none\r\ndelete mc:a\r\n' 'STORED\nVALUE mc:a 0 1\n1\nEND\nEND\nDELETED\n'
talk "$PORT" 'stats detail dump\r\nquit\r\n'
for prefix in '(none) get 1 hit 0 set 0 del 0' 'b: get 0 hit 0 set 0 del 0' 'mc: get 2 hit 1 set 1 del 1'; do
    grep -qFx "PREFIX $prefix" "$BOX/out" || fail "stats detail does not say $prefix: $(cat "$BOX/out")"
done
reply "$PORT" 'stats detail off\r\nstats detail\r\nstats detail maybe\r\n' 'OK\nCLIENT_ERROR usage: stats detail on|off|dump\nCLIENT_ERROR usage: stats detail on|off|dump\n'
reply "$PORT" 'get mc:a\r\n' 'END\n'
talk "$PORT" 'stats detail dump\r\nstats settings\r\nstats scheduler\r\nquit\r\n'
want_text out '^PREFIX mc: get 2 hit 1 set 1 del 1$'
want_text out '^STAT tcp_backlog 50$'
want_text out '^STAT cl0.conn[01].instances.max 1024$'
stop_server "$SERVER_PID"

say "who is connected"
start_server mc-only
talk "$PORT" 'stats conns\r\nquit\r\n'
want_text out "^STAT [0-9]+:addr tcp:127.0.0.1:$PORT\$"
want_text out '^STAT [0-9]+:state conn_listening$'
want_text out '^STAT [0-9]+:addr tcp:127.0.0.1:[0-9]+$'
want_text out "^STAT [0-9]+:listen_addr tcp:127.0.0.1:$PORT\$"
want_text out '^STAT [0-9]+:secs_since_last_cmd 0$'
[ "$(grep -c ':addr' "$BOX/out")" = 2 ] || fail "connections: $(cat "$BOX/out")"
stop_server "$SERVER_PID"
start_server mc-only -s "$BOX/socket"
want 0 /usr/bin/python3 - "$BOX/socket" <<'PYTHON'
import socket, sys
unix = [socket.socket(socket.AF_UNIX) for _ in range(2)]
for one in unix:
    one.settimeout(60)
    one.connect(sys.argv[1])
    one.sendall(b"mn\r\n")
    assert one.recv(10) == b"MN\r\n"
unix[0].sendall(b"stats conns\r\n")
said = b""
while not said.endswith(b"END\r\n"):
    said += unix[0].recv(65536)
assert said.count(b":addr unix:" + sys.argv[1].encode()) == 3, said
PYTHON
stop_server "$SERVER_PID"

say "what it tells: nothing of clients at first, and what verbosity says while it runs"
start_server mc-only
told() { grep -c "$1" "$BOX/server.$PORT"; }
reply "$PORT" 'set a 0 0 1\r\n1\r\nget a\r\n' 'STORED\nVALUE a 0 1\n1\nEND\n'
[ "$(told connection)" = 0 ] || fail "it tells of connections"
reply "$PORT" 'verbosity 1\r\nget a\r\n' 'OK\nVALUE a 0 1\n1\nEND\n'
reply "$PORT" 'verbosity 2\r\nget a\r\nget b\r\n' 'OK\nVALUE a 0 1\n1\nEND\nEND\n'
talk "$PORT" 'stats settings\r\nquit\r\n'
want_text out '^STAT verbosity 2$'
reply "$PORT" 'verbosity 0\r\nget a\r\nverbosity\r\nverbosity x\r\n' 'OK\nVALUE a 0 1\n1\nEND\nCLIENT_ERROR bad command line format\nCLIENT_ERROR bad command line format\n'
[ "$(told 'has come')" = 3 ] || fail "connections that came: $(told 'has come')"
[ "$(told 'connection [0-9]*: get a: done')" = 1 ] || fail "it does not tell of requests"
[ "$(told 'connection [0-9]*: get b: not found')" = 1 ] || fail "it does not tell of answers"
stop_server "$SERVER_PID"

say "datagrams, and a UNIX socket"
UDP_PORT=$(free_port)
start_server mc-only -U "$UDP_PORT"
want 0 /usr/bin/python3 - "$PORT" "$UDP_PORT" <<'PYTHON'
import socket, sys
value = b"0123456789" * 400
tcp = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
tcp.sendall(b"set big 0 0 %d\r\n%s\r\n" % (len(value), value))
assert tcp.recv(100) == b"STORED\r\n"
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.settimeout(60)
udp.connect(("127.0.0.1", int(sys.argv[2])))
def ask(head, request):
    parts = {}
    udp.send(head + request)
    while True:
        datagram = udp.recv(65536)
        assert datagram[:2] == head[:2]
        parts[int.from_bytes(datagram[2:4], "big")] = datagram[8:]
        if len(parts) == int.from_bytes(datagram[4:6], "big"):
            return b"".join(parts[number] for number in sorted(parts))
udp.send(b"\x12") # Too short for an answer.
assert ask(b"\x12\x34\0\0\0\1\0\0", b"get big\r\n") == b"VALUE big 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)
assert ask(b"\x12\x35\0\0\0\1\0\0", b"set u 0 0 1\r\n1\r\nincr u 5\r\n") == b"STORED\r\n6\r\n"
assert ask(b"\x12\x36\0\0\0\2\0\0", b"get u\r\n").startswith(b"SERVER_ERROR")
assert ask(b"\x12\x37\0\0\0\1\0\0", b"get u\r\n") == b"VALUE u 0 1\r\n6\r\nEND\r\n"
PYTHON
stop_server "$SERVER_PID"
start_server mc-only -s "$BOX/socket" -a 0600
[ "$(stat -c %a "$BOX/socket")" = 600 ] || fail "the mode of the UNIX socket is $(stat -c %a "$BOX/socket")"
want 0 /usr/bin/python3 - "$BOX/socket" <<'PYTHON'
import socket, sys
unix = socket.socket(socket.AF_UNIX)
unix.settimeout(60)
unix.connect(sys.argv[1])
unix.sendall(b"set a 0 0 1\r\n1\r\n")
assert unix.recv(100) == b"STORED\r\n"
PYTHON
stop_server "$SERVER_PID"
[ ! -e "$BOX/socket" ] || fail "the UNIX socket is still there"

say "more connections than it takes: they wait until others have gone"
start_server mc-only -c 20
want 0 /usr/bin/python3 - "$PORT" <<'PYTHON'
import socket, sys
all_of_them = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60) for _ in range(60)]
for one in all_of_them:
    one.sendall(b"mn\r\n")
for one in all_of_them: # Each of the first ones makes room for another.
    assert one.recv(10) == b"MN\r\n"
    one.close()
PYTHON
stop_server "$SERVER_PID"

say "it is stopped while requests run, and when the cluster has gone: at once, and nothing is left over"
start_server ndb-caching
run /usr/bin/python3 - "$PORT" <<'PYTHON' &
import socket, sys, threading
def drain(one):
    try:
        while one.recv(65536):
            pass
    except OSError:
        pass
def load(number):
    try:
        one = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
        threading.Thread(target=drain, args=(one,), daemon=True).start()
        while True:
            one.sendall(b"".join(b"set load:%d 0 0 3\r\nabc\r\nget load:%d\r\nincr load:n 1\r\nset b:load 0 0 20000\r\n%s\r\nappend b:load 0 0 1\r\nx\r\n"
                                 % (key, key, b"v" * 20000) for key in range(number, number + 40)))
    except OSError:
        pass # The server has gone.
threads = [threading.Thread(target=load, args=(number,)) for number in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
PYTHON
loader=$!
sleep 3
stop_server "$SERVER_PID"
wait "$loader"

say "without the cluster local keys go on, others are refused at once, and it comes back by itself"
start_server default_role
reply "$PORT" 'set mc:local 0 0 1\r\n1\r\nset far 0 0 1\r\n1\r\n' 'STORED\nSTORED\n'
make_durable
kill_nodes
for _ in $(seq 300); do
    talk "$PORT" 'get far\r\nquit\r\n'
    grep -q SERVER_ERROR "$BOX/out" && break
    sleep 0.1
done
want_text out '^SERVER_ERROR'
reply "$PORT" 'get mc:local\r\n' 'VALUE mc:local 0 1\n1\nEND\n'
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
for _ in $(seq 300); do
    talk "$PORT" 'get far\r\nquit\r\n'
    grep -q VALUE "$BOX/out" && break
    sleep 0.1
done
want_text out '^VALUE far 0 1$'
kill_nodes
sleep 2 # By now the thread that looks for configurations has asked, and waits for an answer.
stop_server "$SERVER_PID"
stop_cluster
