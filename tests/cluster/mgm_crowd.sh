#!/bin/bash
# mgm_crowd.sh -- strangers take all the management server's sessions; consoles, clients and data nodes get in all the same.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
# Both sides of each connection are on this machine: where less is allowed, it is a smaller crowd.
CROWD=2000
ulimit -n 4096 2>/dev/null
[ "$(ulimit -n)" -ge 4096 ] || CROWD=$(($(ulimit -n) - 200))
start_cluster 2 2

crowd() { # KIND COUNT: until crowd_goes
    say "$2 connections: $1"
    : >"$BOX/crowd.out"
    /usr/bin/python3 "$HERE/mgm_crowd.py" "${CS##*:}" "$1" "$2" >"$BOX/crowd.out" 2>&1 &
    CROWD_PID=$!
    PIDS+=("$CROWD_PID")
    wait_text crowd.out '^held$'
}

crowd_goes() {
    kill -0 "$CROWD_PID" || fail "the crowd has ended: $(cat "$BOX/crowd.out")"
    kill "$CROWD_PID"
    wait "$CROWD_PID" 2>/dev/null
}

everybody_gets_in() {
    want 0 "$BIN/ndb_mgm" -e SHOW
    want_text out '^id=1.*@127.0.0.1.*Nodegroup: 0'
    want 0 "$BIN/ndb_show_tables"
}

for kind in silent hello half slow known unread listen; do
    crowd "$kind" 300
    for _ in 1 2 3; do everybody_gets_in; done
    crowd_goes
done
rss() { sed -nE 's/^VmRSS:[^0-9]*([0-9]+) kB/\1/p' "/proc/$MGM_PID/status"; }
[ "$(rss)" -lt 300000 ] || fail "the management server has $(rss) kB"

say "strangers are closed after seconds, also when there is room"
crowd silent 150
wait_text crowd.out '^closed [0-9]+$'
crowd_goes
crowd slow 150
wait_text crowd.out '^closed [0-9]+$'
crowd_goes

crowd silent "$CROWD"
everybody_gets_in
say "a data node is restarted meanwhile, its angel and a console do their work"
want 0 "$BIN/ndb_mgm" -e '2 STOP'
ended "${NODE_PIDS[2]}" || fail "node 2 ends with exit code $?"
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
everybody_gets_in
crowd_goes

say "ids that are taken and not used come back"
want 0 "$BIN/ndb_mgm" -e '2 STOP'
ended "${NODE_PIDS[2]}" || fail "node 2 ends with exit code $?"
crowd holders 20
for _ in $(seq 20); do # It does not wait for an id that another process seems to have.
    start_node 2
    run "$BIN/ndb_waiter" --timeout=10 >"$BOX/out" 2>&1 && break
    kill -0 "${NODE_PIDS[2]}" 2>/dev/null && break
done
want 0 "$BIN/ndb_waiter" --timeout=100
for _ in $(seq 60); do
    run "$BIN/ndb_show_tables" >"$BOX/out" 2>&1 && break
    sleep 1
done
want 0 "$BIN/ndb_show_tables"
crowd_goes
stop_cluster

say "a management server that may open few files"
NODE_PIDS=()
MGM_LIMIT=120
(
    ulimit -n "$MGM_LIMIT"
    exec "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --config-dir="$BOX/mgm" --nodaemon
) >>"$BOX/mgm.out" 2>&1 &
MGM_PID=$!
PIDS+=("$MGM_PID")
wait_mgm || die "the management server does not start"
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
crowd silent 300
everybody_gets_in
ticks() { awk '{print $14 + $15}' "/proc/$MGM_PID/stat"; }
before=$(ticks)
sleep 3
after=$(ticks)
[ $((after - before)) -lt 150 ] || fail "the management server spins: $((after - before)) ticks in 3 s"
crowd_goes
stop_cluster
exit "$FAILED"
