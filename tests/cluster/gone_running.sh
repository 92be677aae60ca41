#!/bin/bash
# gone_running.sh -- the whole directory of a data node is removed while the node runs: it stops by name with its next checkpoint, as the
# other one has all rows, and gets them from there. The last one that has them stays, whatever its disk is like.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

rows_there() {
    want 0 "$BIN/ndb_select_count" -d test t
    want_text out '^1000 records'
}

goes() { # ID: it is asked for checkpoints until it has looked at its files
    : >"$BOX/node$1.out"
    rm -rf "$BOX/node$1/ndb_$1_fs"
    for _ in $(seq 300); do
        kill -0 "${NODE_PIDS[$1]}" 2>/dev/null || break
        run "$BIN/ndb_mgm" -e 'ALL DUMP 7099' >/dev/null
        sleep 0.2
    done
    ended "${NODE_PIDS[$1]}" && fail "node $1 ends with 0"
    unset "NODE_PIDS[$1]"
    want_text "node$1.out" 'checkpoints fail with error 2815'
    want_text "node$1.out" 'Caused by error 2388'
}

say "two nodes with rows; node 2 loses its directory"
start_cluster 2 2
want 0 "$BIN/ndb_create_table" --execute='CREATE TABLE test.t (id INT UNSIGNED NOT NULL PRIMARY KEY, v BIGINT)'
seq 1000 | sed 's/$/,7/' >t.csv
want 0 "$BIN/ndb_import" --fields-terminated-by=, test t.csv
goes 2
rows_there
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
make_durable

say "the other one, when the first has all rows again"
goes 1
rows_there

say "the last one"
: >node2.out
rm -rf node2/ndb_2_fs
for _ in $(seq 100); do
    run "$BIN/ndb_mgm" -e 'ALL DUMP 7099' >/dev/null
    grep -q 'error 2815' node2.out && break
    sleep 0.2
done
want_text node2.out 'error 2815'
rows_there
start_node 1 # The directory does not come back by itself: who has none leaves as soon as another one has the rows.
want 0 "$BIN/ndb_waiter" --nowait-nodes=2 --timeout=100
ended "${NODE_PIDS[2]}" && fail "node 2 ends with 0"
unset 'NODE_PIDS[2]'
want_text node2.out 'Caused by error 2388'
rows_there
