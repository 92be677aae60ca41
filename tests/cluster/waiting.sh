#!/bin/bash
# waiting.sh -- a tool that waits says for what and why; one that does not have to says nothing.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

dead=127.0.0.1:$(free_port)

# lines FILE PATTERN COUNT: so many lines match.
lines() { [ "$(grep -cE -- "$2" "$BOX/$1")" = "$3" ] || fail "not $3 lines match '$2': $(cat "$BOX/$1")"; }

say "no management server: one line, then the end"
want 1 "$BIN/ndb_desc" -c "$dead" --connect-retries=1 --connect-retry-delay=2 t
lines err "^ndb_desc: waits for a management server: 127\.0\.0\.1 port ${dead#*:}: Connection refused$" 1
want_text err "^4269: .*127\.0\.0\.1 port ${dead#*:}: Connection refused$"
want 3 "$BIN/ndb_waiter" -c "$dead" --timeout=2
lines err "^ndb_waiter: waits for a management server: 127\.0\.0\.1 port ${dead#*:}: Connection refused$" 1
want_text err "^1011: 127\.0\.0\.1 port ${dead#*:}: Connection refused$"
want 3 "$BIN/ndb_waiter" -c "$dead" --connect-retries=0 # Tried once: that takes no second.
lines err 'waits for' 0
want 1 "$BIN/ndb_top" -c "$dead,localhost:${dead#*:}" --connect-retries=1 --connect-retry-delay=2
want_text err "^ndb_top: waits for .* 127\.0\.0\.1 port ${dead#*:}: Connection refused; localhost port ${dead#*:}: "

want 255 "$BIN/ndb_config" -c "$dead" --connect-retries=1 --connect-retry-delay=2
lines err "^ndb_config: waits for a management server: 127\.0\.0\.1 port ${dead#*:}: Connection refused$" 1
want 1 "$BIN/ndb_memcached_config" -c "$dead" --connect-retries=1 --connect-retry-delay=2 show
lines err "^ndb_memcached_config: waits for a management server: 127\.0\.0\.1 port ${dead#*:}: Connection refused$" 1

NDB_CONNECTSTRING=$dead "$BIN/ndb_memcached" -u root -p "$(free_port)" 2>"$BOX/tool.err" &
PIDS+=($!)
wait_text tool.err "^ndb_memcached: waits for a management server: 127\.0\.0\.1 port ${dead#*:}: Connection refused\$"
kill $!

say "the console has the connect string, the reason and the cure"
want 255 "$BIN/ndb_mgm" -c "$dead" --connect-retries=0 -e SHOW
want_text out "^Unable to connect with connect string: 127\.0\.0\.1:${dead#*:}$"
want_text out "^\*        127\.0\.0\.1 port ${dead#*:}: Connection refused$"
want_text out '^Start ndb_mgmd there .*, or name another address with --ndb-connectstring or in NDB_CONNECTSTRING\.$'
want 255 "$BIN/ndb_mgm" -c "$dead" --connect-retries=0 --format=json -e SHOW
[ ! -s "$BOX/out" ] || fail "no object: $(cat "$BOX/out")"
want_text err '^\*   1011: '

say "somebody else listens there"
/usr/bin/python3 - "$BOX/port" <<'PYTHON' &
import socket, sys
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(9)
open(sys.argv[1], "w").write("%d\n" % server.getsockname()[1])
while True:
    client, _ = server.accept()
    client.sendall(b"220 mail \x7fready\r\n\r\n")
PYTHON
PIDS+=($!)
stranger=$!
for _ in $(seq 900); do
    [ -s "$BOX/port" ] && break
    sleep 0.1
done
junk=127.0.0.1:$(cat "$BOX/port")
services=()
for servers in "$junk" "$dead,$junk" "$junk,$dead"; do # A service waits, whoever answers.
    "$BIN/ndbmtd" -c "$servers" --connect-retries=-1 --foreground >"$BOX/service.out" 2>&1 &
    services+=($!)
    PIDS+=($!)
    wait_text service.out 'the node waits for a management server: .*it is no management server: it says "220 mail \?ready'
