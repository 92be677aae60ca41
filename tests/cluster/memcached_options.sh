#!/bin/bash
# memcached_options.sh -- ndb_memcached's switches as a service has them; a second cluster, its end, and memory that is full.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
source "$HERE/memcached_server.sh"

# second COMMAND...: of a cluster of one node with a directory of its own.
second() {
    local first=$NDB_CONNECTSTRING
    local BOX=$BOX/second CS=${SECOND_CS:-} MGM_PID=${SECOND_MGM:-} NODE_PIDS=()
    [ -z "${SECOND_NODE:-}" ] || NODE_PIDS[1]=$SECOND_NODE
    mkdir -p "$BOX"
    export NDB_CONNECTSTRING=$CS
    "$@"
    SECOND_CS=$CS SECOND_MGM=$MGM_PID SECOND_NODE=${NODE_PIDS[1]:-}
    export NDB_CONNECTSTRING=$first
}

# Until the reply to TEXT has a line that matches REGEX.
wait_reply() { # PORT TEXT REGEX
    for _ in $(seq 600); do
        talk "$1" "${2}quit\r\n"
        grep -Eq -- "$3" "$BOX/out" && return 0
        sleep 0.1
    done
    fail "no reply to '$2' is '$3': $(cat "$BOX/out")"
}

start_cluster 1 1
want 0 "$BIN/ndb_memcached" --bootstrap -e "connectstring=$CS"

say "in the background, with a file that has its number, as another user"
mkdir "$BOX/run"
user=$(id -un)
if [ "$(id -u)" -eq 0 ]; then
    user=nobody
    chmod 711 "$BOX"
    chown nobody "$BOX/run"
fi
PORT=$(free_port)
want 0 "$BIN/ndb_memcached" -d -P "$BOX/run/pid" -u "$user" -l 127.0.0.1 -p "$PORT" -t 2 -e "connectstring=$CS;role=mc-only"
wait_text run/pid '^[0-9]+$'
pid=$(cat "$BOX/run/pid")
PIDS+=("$pid")
for _ in $(seq 600); do
    (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null && break
    sleep 0.1
done
wait_reply "$PORT" 'stats\r\n' "^STAT pid $pid\$"
[ "$(ps -o uid= -p "$pid" | tr -d ' ')" = "$(id -u "$user")" ] || fail "it does not run as $user: $(ps -o user= -p "$pid")"
grep -q "^Gid:[[:space:]]$(id -g "$user")[[:space:]]" "/proc/$pid/status" || fail "its group is not $user's"
[ "$(ps -o sid= -p "$pid" | tr -d ' ')" != "$(ps -o sid= -p $$ | tr -d ' ')" ] || fail "it is in this session"
kill -HUP "$pid" # As memcached, it takes no notice.
wait_reply "$PORT" 'stats\r\n' "^STAT pid $pid\$"
kill -TERM "$pid"
for _ in $(seq 600); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
done
kill -0 "$pid" 2>/dev/null && fail "it does not end"
[ ! -e "$BOX/run/pid" ] || fail "the file with its number is still there"
want 1 "$BIN/ndb_memcached" -p 0 -s "$BOX/none.socket" -P "$BOX/none/pid" -e "connectstring=$CS;role=mc-only"
want_text err 'none/pid: No such file'
if [ "$(id -u)" -eq 0 ]; then
    want 1 "$BIN/ndb_memcached" -p 0 -s "$BOX/none.socket" -u no-such-user -e "connectstring=$CS;role=mc-only"
    want_text err 'there is no user no-such-user'
fi

say "with hardly any descriptors it says so, or serves; none ends by itself as if it had crashed, or leaves the file with its number"
limited=(env)
[ "$(id -u)" -ne 0 ] || limited=(setpriv --bounding-set -sys_resource) # Else it would have as many as it wants.
for descriptors in 5 8 10 11 12 13 14 15 16 17 18 19 20 22 24 28 32; do
    rm -f "$BOX/few.log"
    (ulimit -n "$descriptors" && exec "${limited[@]}" "$BIN/ndb_memcached" -l 127.0.0.1 -p "$PORT" -U "$PORT" -t 2 -u root -P "$BOX/few.pid" \
        -e "connectstring=$CS;role=mc-only") >"$BOX/few.log" 2>&1 &
    pid=$!
    PIDS+=("$pid")
    for _ in $(seq 600); do
        kill -0 "$pid" 2>/dev/null || break
        if grep -qs 'ready: role' "$BOX/few.log"; then break; fi
        sleep 0.1
    done
    kill -TERM "$pid" 2>/dev/null
    for _ in $(seq 600); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    wait "$pid"
    code=$?
    case $code in
    0) ;;
    1) tail -n 1 "$BOX/few.log" | grep -q 'oo many open files' || fail "the reason is not said: $(cat "$BOX/few.log")" ;;
    *) fail "exit code $code with $descriptors descriptors: $(cat "$BOX/few.log")" ;;
    esac
    echo "$descriptors: $code $(tail -n 1 "$BOX/few.log")"
    [ ! -e "$BOX/few.pid" ] || fail "the file with its number is still there, with $descriptors descriptors"
