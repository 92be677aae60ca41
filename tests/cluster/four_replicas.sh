#!/bin/bash
# four_replicas.sh -- one node group of four nodes: every row on each of them.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 4 4

load_and_compare 10000
want 0 "$BIN/ndb_desc" -d test -p -n awkward
want_text out '^0	[0-9]+	[0-9]+	[0-9]+	[0-9]+	0	0	[1-4],[1-4],[1-4],[1-4]$'
run_example
drop_awkward
stop_cluster