done
want 3 "$BIN/ndb_waiter" -c "$junk" --timeout=3
want_text err '^ndb_waiter: waits for a management server: 127\.0\.0\.1 port [0-9]+: it is no management server: it says "220 mail \?ready'
for pid in "${services[@]}"; do kill "$pid" || fail "ndbmtd has ended, though it was to try for ever"; done
kill "$stranger" # It is not one of the cluster's programs.

say "somebody listens there and never answers"
/usr/bin/python3 - "$BOX/silent" <<'PYTHON' &
import socket, sys, time
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(9)
open(sys.argv[1], "w").write("%d\n" % server.getsockname()[1])
while True:
    time.sleep(100)
PYTHON
PIDS+=($!)
stranger=$!
for _ in $(seq 900); do
    [ -s "$BOX/silent" ] && break
    sleep 0.1
done
silent=127.0.0.1:$(cat "$BOX/silent")
for tool in ndb_config ndb_memcached_config\ show ndb_show_tables ndb_waiter ndb_mgm\ -e\ SHOW ndbmtd "ndb_memcached -u root -p $(free_port)"; do
    # shellcheck disable=SC2086
    NDB_CONNECTSTRING=$silent "$BIN"/$tool >"$BOX/tool.out" 2>"$BOX/tool.err" &
    pid=$!
    PIDS+=("$pid")
    wait_text tool.err "^${tool%% *}: waits for a management server: no answer yet from $silent\$"
    kill "$pid"
    wait "$pid" 2>/dev/null
done
kill "$stranger"

say "on a terminal the line changes and goes"
script -qec "stty cols 200; $BIN/ndb_waiter -c $dead --timeout=3" /dev/null >"$BOX/terminal" 2>&1
grep -qE $'\r\033\\[Kndb_waiter: waits since [12] s for a management server: 127' "$BOX/terminal" || fail "no line that changes: $(cat -v "$BOX/terminal")"
grep -qE $'\r\033\\[KUnable to connect to management server' "$BOX/terminal" || fail "the line stays: $(cat -v "$BOX/terminal")"

say "on a terminal that is too narrow the reason is told once, above the line that changes"
script -qec "stty cols 60; $BIN/ndb_waiter -c $dead --timeout=4" /dev/null >"$BOX/terminal" 2>&1
whole="ndb_waiter: waits for a management server: 127\.0\.0\.1 port ${dead#*:}: Connection refused"
[ "$(grep -cE "$whole" "$BOX/terminal")" = 1 ] || fail "not one line with the whole reason: $(cat -v "$BOX/terminal")"
grep -qE $'\r\033\\[Kndb_waiter: waits since [0-9]+ s(\r|$)' "$BOX/terminal" || fail "no short line that changes: $(cat -v "$BOX/terminal")"

say "no data node is ready: what they do is told, and the tool goes on when one is"
node_port=$(free_port)
for try in 1 2 3; do
    write_config 1 1 "ServerPort=$node_port"
    start_mgm --initial
    wait_mgm && break
    [ "$try" -lt 3 ] || die "the management server does not start"
done
run "$BIN/ndb_show_tables" >"$BOX/tool.out" 2>"$BOX/tool.err" &
tool=$!
wait_text tool.err "^ndb_show_tables: waits for a data node of the cluster at $CS: none of 1 is ready \(node 1: NO_CONTACT\); no link to node 1 at 127\.0\.0\.1 port $node_port: .*refused$"
"$BIN/ndb_memcached" -u root -p "$(free_port)" 2>"$BOX/server.err" &
PIDS+=($!)
wait_text server.err "^ndb_memcached: waits for a data node of the cluster at $CS: none of 1 is ready \(node 1: NO_CONTACT\); no link to node 1 "
kill $!
start_node 1
wait "$tool" || fail "ndb_show_tables ends with $?: $(cat "$BOX/tool.err")"
grep -q '^id ' "$BOX/tool.out" || fail "no list: $(cat "$BOX/tool.out")"
want 0 "$BIN/ndb_waiter" --timeout=100