done

say "what is ended while it waits for a cluster, or cannot write the number, leaves no file either"
"$BIN/ndb_memcached" -p 0 -s "$BOX/early.socket" -P "$BOX/early.pid" -e "connectstring=127.0.0.1:1;role=mc-only" 2>/dev/null &
pid=$!
PIDS+=("$pid")
wait_text early.pid "^$pid\$"
kill -TERM "$pid"
wait "$pid"
[ "$?" -eq 143 ] || fail "it is not ended by the signal"
[ ! -e "$BOX/early.pid" ] || fail "the file with its number is still there"
want 1 "$BIN/ndb_memcached" -d -p 0 -s "$BOX/none.socket" -P "$BOX/none.pid" -e "connectstring=$CS;role=nosuch"
want_text err 'there is no role "nosuch"'
[ ! -e "$BOX/none.pid" ] || fail "a server that is not there has a pid file"
want 0 "$BIN/ndb_memcached" -d -p 0 -s "$BOX/relative.socket" -P relative.pid -e "connectstring=$CS;role=mc-only"
pid=$(cat "$BOX/relative.pid") || fail "no file with the number where it was named"
PIDS+=("$pid")
kill -TERM "$pid"
for _ in $(seq 600); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
done
[ ! -e "$BOX/relative.pid" ] || fail "the file that was named from here is still there"
want 1 "$BIN/ndb_memcached" -p 0 -s "$BOX/none.socket" -P /dev/full -e "connectstring=$CS;role=mc-only"
want_text err '/dev/full: No space left on device'
[ -c /dev/full ] || fail "the device is gone"

say "-M: an error instead of eviction"
start_server mc-only -m 4 -M -v
reply "$PORT" 'set first 0 0 5\r\nfirst\r\n' 'STORED\n'
want 0 /usr/bin/python3 - "$PORT" <<'PYTHON'
import socket, struct, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
replies = server.makefile("rb")
def ask(request):
    server.sendall(request)
    return replies.readline()
value = bytes(500000)
stored = 0
while (reply := ask(b"set m%d 0 0 500000\r\n%s\r\n" % (stored, value))) == b"STORED\r\n":
    stored += 1
assert reply == b"SERVER_ERROR out of memory storing object\r\n" and 4 <= stored <= 8, (reply, stored)
assert ask(b"add new 0 0 500000\r\n%s\r\n" % value) == reply
assert ask(b"append m0 0 0 500000\r\n%s\r\n" % value) == reply
assert ask(b"ms new 500000\r\n%s\r\n" % value) == reply
for number in range(stored): # All of them are still there.
    assert ask(b"mg m%d s\r\n" % number) == b"HD s500000\r\n"
assert ask(b"mg first s\r\n") == b"HD s5\r\n"
binary = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
binary.sendall(struct.pack(">BBHBBHIIQ", 0x80, 1, 3, 8, 0, 0, 8 + 3 + 500000, 7, 0) + bytes(8) + b"new" + value)
assert binary.recv(24, socket.MSG_WAITALL)[6:8] == b"\0\x82"
assert ask(b"delete m0\r\n") == b"DELETED\r\n" and ask(b"set new 0 0 500000\r\n%s\r\n" % value) == b"STORED\r\n"
PYTHON
wait_reply "$PORT" 'stats\r\n' '^STAT evictions 0$'
wait_reply "$PORT" 'stats settings\r\n' '^STAT evictions off$'
wait_reply "$PORT" 'stats settings\r\n' '^STAT verbosity 1$'
stop_server "$SERVER_PID"

