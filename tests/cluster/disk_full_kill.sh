#!/bin/bash
# disk_full_kill.sh -- ROUNDS times: the disk of one of two nodes, or of both, becomes full under load, amid which both are
# killed. They start when there is room again; in half of the rounds they are started before, and start too, or stop and say
# what there was no room for. All that was answered as durable is there, no transaction by halves.
# SPDX-License-Identifier: GPL-2.0-only
ROUNDS=${ROUNDS:-2}
TEST_DEADLINE=${TEST_DEADLINE:-$((300 + ROUNDS * 120))}
# In a name space of its own, so that anybody can mount a small file system; skipped where that is not allowed.
if [ -z "${DISK_FULL_INSIDE:-}" ]; then
    unshare -rm true 2>/dev/null || { echo "no name space of its own: skipped"; exit 77; }
    DISK_FULL_INSIDE=1 exec unshare -rm "$0" "$@"
fi
source "$(dirname "$0")/cluster.sh"
SEED=${SEED:-$$}
RANDOM=$SEED
trap 'code=$?; umount -l "$BOX/node1" "$BOX/node2" 2>/dev/null; (exit $code); cleanup' EXIT
# Besides "another node failed while this one started", what a full disk is the reason of.
RESOURCE=$(sed -nE 's/^EXIT_CODE\(([0-9]+), [A-Z_]+, "resource".*/\1/p' "$HERE/../../kernel/exit_codes.def" | paste -sd '|')
[ -n "$RESOURCE" ] || die "no exit codes of resources"

fill() { # id: all but a few KB are taken.
    dd if=/dev/zero of="$BOX/node$1/filler" bs=64k 2>/dev/null
    truncate -s "-$((RANDOM % 2 * (RANDOM % 3000)))K" "$BOX/node$1/filler"
}

ends() { grep 'Forced node shutdown' "$BOX/node$1.out"; }

# Of those that have ended by themselves.
ended_by_name() {
    local id code
    for id in 1 2; do
        for code in $(ends "$id" | sed -nE 's/.*Caused by error ([0-9]+).*/\1/p'); do
            [[ $code =~ ^($RESOURCE|2308)$ ]] || fail "node $id has ended with $code: $(ends "$id")"
            [ "$code" = 2308 ] || grep -qE '(D1|REDO|LCP)/[^ ]+.*2810' "$BOX/node$id.out" ||
                fail "no file and error: $(tail -n 5 "$BOX/node$id.out")"
            [ "$code" = 2308 ] || stopped=$((stopped + 1))
            echo "    node $id: $code"
        done
        [ -z "$(ends "$id")" ] || ended=1
    done
}

start_both() {
    : >"$BOX/node1.out"
    : >"$BOX/node2.out"
    start_node 1
    start_node 2
}

# Until both run, or one has ended.
outcome() {
    local id
    for _ in $(seq 1800); do
        for id in 1 2; do kill -0 "${NODE_PIDS[id]}" 2>/dev/null || return 0; done
        [ "$("$BIN/ndb_mgm" -e 'ALL STATUS' 2>/dev/null | grep -cE '^Node [12]: started')" -eq 2 ] && return 0
        sleep 0.05
    done
    fail "the nodes neither start nor end"
}

mkdir -p "$BOX/mgm" "$BOX/node1" "$BOX/node2" "$BOX/kill"
write_config 2 2
for id in 1 2; do mount -t tmpfs -o size=60m none "$BOX/node$id" || die "no small file system"; done
start_mgm --initial
wait_mgm || die "the management server does not start"
start_both
want 0 "$BIN/ndb_waiter" --timeout=100
refused=0
stopped=0
for ((round = 1; round <= ROUNDS; round++)); do
    case $((RANDOM % 4)) in
    0) full=1 ;;
    1) full=2 ;;
    *) full='1 2' ;;
    esac
    echo "round $round, seed $SEED: the disk of $full"
    : >"$BOX/load.out" # Before the first look at it.
    timeout -k 5 120 "$BIN/kill_client" run "$BOX/kill" $((RANDOM % 4 + 1)) >"$BOX/load.out" 2>&1 &
    load=$!
    PIDS+=("$load")
    wait_text load.out running
    for id in $full; do fill "$id"; done
    "$BIN/ndb_mgm" -e 'ALL DUMP 7099' >/dev/null # Something to write.
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
    kill_nodes
    kill -TERM "$(pgrep -P "$load")" 2>/dev/null
    wait "$load"
    tail -n 1 "$BOX/load.out"
    grep -q '^run: commits=[1-9]' "$BOX/load.out" || fail "the load has not committed anything"
    ! grep -q 2810 "$BOX"/node[12].out || refused=$((refused + 1))
    ended=0
    ended_by_name
    if [ $((RANDOM % 2)) -eq 0 ]; then
        start_both
        outcome
        ended=0
        ended_by_name
        if [ "$ended" -eq 0 ]; then
            echo "    started without room"
            want 0 "$BIN/kill_client" verify "$BOX/kill"
        fi
        kill_nodes
    fi
    rm "$BOX"/node[12]/filler
    start_both
    want 0 "$BIN/ndb_waiter" --timeout=100
    want 0 "$BIN/kill_client" verify "$BOX/kill"
    tail -n 1 "$BOX/out"
    [ "$FAILED" -eq 0 ] || exit 1
done
echo "$ROUNDS rounds, in $refused of them something was refused for the full disk, $stopped times a node stopped for it"
[ "$refused" -gt 0 ] || [ "$ROUNDS" -lt 10 ] || fail "the disk was never full" # In two of three rounds it is noticed before the kill.