say "a node id that another one has"
"$BIN/ndb_show_tables" --ndb-nodeid=3 --loops=100000 >/dev/null 2>&1 &
holder=$!
PIDS+=("$holder")
for _ in $(seq 900); do
    "$BIN/ndb_mgm" -e SHOW | grep -qE 'id=3.*127\.0\.0\.1' && break
    sleep 0.1
done
run "$BIN/ndb_show_tables" --ndb-nodeid=3 >"$BOX/tool.out" 2>"$BOX/tool.err" &
tool=$!
wait_text tool.err "^ndb_show_tables: waits for a node id from the management server at $CS: .*node id 3 is already in use"
kill "$holder"
wait "$tool" || fail "ndb_show_tables ends with $?: $(cat "$BOX/tool.err")"
want 1 "$BIN/ndb_show_tables" --ndb-nodeid=1 # Of another kind: no wait.
want_text err '^No node id from the management server'
want_text err '^1704: .*node id 1 is not configured as '
lines err 'waits for' 0

say "ndb_waiter says which nodes are not as wanted"
want 1 "$BIN/ndb_waiter" --not-started --timeout=1
want_text err '^Not all nodes are NOT_STARTED after 1 s: node 1 is STARTED$'
for nodes in 7 1,7; do
    want 1 "$BIN/ndb_waiter" --wait-nodes=$nodes
    want_text err '^ndb_waiter: --wait-nodes: there is no data node 7$'
done
want 1 "$BIN/ndb_waiter" --nowait-nodes=7
want_text err '^ndb_waiter: --nowait-nodes: there is no data node 7$'
want 1 "$BIN/ndb_waiter" --no-contact --timeout=1 --format=json
one_line
want_text out '"reached": ?false'
want_text err 'node 1 is STARTED$'

say "ndb_waiter: the management server goes, and comes back"
run "$BIN/ndb_waiter" --no-contact --timeout=140 >"$BOX/tool.out" 2>"$BOX/tool.err" &
tool=$!
wait_text tool.out '^Node 1: STARTED \(waiting for NO_CONTACT\)$'
kill "$MGM_PID"
ended "$MGM_PID" || fail "the management server ends with exit code $?"
wait_text tool.err "^ndb_waiter: waits for a management server: 127\.0\.0\.1 port ${CS#*:}: Connection refused$"
start_mgm
wait_mgm || fail "the management server does not start again"
want 0 "$BIN/ndb_mgm" -e 'ALL STOP'
wait "$tool" || fail "ndb_waiter ends with $?: $(cat "$BOX/tool.err")"
ended "${NODE_PIDS[1]}" || fail "node 1 ends with exit code $?"

say "a node of another cluster runs where this cluster's would be"
first=$CS
other=$BOX/other
mkdir "$other"
BOX=$other write_config 1 1 "ServerPort=$node_port"
BOX=$other start_mgm --initial
wait_mgm || fail "the other management server does not start"
BOX=$other start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100
want 1 "$BIN/ndb_show_tables" -c "$first"
foreign="node 1 at 127\.0\.0\.1 port $node_port belongs to another cluster than the management server's"
want_text err "^ndb_show_tables: waits for a data node of the cluster at $first: none of 1 is ready \(node 1: [A-Z_]*\); $foreign$"
want_text err "^Cluster nodes not ready in [0-9]* seconds: $foreign\.$"