say "-F: no flush_all"
start_server mc-only -F
reply "$PORT" 'set a 0 0 1\r\n1\r\nflush_all\r\nflush_all noreply\r\nget a\r\n' 'STORED\nCLIENT_ERROR flush_all not allowed\nVALUE a 0 1\n1\nEND\n'
printf '\x80\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >"$BOX/binary" # flush, quit
run "$BIN/mc_client" send "$PORT" <"$BOX/binary" | od -An -tx1 -j6 -N2 >"$BOX/out"
want_text out '^ 00 20$'
reply "$PORT" 'get a\r\n' 'VALUE a 0 1\n1\nEND\n'
stop_server "$SERVER_PID"

say "wrong values say what is allowed; switches that memcached has are passed over, others are not"
bad() { # SWITCH VALUE ALLOWED
    want 2 "$BIN/ndb_memcached" "$1" "$2" -V
    want_text err "^ndb_memcached: wrong value for $1: $2 \\(allowed: $3\\)\$"
}
bad -t 0 '1 to 64'
bad -t 65 '1 to 64'
bad -m 0 '1 to 16777216 megabytes'
bad -m 1g '1 to 16777216 megabytes'
bad -I 1000 '1k to 1024m'
bad -I 2000m '1k to 1024m'
bad -a 778 '0 to 777, octal'
bad -a 1000 '0 to 777, octal'
bad -c 0 '1 to 1000000'
bad -b 0 '1 to 1000000'
bad -p 65536 '0 to 65535'
bad -B http 'ascii, binary, auto'
want 0 "$BIN/ndb_memcached" -C -X -W -f 1.25 -n 48 -R 20 -N 4 -D : -E x.so -L --memory-file=/dev/null --slab-growth-factor=2 --napi_ids=2 \
    -o no_modern,hashpower=20,no_lru_crawler,idle_timeout=5,ext_path=/x:1G,maxconns_fast --extended=slab_reassign -V
[ "$(grep -c ' means nothing here and is passed over$' "$BOX/err")" = 20 ] || fail "not all of them are told: $(cat "$BOX/err")"
want 2 "$BIN/ndb_memcached" -o hashpower=20,no_such_thing -V
want_text err '^ndb_memcached: -o knows no no_such_thing$'

say "-l: addresses with ports of their own"
ports=("$(free_port)" "$(free_port)" "$(free_port)")
start_server mc-only -l "127.0.0.1:${ports[0]},[::1]:${ports[1]}" --listen="*:${ports[2]}" -o "ssl_key=x"
for port in "$PORT" "${ports[0]}" "${ports[2]}"; do
    reply "$port" 'set a 0 0 1\r\n1\r\nget a\r\n' 'STORED\nVALUE a 0 1\n1\nEND\n'
done
want 0 /usr/bin/python3 - "${ports[1]}" <<'PYTHON'
import socket, sys
server = socket.create_connection(("::1", int(sys.argv[1])), timeout=60)
server.sendall(b"mn\r\n")
assert server.recv(10) == b"MN\r\n"
PYTHON
stop_server "$SERVER_PID"
start_server mc-only -l ::1
stop_server "$SERVER_PID"
for wrong in 127.0.0.1:0 127.0.0.1:x 127.0.0.1: '[::1]11211' 127.0.0.1:65536; do
    want 1 "$BIN/ndb_memcached" -l "$wrong" -e "connectstring=$CS"
    want_text err 'what follows the address is no port \(allowed: 1 to 65535\)$'
done
want 1 "$BIN/ndb_memcached" -l '[::1' -e "connectstring=$CS"
want_text err 'there is no \] behind the address$'

say "-B: one protocol only; -vv"
printf '\x80\x0b\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >"$BOX/binary" # version, quit
start_server mc-only -B ascii -vv
wait_reply "$PORT" 'stats settings\r\n' '^STAT verbosity 2$'
reply "$PORT" 'set a 0 0 1\r\n1\r\nget a\r\n' 'STORED\nVALUE a 0 1\n1\nEND\n'
run "$BIN/mc_client" send "$PORT" <"$BOX/binary" >"$BOX/out"
[ -s "$BOX/out" ] && fail "it has answered the binary protocol"
reply "$PORT" 'get a\r\n' 'VALUE a 0 1\n1\nEND\n'
stop_server "$SERVER_PID"
start_server mc-only -B binary
reply "$PORT" 'set a 0 0 1\r\n1\r\nget a\r\n' ''
run "$BIN/mc_client" send "$PORT" <"$BOX/binary" | tr -d '\0' >"$BOX/out"
grep -qa '1\.6-ndb' "$BOX/out" || fail "it has not answered the binary protocol"
stop_server "$SERVER_PID"
start_server mc-only -B auto
reply "$PORT" 'get a\r\n' 'END\n'
run "$BIN/mc_client" send "$PORT" <"$BOX/binary" | tr -d '\0' >"$BOX/out"
grep -qa '1\.6-ndb' "$BOX/out" || fail "it has not answered the binary protocol"

