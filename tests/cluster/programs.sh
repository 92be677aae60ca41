#!/bin/bash
# programs.sh -- interpreted programs and filters through the public interface; one hot row while data nodes are killed.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

want 0 "$BIN/program_client" check
want_text out '^programs and filters: all is right$'

for victim in 2 1; do
    say "8 threads increment one row, node $victim is killed and comes back"
    run "$BIN/program_client" hammer 8 8 >"$BOX/hammer.out" 2>&1 &
    hammer=$!
    sleep 2
    kill -9 "${NODE_PIDS[$victim]}"
    unset "NODE_PIDS[$victim]"
    sleep 1
    start_node "$victim"
    want 0 "$BIN/ndb_waiter" --timeout=100
    wait "$hammer" || fail "the counter is not right"
    cat "$BOX/hammer.out"
done
stop_cluster
