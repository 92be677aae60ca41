#!/bin/bash
# quiet_kill.sh -- a data node is killed while it writes, comes back to a cluster in which nothing is written any more, and then
# both are killed, it last: its log ends with what the first kill has cut off. The cluster comes back with all rows, and no
# node calls its files damaged.
# SPDX-License-Identifier: GPL-2.0-only
# ROUNDS: so often.
ROUNDS=${ROUNDS:-3}
source "$(dirname "$0")/cluster.sh"
ROWS=40000
TABLE='CREATE TABLE test.it (a INT NOT NULL PRIMARY KEY, b VARCHAR(40), k INT, INDEX ik (k), UNIQUE ub (b))'

# The log goes round often: what an earlier lap has left stands behind its end.
start_cluster 2 2 $'NoOfFragmentLogFiles=4\nFragmentLogFileSize=4M\nRedoBuffer=2M\nTimeBetweenGlobalCheckpoints=1000'
awk -v n="$ROWS" 'BEGIN { for (i = 0; i < n; i++) printf "%d,\"name %d\",%d\n", i, i * 7, i % 1000 }' >it.csv
rows() { "$BIN/ndb_select_count" -d test it | sed -nE 's/^([0-9]+) records.*/\1/p'; }

kill_node() {
    kill -9 "${NODE_PIDS[$1]}"
    wait "${NODE_PIDS[$1]}" 2>/dev/null
}

cut_off=0 # So often the import was under way.
for ((round = 1; round <= ROUNDS; round++)); do
    run "$BIN/ndb_drop_table" -d test it >/dev/null 2>&1
    want 0 "$BIN/ndb_create_table" --execute="$TABLE"
    : >"$BOX/import.out" # Before the first look at it.
    "$BIN/ndb_import" test it.csv >"$BOX/import.out" 2>&1 &
    import=$!
    PIDS+=("$import")
    least=$((1000 + RANDOM % 20000))
    for _ in $(seq 900); do
        [ "$(rows)" -ge "$least" ] && break
        kill -0 "$import" 2>/dev/null || break
    done
    victim=$((RANDOM % 2 + 1))
    kill -0 "$import" 2>/dev/null && cut_off=$((cut_off + 1))
    kill_node "$victim"
    wait "$import" || die "the import beside a lost node: $(cat "$BOX/import.out")"
    start_node "$victim"
    want 0 "$BIN/ndb_waiter" --timeout=120
    make_durable # Without a row: a few GCIs have come since.
    make_durable
    kill_node $((3 - victim))
    kill_node "$victim"
    : >"$BOX/node1.out"
    : >"$BOX/node2.out"
    start_node 1
    start_node 2
    want 0 "$BIN/ndb_waiter" --timeout=120
    [ "$FAILED" -eq 0 ] || die "round $round: not up"
    grep -h 'error 23' "$BOX"/node[12].out && fail "round $round: a node takes its files for damaged"
    [ "$(rows)" = "$ROWS" ] || die "round $round: $(rows) rows of $ROWS"
done
echo "$ROUNDS rounds, $cut_off of them with a kill while rows were written"
[ "$cut_off" -gt 0 ] || fail "all imports were quicker than the kill"
stop_cluster
