#!/bin/bash
# memcached_compare.sh -- the same requests to memcached itself and to ndb_memcached, from the cache and from tables; the replies
# are the same but for what memcached_compare.py maps.
# SPDX-License-Identifier: GPL-2.0-only
#
# COMPARE_REQUESTS: so many requests of each kind (4000), a quarter of them for tables; COMPARE_TIMED: of those with pauses (200).
# SEED: the first script's number (1); 0: the clock's.
source "$(dirname "$0")/cluster.sh"

command -v memcached >/dev/null || {
    echo "memcached is not installed"
    exit 77
}
REQUESTS=${COMPARE_REQUESTS:-4000}
TIMED=${COMPARE_TIMED:-200}
SEED=${SEED:-1}
[ "$SEED" -ne 0 ] || SEED=$(date +%s)

PEER_PIDS=() # memcached, and who asks it, are no programs of ours: cleanup leaves them alone.
end_all() {
    local code=$? pid
    exec 2>/dev/null
    for pid in "${PEER_PIDS[@]:-}"; do
        case "$(cat "/proc/$pid/comm" 2>/dev/null)" in
        memcached) kill -9 "$pid" ;;
        timeout) kill "$pid" ;;
        esac
    done
    (exit "$code")
    cleanup
}
trap end_all EXIT

listens() { # PORT PID LOG...
    for _ in $(seq 600); do
        (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && kill -0 "$2" 2>/dev/null && return 0
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# start PORT_NAME COMMAND...: a server on a free port, which is its last argument.
start() {
    local name=$1 port pid
    shift
    for _ in 1 2 3; do # Somebody else may be faster.
        port=$(free_port)
        "$@" "$port" >"$BOX/$name.log" 2>&1 &
        pid=$!
        if [ "$1" = memcached ]; then PEER_PIDS+=("$pid"); else PIDS+=("$pid"); fi
        listens "$port" "$pid" && break
        pid=
    done
    [ -n "$pid" ] || die "$1 does not start: $(cat "$BOX/$name.log")"
    printf -v "$name" %s "$port"
}
# Its background threads hold items for a moment, and whether a number that gets shorter keeps its size depends on that.
peer() { start "$1" memcached -l 127.0.0.1 -U 0 -t 2 -u root -o no_lru_maintainer,no_lru_crawler -p; }
server() { start "$1" "$BIN/ndb_memcached" -l 127.0.0.1 -t 2 -u root -e "connectstring=$CS;role=$2" -p; }

# compare PEER_PORT OUR_PORT KIND REQUESTS: in the background, as $COMPARING.
compare() {
    timeout -k 5 "$DEADLINE" /usr/bin/python3 "$HERE/memcached_compare.py" "$1" "$2" "$3" "$SEED" "$4" >"$BOX/$3.out" 2>&1 &
    COMPARING=$!
    PEER_PIDS+=("$COMPARING")
}
# compared PID KIND: its end.
compared() {
    wait "$1" || fail "$2: memcached answers otherwise"
    say "$2"
    cat "$BOX/$2.out"
}

start_cluster 1 1
want 0 "$BIN/ndb_memcached" --bootstrap -e "connectstring=$CS"
peer PEER
server CACHE mc-only
server ROWS db-only

# Requests with pauses have servers of their own: flush_all is everybody's.
peer PEER_TIMED
server CACHE_TIMED mc-only
compare "$PEER_TIMED" "$CACHE_TIMED" timed "$TIMED"
timed=$COMPARING

for kind in text meta binary; do
    compare "$PEER" "$CACHE" "$kind" "$REQUESTS"
    compared "$COMPARING" "$kind"
done
for kind in rows rows_binary; do
    compare "$PEER" "$ROWS" "$kind" $((REQUESTS / 4))
    compared "$COMPARING" "$kind"
done
compared "$timed" timed
stop_cluster