say "-A: the command shutdown"
reply "$PORT" 'shutdown\r\nget a\r\n' 'SERVER_ERROR: shutdown not enabled\nEND\n'
stop_server "$SERVER_PID"
for how in shutdown 'shutdown graceful'; do
    start_server default_role -A
    reply "$PORT" 'shutdown now\r\nset a 0 0 1\r\n1\r\n' 'CLIENT_ERROR invalid shutdown mode\nSTORED\n'
    talk "$PORT" "$how\r\n"
    ended "$SERVER_PID" || fail "after $how it ends with exit code $?"
done

say "what a browser was made to send is not taken"
start_server mc-only
reply "$PORT" 'set a 0 0 1\r\n1\r\n' 'STORED\n'
for first in 'POST / HTTP/1.1' 'GET /flush_all HTTP/1.1' 'set /a HTTP/1.1' 'nonsense'; do
    talk "$PORT" "$first\\r\\nHost: localhost\\r\\nContent-Length: 25\\r\\n\\r\\nset a 0 0 1\\r\\n2\\r\\nflush_all\\r\\n"
    grep -v '^ERROR$' "$BOX/out" && fail "$first is answered" # That is what nonsense is told.
done
reply "$PORT" 'get a\r\n' 'VALUE a 0 1\n1\nEND\n'
stop_server "$SERVER_PID"

say "-s with -p 0: a UNIX socket and nothing else"
PORT=$(free_port)
"$BIN/ndb_memcached" -p 0 -s "$BOX/socket" -t 2 -u root -e "connectstring=$CS;role=mc-only" >"$BOX/server.unix" 2>&1 &
SERVER_PID=$!
PIDS+=("$SERVER_PID")
wait_text server.unix 'ready: role'
[ "$(stat -c %a "$BOX/socket")" = 700 ] || fail "the mode of the UNIX socket is $(stat -c %a "$BOX/socket")"
want 0 /usr/bin/python3 - "$BOX/socket" "$SERVER_PID" <<'PYTHON'
import os, re, socket, sys
unix = socket.socket(socket.AF_UNIX)
unix.settimeout(60)
unix.connect(sys.argv[1])
unix.sendall(b"set a 0 0 1\r\n1\r\nmg a v\r\n")
assert unix.recv(100).startswith(b"STORED\r\n")
listening = set()
for table in ("tcp", "tcp6", "udp", "udp6"):
    with open("/proc/%s/net/%s" % (sys.argv[2], table)) as lines:
        listening |= {line.split()[9] for line in lines if line.split()[3] in ("0A", "07")}
for fd in os.listdir("/proc/%s/fd" % sys.argv[2]):
    found = re.match(r"socket:\[(\d+)\]", os.readlink("/proc/%s/fd/%s" % (sys.argv[2], fd)))
    assert not found or found[1] not in listening, "it listens elsewhere, too"
PYTHON
stop_server "$SERVER_PID"
[ ! -e "$BOX/socket" ] || fail "the UNIX socket is still there"

say "a second cluster"
DATA_MEMORY=8M
second start_cluster 1 1
want 0 "$BIN/ndb_create_table" -c "$SECOND_CS" --execute="CREATE TABLE test.far (k VARCHAR(250) NOT NULL PRIMARY KEY,
    v VARBINARY(8000), flags INT UNSIGNED, cas BIGINT UNSIGNED, n BIGINT UNSIGNED)"
start_server default_role
reply "$PORT" 'set far:1 0 0 4\r\nnear\r\n' 'STORED\n' # Before anybody knows of the second one.
want 0 "$BIN/ndb_memcached_config" add-cluster 1 "$SECOND_CS"
want 0 "$BIN/ndb_memcached_config" add-container far --table=test.far --key=k --value=v --flags=flags --cas=cas --increment=n \
    --force # It looks for the table in the first cluster.
want 0 "$BIN/ndb_memcached_config" add-prefix default_role far: ndb-only far --cluster=1
[ "$FAILED" -eq 0 ] || exit 1
wait_text "server.$PORT" 'ONLINE RECONFIGURATION COMPLETE'
for _ in $(seq 600); do # Until the last of its workers has it.
    talk "$PORT" 'get far:1\r\nquit\r\n'
    grep -q VALUE "$BOX/out" || break
    sleep 0.1
