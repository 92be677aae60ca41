#!/bin/bash
# four_nodes_two_replicas.sh -- two node groups of two nodes: every node holds a half.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 4 2

load_and_compare 20000
want 0 "$BIN/ndb_desc" -d test -p -n awkward
for node in 1 2 3 4; do
    want_text out "^[0-9]+	[1-9][0-9]*	(.*,)?$node(,.*)?$"
done
want 0 "$BIN/ndb_mgm" -e SHOW
want_text out 'Nodegroup: 0'
want_text out 'Nodegroup: 1'
run_example
drop_awkward
stop_cluster
