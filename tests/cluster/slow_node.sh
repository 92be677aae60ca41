#!/bin/bash
# slow_node.sh -- one of four data nodes is slow for a while: stopped for STOPPED ms, running for RUNNING ms, by turns. It is
# reported, in the cluster log and by SHOW, it is not killed, and it is well again. Prints what the keys of the other node
# group do meanwhile; nothing is asserted of that.
# SPDX-License-Identifier: GPL-2.0-only
STOPPED=${STOPPED:-40}
RUNNING=${RUNNING:-4}
VICTIMS=${VICTIMS:-3 1}
TEST_DEADLINE=${TEST_DEADLINE:-800}
source "$(dirname "$0")/cluster.sh"

# shows ID slow|well: 60 s at most.
shows() {
    local begin
    begin=$(date +%s%N)
    for _ in $(seq 900); do
        "$BIN/ndb_mgm" -e SHOW >"$BOX/show.out"
        if [ "$2" = slow ]; then
            grep -qE "^id=$1[[:space:]].*, slow\)" "$BOX/show.out" && break
        else
            grep -qE "^id=$1[[:space:]].*Nodegroup" "$BOX/show.out" && ! grep -q ', slow)' "$BOX/show.out" && break
        fi
        sleep 0.2
    done
    grep -E '^id=[1-4]' "$BOX/show.out"
    if [ "$2" = slow ]; then
        grep -qE "^id=$1[[:space:]].*, slow\)" "$BOX/show.out" || fail "node $1 is not found slow"
        [ "$(grep -c ', slow)' "$BOX/show.out")" -eq 1 ] || fail "others are found slow"
    else
        ! grep -q ', slow)' "$BOX/show.out" || fail "node $1 does not get well"
    fi
    echo "node $1 is $2 after $((($(date +%s%N) - begin) / 1000000)) ms"
}

# Commits in a second, on average of the last N that the client has printed.
rate() { tail -n "$1" "$BOX/count.out" | awk '/^committed/ { sum += $2; n++ } END { print n ? int(sum / n) : 0 }'; }

# Until the client has printed N lines more.
lines_more() {
    local wanted=$(($(wc -l <"$BOX/count.out") + $1))
    for _ in $(seq 600); do
        [ "$(wc -l <"$BOX/count.out")" -ge "$wanted" ] && return 0
        sleep 0.1
    done
    fail "the client does not go on"
}

say "4 nodes, 2 node groups"
start_cluster 4 2
for victim in $VICTIMS; do
    others='1 2'
    [ "$victim" -gt 2 ] || others='3 4'
    run "$BIN/ndb_drop_table" -d test slow >/dev/null 2>&1
    : >"$BOX/count.out" # Before the first look at it.
    # shellcheck disable=SC2086
    "$BIN/slow_client" count $others >"$BOX/count.out" 2>&1 &
    client=$!
    PIDS+=("$client")
    wait_text count.out '^running'
    lines_more 4
    before=$(rate 3)
    say "node $victim stops for $STOPPED ms and runs for $RUNNING ms"
    "$BIN/slow_client" stall "${NODE_PIDS[victim]}" "$STOPPED" "$RUNNING" &
    stall=$!
    PIDS+=("$stall")
    shows "$victim" slow
    lines_more 6
    during=$(rate 5)
    kill -TERM "$stall"
    wait "$stall"
    say "node $victim runs as before"
    shows "$victim" well
    lines_more 4
    echo "keys of nodes $others: $before commits/s before, $during while node $victim is slow, $(rate 3) afterwards"
    kill -TERM "$client"
    wait "$client" || { fail "the client ends with exit code $?"; tail -n 5 "$BOX/count.out"; }
    for id in 1 2 3 4; do kill -0 "${NODE_PIDS[id]}" 2>/dev/null || fail "node $id has ended"; done
    grep -hE "Node $victim is (slow|as fast)" "$BOX"/mgm/*cluster.log
    [ "$(grep -hcE "Node $victim is slow" "$BOX"/mgm/*cluster.log)" -ge 1 ] || fail "the cluster log does not say it"
    [ "$FAILED" -eq 0 ] || exit 1
done
stop_cluster