done
for _ in 1 2; do # Taken by the running server, and at a start.
    reply "$PORT" 'set far:1 5 0 3\r\nfar\r\nget far:1\r\nset far:n 0 0 1\r\n1\r\nincr far:n 5\r\nset near:1 0 0 4\r\nnear\r\nget near:1 far:1\r\n' \
        'STORED\nVALUE far:1 5 3\nfar\nEND\nSTORED\n6\nSTORED\nVALUE near:1 0 4\nnear\nVALUE far:1 5 3\nfar\nEND\n'
    want 0 "$BIN/ndb_select_all" -c "$SECOND_CS" -d test far
    want_text out '^"1".*far'
    want_text out '^"n".*6'
    want 0 "$BIN/ndb_select_all" -d ndbmemcache demo_table
    want_text out 'far:1.*near'
    want_text out 'near:1.*near'
    wait_reply "$PORT" 'stats ndb\r\n' '^STAT cl1.ready_nodes 1$'
    stop_server "$SERVER_PID"
    start_server default_role
done

say "its memory is full"
want 0 /usr/bin/python3 - "$PORT" <<'PYTHON'
import socket, struct, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=120)
replies = server.makefile("rb")
def ask(request):
    server.sendall(request)
    return replies.readline()
value = bytes(8000)
stored = 0
while (reply := ask(b"set far:fill-%d 0 0 8000\r\n%s\r\n" % (stored, value))) == b"STORED\r\n":
    stored += 1
print(stored, "values of 8000 bytes, then", reply)
assert reply == b"SERVER_ERROR out of memory storing object\r\n" and stored > 100, (reply, stored)
for number in range(100): # It goes on; others are not concerned.
    assert ask(b"mg far:fill-%d s\r\n" % number) == b"HD s8000\r\n"
    assert ask(b"set near:fill 0 0 8000\r\n%s\r\n" % value) == b"STORED\r\n"
binary = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
binary.sendall(struct.pack(">BBHBBHIIQ", 0x80, 1, 8, 8, 0, 0, 8 + 8 + 8000, 7, 0) + bytes(8) + b"far:more" + value)
status = binary.recv(24, socket.MSG_WAITALL)[6:8]
assert status in (b"\0\x82", b"\0\0"), status
for number in range(100):
    assert ask(b"delete far:fill-%d\r\n" % number) == b"DELETED\r\n"
again = sum(ask(b"set far:again-%d 0 0 8000\r\n%s\r\n" % (number, value)) == b"STORED\r\n" for number in range(50))
print(again, "of 50 are stored after 100 were deleted")
assert again > 0
PYTHON
cat "$BOX/out"

say "it is lost, and comes back; the first one is not concerned"
second make_durable
second kill_nodes
wait_text "server.$PORT" "cluster at $SECOND_CS is lost: no data node can be reached\$"
wait_reply "$PORT" 'get far:1\r\n' '^SERVER_ERROR'
reply "$PORT" 'get near:1\r\nset near:1 0 0 1\r\n2\r\n' 'VALUE near:1 0 4\nnear\nEND\nSTORED\n'
second start_node 1
want 0 "$BIN/ndb_waiter" -c "$SECOND_CS" --timeout=100
wait_reply "$PORT" 'get far:1\r\n' '^VALUE far:1 5 3$'
wait_text "server.$PORT" "cluster at $SECOND_CS can be reached again\$"
stop_server "$SERVER_PID"

say "a server that starts without it refuses its keys, which no other prefix takes, and serves them when it is there"
second make_durable
second kill_nodes
start_server default_role
wait_text "server.$PORT" 'key prefix "far:" of role default_role is refused: cluster 1 at .* cannot be reached'
want_text "server.$PORT" "cluster at $SECOND_CS cannot be reached: no data node is ready(; no link to node [0-9]+ .*)?\$"
want 1 "$BIN/ndb_memcached" -p 0 -s "$BOX/none.socket" -e "connectstring=127.0.0.1:1"
want_text err 'cluster at 127.0.0.1:1 cannot be reached: error 4269, No connection to the management server; check that it runs \('
reply "$PORT" 'set far:1 0 0 1\r\n1\r\nget near:1\r\n' "SERVER_ERROR this prefix is refused, see the server's log\nVALUE near:1 0 1\n2\nEND\n"
second start_node 1
want 0 "$BIN/ndb_waiter" -c "$SECOND_CS" --timeout=100
wait_reply "$PORT" 'get far:1\r\n' '^VALUE far:1 5 3$'
stop_server "$SERVER_PID"
second stop_cluster
stop_cluster