say "an import is held up"
want 0 "$BIN/ndb_create_table" -e 'CREATE TABLE held (a INT PRIMARY KEY)'
mkfifo "$BOX/held.csv"
run "$BIN/ndb_import" --state-dir="$BOX" test "$BOX/held.csv" >"$BOX/tool.out" 2>"$BOX/tool.err" &
tool=$!
exec 7>"$BOX/held.csv"
seq 1 1000 >&7
kill -STOP "${NODE_PIDS[1]}"
seq 1001 20000 >&7 & # More than are on their way at once.
feeder=$!
wait_text tool.err '^ndb_import: waits for the data nodes: they have taken no row for a while\. '
kill -CONT "${NODE_PIDS[1]}"
exec 7>&-
wait "$feeder"
wait "$tool" || fail "the import ends with $?: $(cat "$BOX/tool.err")"
want 0 "$BIN/ndb_select_count" held
want_text out '^20000 records'

say "the management server hangs while single user mode is to end"
mkfifo "$BOX/console"
run "$BIN/ndb_mgm" <"$BOX/console" >"$BOX/tool.out" 2>"$BOX/tool.err" &
tool=$!
exec 7>"$BOX/console"
echo SHOW >&7
wait_text tool.out '^id=1'
kill -STOP "$MGM_PID"
echo 'EXIT SINGLE USER MODE' >&7
wait_text tool.err '^ndb_mgm: waits for the answer of the management server at '
kill -CONT "$MGM_PID"
exec 7>&-
wait "$tool" || fail "the console ends with $?: $(cat "$BOX/tool.err")"
want_text tool.out '^Single user mode was not on: all clients may work'

say "all data nodes hang: who is waited for is named, and who has not answered"
kill -STOP "${NODE_PIDS[1]}"
# asks NAME COMMAND...: beside the others, since a server waits long for a node.
asked=()
asks() {
    local name=$1
    shift
    run "$@" >"$BOX/$name.out" 2>"$BOX/$name.err" &
    asked+=($!)
}
asks memory "$BIN/ndb_mgm" -e 'ALL REPORT MEMORY'
asks events "$BIN/ndb_mgm" -e 'ALL REPORT EventLog'
asks redo "$BIN/ndb_mgm" --format=json -e 'ALL REPORT RedoLog'
asks stop "$BIN/ndb_mgm" -e '1 STOP'
asks all "$BIN/ndb_mgm" -e SHUTDOWN
asks top "$BIN/ndb_top" --text --count=1
want 0 /usr/bin/python3 "$HERE/console_terminal.py" "$BIN/ndb_mgm" "$BOX/history" hang
for pid in "${asked[@]}"; do wait "$pid" && fail "a command has succeeded whose node hangs"; done
for name in memory events redo; do lines "$name.err" "^ndb_mgm: waits for node 1's answer$" 1; done
for name in stop all; do
    lines "$name.err" '^ndb_mgm: waits for node 1 to stop$' 1
    lines "$name.out" '^\*        Node 1 does not answer\. It was told to stop, and does when it goes on, unless the others have gone on without it: then it is restarted$' 1
done
for name in memory events; do lines "$name.out" '^Node 1 does not answer$' 1; done
lines redo.out '"error":	5005' 1
lines top.err "^ndb_top: waits for node 1's answer$" 1
lines top.err '^Node 1 does not answer$' 1
lines top.err 'Connection to management server lost' 0
kill -9 "${NODE_PIDS[1]}"

say "a data node's host name that nobody knows is told, too"
mkdir "$BOX/unknown"
write_config 1 1 "ServerPort=$(free_port)"
sed -i "s#$BOX/mgm\$#$BOX/unknown#" "$BOX/config.ini"
printf '[tcp]\nNodeId1=1\nNodeId2=2\nHostName1=no.such.host.invalid\n' >>"$BOX/config.ini"
"$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --config-dir="$BOX/unknown" --nodaemon >"$BOX/unknown.out" 2>&1 &
MGM_PID=$!
PIDS+=("$MGM_PID")
wait_mgm || die "the management server does not start: $(cat "$BOX/unknown.out")"
"$BIN/ndb_show_tables" --ndb-nodeid=2 >"$BOX/tool.out" 2>"$BOX/tool.err" &
tool=$!
PIDS+=("$tool")
wait_text tool.err 'the host name of node 1 cannot be resolved: '
kill "$tool"
