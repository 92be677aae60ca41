#!/bin/bash
# hostile_sockets.sh -- real processes under attack on their ports; the node must log no failure.
# SPDX-License-Identifier: GPL-2.0-only
# hostile_sockets.sh BIN_DIR [ATTACKS] [SEED]
ATTACKS=${2:-10000}
SEED=${3:-1}
TEST_DEADLINE=${TEST_DEADLINE:-800}
source "$(dirname "$0")/../cluster/cluster.sh"
start_cluster 1 1 "MaxNoOfTables=40"

say "$ATTACKS attacks, seed $SEED"
"$BIN/hostile_sockets" "$CS" "${NODE_PIDS[1]}" "$MGM_PID" "$ATTACKS" "$SEED" || fail "hostile_sockets $ATTACKS $SEED"
kill -0 "${NODE_PIDS[1]}" || fail "the data node is gone"
kill -0 "$MGM_PID" || fail "the management server is gone"
find "$BOX/node1" -name '*trace*' -o -name '*error.log' -size +0 | grep . && fail "the node has written a trace"
[ "$FAILED" -eq 0 ] && stop_cluster
exit "$FAILED"
