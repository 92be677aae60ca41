#!/bin/bash
# reads.sh -- many rows read by one asynchronous call, also while data nodes are killed.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

want 0 "$BIN/reads_client" check
want_text out '^reads: all is right$'

say "while one node after the other is killed"
run "$BIN/reads_client" busy 8 >"$BOX/busy" 2>&1 &
reader=$!
for node in 2 1; do
    sleep 1
    kill -9 "${NODE_PIDS[$node]}"
    unset "NODE_PIDS[$node]"
    sleep 1
    start_node "$node"
    want 0 "$BIN/ndb_waiter" --timeout=100
done
wait "$reader" || fail "$(cat "$BOX/busy")"
cat "$BOX/busy"
stop_cluster
