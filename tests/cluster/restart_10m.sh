#!/bin/bash
# restart_10m.sh -- ten million rows of 100 bytes: loaded, the node killed, started; how long that takes and of what it
# consists; how much disk is used, that it is bounded, and that it is given back.
# SPDX-License-Identifier: GPL-2.0-only
TEST_DEADLINE=${TEST_DEADLINE:-900}
source "$(dirname "$0")/cluster.sh"
ROWS=${ROWS:-10000000}
run() { timeout -k 5 600 "$@"; }
disk_mb() { du -sm "$BOX/node1/ndb_1_fs" | cut -f 1; }

DATA_MEMORY=3G start_cluster 1 1 "NoOfFragmentLogFiles=8
FragmentLogFileSize=64M"
log_mb=$((8 * 64))

say "load $ROWS rows"
want 0 "$BIN/limits_client" load 0 "$ROWS" 1000
cat "$BOX/out"
want 0 "$BIN/ndb_mgm" -e 'ALL REPORT REDO; ALL REPORT CHECKPOINT'
cat "$BOX/out"
data_mb=$((ROWS * 110 / 1048576))
used=$(disk_mb)
echo "restart: $used MB on disk for $data_mb MB of rows and a log of $log_mb MB"
[ "$used" -le $((log_mb + 3 * data_mb + 64)) ] || fail "$used MB on disk"

make_durable
say "kill -9, start"
kill_nodes
: >"$BOX/node1.out"
before=$(date +%s%N)
start_node 1
while :; do # Its progress, as an operator sees it.
    run "$BIN/ndb_mgm" -e '1 STATUS' >"$BOX/status" 2>/dev/null
    grep -q 'Node 1: started' "$BOX/status" && break
    kill -0 "${NODE_PIDS[1]}" 2>/dev/null || die "the node does not start"
    grep 'read back' "$BOX/status" >>"$BOX/progress"
    sleep 0.5
done
echo "restart: $ROWS rows in $((($(date +%s%N) - before) / 1000000)) ms"
grep -iE 'restor|replay|checkpoint|redo|recover' "$BOX/node1.out" | tail -n 12
tail -n 3 "$BOX/progress"
[ -s "$BOX/progress" ] || fail "ALL STATUS never showed progress"
want 0 "$BIN/ndb_select_count" -d test limits
want_text out "^$ROWS records"
want 0 "$BIN/limits_client" verify 0 "$ROWS" 1000
want_text out "^verify: good=$ROWS bad=0 "

say "all rows once more: disk stays bounded"
for i in 1 2; do
    want 0 "$BIN/limits_client" load 0 $((ROWS / 2)) 1000
    used=$(disk_mb)
    echo "restart: $used MB on disk after round $i"
    [ "$used" -le $((log_mb + 3 * data_mb + 64)) ] || fail "$used MB on disk"
done

say "the table is dropped: its files go"
want 0 "$BIN/ndb_drop_table" -d test limits
for _ in $(seq 300); do
    [ "$(disk_mb)" -le $((log_mb + 64)) ] && break
    sleep 0.1
done
echo "restart: $(disk_mb) MB on disk after the table is dropped"
[ "$(disk_mb)" -le $((log_mb + 64)) ] || fail "files stay after the table is dropped"
stop_cluster
