#!/bin/bash
# restart.sh -- orders from the console to daemons with angels; a management server that comes back.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

# gone FILE: waits until a pid file is removed, the last thing that a daemon does.
gone() {
    for _ in $(seq 900); do
        [ -e "$1" ] || return 0
        sleep 0.1
    done
    fail "$1 is still there"
}

say "the management server is killed and comes back; data nodes and rows stay"
load_and_compare 500
kill -9 "$MGM_PID"
wait "$MGM_PID" 2>/dev/null
start_mgm
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_select_count" -d test awkward
want_text out '^500 records'
drop_awkward
stop_cluster

say "daemons: ALL RESTART, ALL RESTART -n, ALL START"
start_mgm
start_daemon 1
start_daemon 2
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_mgm" -e 'ALL RESTART'
want_text out 'All DB nodes are being restarted'
want 0 "$BIN/ndb_waiter" --timeout=100
load_and_compare 500
want 0 "$BIN/ndb_mgm" -e '1 STOP'
want 255 "$BIN/ndb_mgm" -e '2 RESTART'
want_text out 'node 1 is not connected\. Start another one first, or restart all nodes \(ALL RESTART\)'
want 0 "$BIN/ndb_mgm" -e 'ALL RESTART'
want_text out 'not told to restart: node 1\. The others wait for them: start them\.$'
start_daemon 1
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_mgm" -e 'ALL RESTART -n'
want 0 "$BIN/ndb_waiter" --not-started --timeout=100
want 0 "$BIN/ndb_mgm" -e 'ALL STATUS'
want_text out '^Node 1: not started'
want_text out '^Node 2: not started'
want 0 "$BIN/ndb_mgm" -e 'ALL START'
want_text out 'NDB Cluster is being started'
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_select_count" -d test awkward
want_text out '^500 records'
drop_awkward
load_and_compare 500

say "a started node ends by SIGTERM: the other one goes on without it, and ends by SIGTERM too"
kill -TERM "$(cat "$BOX/node1/ndb_1.pid")"
gone "$BOX/node1/ndb_1.pid"
want 0 "$BIN/ndb_select_count" -d test awkward
want_text out '^500 records'
kill -TERM "$(cat "$BOX/node2/ndb_2.pid")"
gone "$BOX/node2/ndb_2.pid"
want 0 "$BIN/ndb_waiter" --no-contact --timeout=100

say "daemons that wait for START"
start_daemon 1 --nostart
start_daemon 2 --nostart
want 0 "$BIN/ndb_waiter" --not-started --timeout=100
want 0 "$BIN/ndb_mgm" -e 'ALL START'
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
gone "$BOX/node1/ndb_1.pid"
gone "$BOX/node2/ndb_2.pid"
gone "$BOX/mgm/ndb_49.pid"
ended "$MGM_PID" || fail "the management server ends with exit code $?"

say "without angels: RESTART -n, START, RESTART -i, RESTART; each process goes on as the same one"
start_mgm
: >"$BOX/node1.out"
: >"$BOX/node2.out"
start_node 1 --nostart # Which counts until the first order.
start_node 2 --nostart
want 0 "$BIN/ndb_waiter" --not-started --timeout=100
want 0 "$BIN/ndb_mgm" -e 'ALL START'
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_mgm" -e '2 RESTART -n'
want 0 "$BIN/ndb_waiter" --wait-nodes=2 --not-started --timeout=100
want 0 "$BIN/ndb_mgm" -e '2 START'
want 0 "$BIN/ndb_waiter" --timeout=100
for order in '2 RESTART -i' '1 RESTART'; do
    : >"$BOX/node${order%% *}.out"
    want 0 "$BIN/ndb_mgm" -e "$order"
    wait_text "node${order%% *}.out" 'Node shutdown completed, restarting'
    want 0 "$BIN/ndb_waiter" --timeout=100
    want 0 "$BIN/ndb_select_count" -d test awkward
    want_text out '^500 records'
done
want_text node2.out 'initial'
want 0 "$BIN/ndb_mgm" -e 'ALL RESTART'
for id in 1 2; do wait_text "node$id.out" 'Node shutdown completed, restarting'; done
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_select_count" -d test awkward
want_text out '^500 records'
for id in 1 2; do kill -0 "${NODE_PIDS[id]}" || fail "node $id is another process"; done
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
for id in 1 2; do ended "${NODE_PIDS[id]}" || fail "node $id ends with exit code $?"; done
unset 'NODE_PIDS[1]' 'NODE_PIDS[2]'
ended "$MGM_PID" || fail "the management server ends with exit code $?"
