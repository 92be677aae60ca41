#!/bin/bash
# memcached_unknown.sh -- data nodes stand still while an increment or an append is under way: the client is told that nobody
# knows, nothing is done twice.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
source "$HERE/memcached_server.sh"
DEADLINE_MS=600
HEARTBEAT=HeartbeatIntervalDbDb=8000 # Who stands still is waited for.
start_cluster 2 2 'HeartbeatIntervalDbApi=10000
TransactionDeadlockDetectionTimeout=60000'
want 0 "$BIN/ndb_memcached" --bootstrap -e "connectstring=$CS"
start_server db-only -e "deadline=$DEADLINE_MS"

signal() { # STOP|CONT NODE...
    local what=$1 id
    shift
    for id in "$@"; do kill "-$what" "${NODE_PIDS[id]}" 2>/dev/null; done
}

# Until what was under way is done: changes of the same rows are answered again. Reads need not wait for others.
settled() { # KEY...
    local key
    for key in "$@"; do
        for _ in $(seq 600); do
            talk "${late:-$PORT}" "touch $key 0\r\nincr $key 0\r\nprepend $key 0 0 0\r\n\r\nquit\r\n"
            grep -q SERVER_ERROR "$BOX/out" || break
            sleep 0.1
        done
    done
}

value() { # KEY
    talk "${late:-$PORT}" "get $1\r\nquit\r\n"
    sed -n 2p "$BOX/out"
}

# By the server whose deadline is far.
wait_stored() { # KEY VALUE
    for _ in $(seq 100); do
        talk "$late" "set $1 0 0 ${#2}\r\n$2\r\nquit\r\n"
        grep -q STORED "$BOX/out" && return 0
        sleep 0.1
    done
    fail "$1 cannot be stored: $(cat "$BOX/out")"
}

# unknown KEY OLD NEW REQUEST: with each of the nodes stopped in turn, and both.
unknown() {
    local key=$1 old=$2 new=$3 request=$4 nodes got told=0
    for nodes in '1 2' 1 2; do
        reply "$PORT" "set $key 0 0 ${#old}\r\n$old\r\n" 'STORED\n'
        # shellcheck disable=SC2086
        signal STOP $nodes
        talk "$PORT" "$request" # The server closes after the reply: of a quit that follows it.
        # shellcheck disable=SC2086
        signal CONT $nodes
        got=$(head -n 1 "$BOX/out")
        settled "$key"
        [ "$got" != 'SERVER_ERROR outcome not known' ] || told=$((told + 1))
        now=$(value "$key")
        echo "nodes $nodes stood still: '$got', then '$now'"
        [ "$now" = "$old" ] || [ "$now" = "$new" ] || fail "the value is '$now', neither '$old' nor '$new'"
        case $got in
        'SERVER_ERROR outcome not known') ;;
        SERVER_ERROR*) [ "$now" = "$old" ] || fail "it was refused and is done" ;;
        *) [ "$now" = "$new" ] || fail "it was answered and is not done" ;;
        esac
    done
    # An append may get no further than its read: see below for one whose commit is under way.
    [ "$told" -gt 0 ] || [[ $request == append* ]] || fail "no client was told that the outcome is not known"
}

say "an increment"
unknown number 10 15 'incr number 5\r\nquit\r\n'
say "an increment by the meta command"
unknown meta 10 15 'ma meta D5 v\r\nquit\r\n'
say "an append"
unknown text abc abcdef 'append text 0 0 3\r\ndef\r\nquit\r\n'
say "an append to a value in parts"
unknown b:parts abc abcdef 'append b:parts 0 0 3\r\ndef\r\nquit\r\n'

say "an increment of the binary protocol: status 0x86"
reply "$PORT" 'set binary 0 0 2\r\n10\r\n' 'STORED\n'
signal STOP 1 2
want 0 /usr/bin/python3 - "$PORT" <<'PYTHON'
import socket, struct, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
server.sendall(struct.pack(">BBHBBHIIQQQI", 0x80, 5, 6, 20, 0, 0, 26, 7, 0, 5, 0, 0xffffffff) + b"binary")
head = server.recv(24, socket.MSG_WAITALL)
text = server.recv(struct.unpack(">I", head[8:12])[0], socket.MSG_WAITALL)
assert head[6:8] == b"\0\x86" and text == b"outcome not known", (head, text)
PYTHON
signal CONT 1 2
settled binary
now=$(value binary)
[ "$now" = 10 ] || [ "$now" = 15 ] || fail "the value is $now"

say "the commit is under way when the time is up"
late=$PORT late_pid=$SERVER_PID
start_server db-only -e 'deadline=25'
want 0 "$BIN/ndb_mgm" -e 'ALL DUMP 9000 6 8002' # DBTC sends COMMIT 50 ms late.
for what in 'incr late 5' 'append late 0 0 2\r\n15'; do
    done=0
    for _ in $(seq 100); do
        wait_stored late 10
        talk "$PORT" "$what\r\nquit\r\n"
        got=$(head -n 1 "$BOX/out")
        settled late
        now=$(value late)
        case $got:$now in
        'SERVER_ERROR outcome not known:10' | 'SERVER_ERROR the cluster has not answered in time:10' | STORED:1015 | 15:15) ;;
        'SERVER_ERROR outcome not known:15' | 'SERVER_ERROR outcome not known:1015') done=$((done + 1)) ;;
        *) fail "the answer is '$got', and the value '$now'" ;;
        esac
        [ "$done" -lt 3 ] || break
    done
    echo "$what: $done times nobody knew, and it was done, once"
    [ "$done" -ge 3 ] || fail "no commit was under way when the time was up"
done
want 0 "$BIN/ndb_mgm" -e 'ALL DUMP 9000 6 0'
stop_server "$SERVER_PID"
PORT=$late SERVER_PID=$late_pid

for what in incr append; do
    key=storm-$what
    [ "$what" = incr ] || key=b:$key
    say "many at a time: $what"
    : >"$BOX/race.out" # Before the first look at it.
    run "$BIN/mc_client" "$what" 12 "$key" "$PORT" >"$BOX/race.out" 2>&1 &
    racer=$!
    wait_text race.out '^running$'
    for nodes in '1 2' 1 2 '2 1'; do
        sleep 0.3
        # shellcheck disable=SC2086
        signal STOP $nodes
        sleep 1.2
        # shellcheck disable=SC2086
        signal CONT $nodes
    done
    wait "$racer" || fail "$what: $(cat "$BOX/race.out")"
    tail -n 1 "$BOX/race.out"
done
stop_server "$SERVER_PID"
stop_cluster
