# memcached_server.sh -- ndb_memcached for tests: how it starts and ends, and a dialogue with it; sourced after cluster.sh.
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash

# start_server ROLE [options]: on $PORT, with its log in server.$PORT; its number is $SERVER_PID.
start_server() {
    local role=$1 try
    shift
    for try in 1 2 3; do
        PORT=$(free_port)
        "$BIN/ndb_memcached" -l 127.0.0.1 -p "$PORT" -t 2 -u root -e "connectstring=$CS;role=$role" "$@" >"$BOX/server.$PORT" 2>&1 &
        SERVER_PID=$!
        PIDS+=("$SERVER_PID")
        for _ in $(seq 600); do
            grep -qs 'ready: role' "$BOX/server.$PORT" && return 0
            kill -0 "$SERVER_PID" 2>/dev/null || break
            sleep 0.1
        done
        grep -q 'in use' "$BOX/server.$PORT" || break # Somebody else was faster.
    done
    cat "$BOX/server.$PORT"
    die "ndb_memcached does not start"
}

stop_server() { # pid
    kill -TERM "$1"
    wait "$1" && return 0
    fail "ndb_memcached ended with an error"
    tail -n 60 "$BOX"/server.*
}

# talk PORT TEXT: replies to what is sent, into out, without carriage returns.
talk() {
    printf '%b' "$2" | run "$BIN/mc_client" send "$1" | tr -d '\r' >"$BOX/out"
}

# reply PORT TEXT REPLY: lines as with printf.
reply() {
    talk "$1" "${2}quit\r\n"
    [ "$(cat "$BOX/out")" = "$(printf '%b' "$3")" ] && return 0
    fail "to '$2' the answer is"
    head -c 2000 "$BOX/out"
    echo "instead of '$3'"
}
