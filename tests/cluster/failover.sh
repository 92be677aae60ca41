# failover.sh -- what the tests of lost data nodes have in common; sourced by them, after cluster.sh.
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash

# The bank goes on for so many seconds, or until end_bank.
start_bank() { # seconds (0: until end_bank) [options]
    local seconds=$1
    shift
    rm -f "$BOX/bank.out"
    "$BIN/failover_client" --threads=4 --seconds="$seconds" "$@" >"$BOX/bank.out" 2>&1 &
    BANK=$!
    PIDS+=("$BANK")
    for _ in $(seq 300); do
        grep -qs running "$BOX/bank.out" && return 0
        kill -0 "$BANK" 2>/dev/null || break
        sleep 0.1
    done
    cat "$BOX/bank.out"
    die "the bank does not open"
}

# It proves that it was one bank all the time. Prints its last line; BANK_GAP gets the longest gap in milliseconds.
end_bank() {
    kill -TERM "$BANK" 2>/dev/null
    for _ in $(seq 900); do kill -0 "$BANK" 2>/dev/null || break; sleep 0.1; done
    wait "$BANK" || fail "the bank ends with exit code $?"
    tail -n 5 "$BOX/bank.out"
    grep -q '^failover: commits=[1-9]' "$BOX/bank.out" || fail "the bank has not committed anything"
    BANK_GAP=$(sed -nE 's/.* gap_ms=([0-9]+).*/\1/p' "$BOX/bank.out")
}

gap_at_most() { # milliseconds
    [ "${BANK_GAP:-999999}" -le "$1" ] || fail "the longest gap was $BANK_GAP ms, more than $1"
}

status_of() { "$BIN/ndb_mgm" -e "$1 STATUS" | sed -nE "s/^Node $1: (.*) \\(ndb-.*/\\1/p; s/^Node $1: (not connected)$/\\1/p"; }

# wait_started ID: a starting node becomes started; prints how long that took from the call on.
wait_started() {
    local begin status
    begin=$(date +%s%N)
    for _ in $(seq 600); do
        status=$(status_of "$1")
        if [ "$status" = started ]; then
            echo "node $1 is started after $((($(date +%s%N) - begin) / 1000000)) ms"
            return 0
        fi
        sleep 0.1
    done
    die "node $1 does not start: $status"
}

kill_node() { # id...
    local id
    for id in "$@"; do kill -9 "${NODE_PIDS[id]}" 2>/dev/null; done
    for id in "$@"; do
        wait "${NODE_PIDS[id]}" 2>/dev/null
        unset "NODE_PIDS[id]"
    done
}

restart_node() { # id...
    local id
    for id in "$@"; do start_node "$id"; done
    for id in "$@"; do wait_started "$id"; done
}
