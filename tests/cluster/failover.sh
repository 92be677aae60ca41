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
    for _ in $(seq 900); do
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

# --- Data nodes with their angels. LINES go into [ndbd default]. ---

start_daemons() { # NODES REPLICAS
    local id
    write_config "$1" "$2" "$LINES"
    [ -z "${MORE_CONFIG:-}" ] || "$MORE_CONFIG" "$1"
    start_mgm --initial
    wait_mgm || die "the management server does not start"
    for ((id = 1; id <= $1; id++)); do start_daemon "$id"; done
    want 0 "$BIN/ndb_waiter" --timeout=100
    [ "$FAILED" -eq 0 ] || exit 1
}

angel_of() { cat "$BOX/node$1/ndb_$1.pid"; }

# The working process of an angel. Nothing but an angel's child that runs our program.
worker_of() { ours $(pgrep -P "$(angel_of "$1")"); }

# kill_daemons ID...: kill -9 of angels and their children, at one moment: a node whose angel has ended stops in good order, and the others
# would go on without it.
kill_daemons() {
    local id pids=()
    for id in "$@"; do pids+=("$(angel_of "$id")" $(worker_of "$id")); done
    kill -STOP "${pids[@]}" 2>/dev/null
    kill -9 "${pids[@]}" 2>/dev/null
    for id in "$@"; do
        for _ in $(seq 900); do [ -z "$(ours "${pids[@]}")" ] && break; sleep 0.1; done
        rm -f "$BOX/node$id/ndb_$id.pid"
    done
}

# --- Nothing is left behind. ---

# Where a node writes: a daemon to its log, else to what it was started with.
log_of() { if [ -n "${LOG_OF:-}" ]; then echo "$BOX/node$1/ndb_$1_out.log"; else echo "$BOX/node$1.out"; fi; }

# Every pool of the nodes that run is empty, but for what the tables need; called when no client does anything.
pools_are_empty() {
    local id said full lines=()
    for _ in 1 2 3 4 5 6; do
        for id in "${!NODE_PIDS[@]}"; do lines[id]=$(wc -l <"$(log_of "$id")"); done
        want 0 "$BIN/ndb_mgm" -e 'ALL DUMP 2353'
        want 0 "$BIN/ndb_mgm" -e 'ALL DUMP 2555'
        sleep 0.3
        full=
        for id in "${!NODE_PIDS[@]}"; do
            said=$(tail -n "+$((lines[id] + 1))" "$(log_of "$id")" | grep ': pool ')
            grep -q 'DBLQH: pool operations' <<<"$said" && grep -q 'DBTC: pool tables' <<<"$said" ||
                full+="node $id does not say how full its pools are"$'\n'
            full+=$(grep -v 'pool tables: ' <<<"$said" | grep -v ' 0 in use' | sed "s/^/node $id: /")
        done
        [ -z "$full" ] && return 0
    done
    fail "not given back:"
    echo "$full"
}

# Memory that is not the rows' (kB) and files of each process. After the first rounds neither may grow: a node that comes
# back begins anew, one that is never killed shows what each failure leaves behind.
MEMORY=() # Of each node: the most of the first rounds.
FILES=()
MEMORY_ROUNDS=()
nothing_grows() {
    local id pid memory files
    "$BIN/ndb_mgm" --format=json -e 'ALL REPORT MEMORY' >"$BOX/memory.out"
    for id in "${!NODE_PIDS[@]}"; do
        pid=${NODE_PIDS[id]}
        files=$(ls "/proc/$pid/fd" | wc -l)
        memory=$(($(awk '$1 == "VmRSS:" { print $2 }' "/proc/$pid/status") - $(pages_of "$id") * 32))
        echo "node $id: $memory kB besides the rows, $files files"
        MEMORY_ROUNDS[id]=$((${MEMORY_ROUNDS[id]:-0} + 1))
        if [ "${MEMORY_ROUNDS[id]}" -le "${GROWING_ROUNDS:-4}" ]; then
            [ "$memory" -le "${MEMORY[id]:-0}" ] || MEMORY[id]=$memory
            [ "$files" -le "${FILES[id]:-0}" ] || FILES[id]=$files
            continue
        fi
        [ "$memory" -le $((MEMORY[id] + MEMORY[id] / 10 + 6144)) ] || fail "node $id had ${MEMORY[id]} kB, now $memory kB"
        [ "$files" -le $((FILES[id] + 8)) ] || fail "node $id had ${FILES[id]} open files, now $files"
    done
}

pages_of() { # node: of the rows, the most that there were since it has begun
    awk -v node="$1" '/"id":/ { id = $2 + 0 } /"group":/ { group = $2 + 0 }
        id == node && group == 0 && /"high":/ { high = $2 + 0 } END { print high + 0 }' "$BOX/memory.out"
}
