#!/bin/bash
# process_watchdog.sh -- a handler that does not end: the watchdog's reports, and its end of the node.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

say "the loop is short enough: reports with the trail, and the node lives on"
start_cluster 1 1 $'TimeBetweenWatchDogCheck=2000\nThreadConfig=main,rep,ldm,tc,recv'
# Two checks and a half: two of them come within, so there is a report, and the third one is four seconds before the end.
want 0 "$BIN/ndb_mgm" -e '1 DUMP 9000 1 9998 4500'
wait_text node1.out 'Watchdog: thread 1 \(rep\) has not moved'
# For a moment it still counts as one that does not answer.
want 0 "$BIN/ndb_waiter" --timeout=60
want 0 "$BIN/ndb_mgm" -e '1 STATUS'
want_text out 'Node 1: started'
cp "$BOX/node1.out" "$BOX/out"
want_text out 'WARNING +-- Watchdog: thread 1 \(rep\) has not moved for [0-9]+ ms; its trail follows'
want_text out '^-- signal -0: NODE_STATUS_REQ'
want_text out 'jam: cmvmi\.c:[0-9]+'
load_and_compare 300

say "the loop is too long: exit 6050 after four reports"
want 0 "$BIN/ndb_mgm" -e '1 DUMP 9000 1 9998 60000'
ended "${NODE_PIDS[1]}"
[ $? -eq 1 ] || fail "the exit code is not 1"
cp "$BOX/node1.out" "$BOX/out"
want_text out 'has not moved for 8000 ms'
want_text out 'ALERT +-- Forced node shutdown completed\. Caused by error 6050: .A thread did not move for too long'
cp "$BOX/node1/ndb_1_error.log" "$BOX/out"
want_text out '^Error: 6050$'
want_text out '^Error data: thread 1 \(rep\) is stuck$'
cp "$BOX/node1/ndb_1_trace.log.1_t1" "$BOX/out"
want_text out 'jam: cmvmi\.c:[0-9]+'
unset 'NODE_PIDS[1]'
stop_cluster

say "an idle node is not taken for a stuck one"
: >"$BOX/node1.out"
start_cluster 1 1 'TimeBetweenWatchDogCheck=500'
for _ in $(seq 20); do # Longer than threads sleep without work.
    grep Watchdog "$BOX/node1.out" && fail "the watchdog reports an idle node" && break
    sleep 0.1
done
load_and_compare 300
stop_cluster
