#!/bin/bash
# scale_10m.sh -- ten million rows of 100 bytes on one node: loaded, verified, counted, deleted; what memory they took.
# SPDX-License-Identifier: GPL-2.0-only
TEST_DEADLINE=${TEST_DEADLINE:-900}
source "$(dirname "$0")/cluster.sh"
ROWS=${ROWS:-10000000}
run() { timeout -k 5 600 "$@"; }

# used data|index: pages by ALL REPORT MEMORY.
used() {
    want 0 "$BIN/ndb_mgm" -e 'ALL REPORT MEMORY'
    case $1 in
    data) sed -nE 's/^Node 1: Data usage is [0-9]+%\(([0-9]+) 32K pages.*/\1/p' "$BOX/out" ;;
    index) sed -nE 's/^Node 1: Index usage is [0-9]+%\(([0-9]+) 32K pages.*/\1/p' "$BOX/out" ;;
    esac
}
rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/${NODE_PIDS[1]}/status"; }

DATA_MEMORY=3G start_cluster 1 1
want 0 "$BIN/limits_client" verify 0 0 # Makes the table.
rss_empty=$(rss_kb)
data_empty=$(used data)
index_empty=$(used index)

say "load $ROWS rows"
want 0 "$BIN/limits_client" load 0 "$ROWS" 1000
cat "$BOX/out"
data=$(used data)
index=$(used index)
rss=$(rss_kb)
cp "$BOX/out" "$BOX/memory" && cat "$BOX/memory"
pages=$((data + index - data_empty - index_empty))
bytes=$((pages * 32768 / ROWS))
grown=$((rss - rss_empty))
echo "scale: $bytes bytes per row in $pages pages (rows $data, index $index); RSS grew by $((grown / 1024)) MB to $((rss / 1024)) MB"
[ "$bytes" -ge 100 ] && [ "$bytes" -le 180 ] || fail "$bytes bytes per row of 100 bytes"
# What is reported must be there: pages in use and memory of the process agree within 10 %, plus 64 MB for all else.
[ "$grown" -ge $((pages * 32 * 9 / 10)) ] || fail "$pages pages are reported, the process grew by $grown KB only"
[ "$grown" -le $((pages * 32 * 11 / 10 + 65536)) ] || fail "the process grew by $grown KB for $pages pages"

say "read all rows back"
want 0 "$BIN/limits_client" verify 0 "$ROWS" 1000
cat "$BOX/out"
want_text out "^verify: good=$ROWS bad=0 "
want 0 "$BIN/limits_client" scan 0 "$ROWS"
cat "$BOX/out"
want 0 "$BIN/ndb_select_count" -d test limits
want_text out "^$ROWS records"

say "delete all rows"
want 0 "$BIN/limits_client" delete 0 "$ROWS" 1000
cat "$BOX/out"
data_after=$(used data)
index_after=$(used index)
echo "scale: after deleting all rows $data_after pages hold rows, $index_after index"
[ "$data_after" -le $((data / 20 + 64)) ] || fail "$data_after of $data pages still hold rows"
want 0 "$BIN/limits_client" absent 0 10000
want 0 "$BIN/limits_client" load 0 100000
want 0 "$BIN/limits_client" verify 0 100000
want 0 "$BIN/ndb_drop_table" -d test limits
data_after=$(used data)
index_after=$(used index)
echo "scale: after dropping the table $data_after and $index_after pages"
[ $((data_after + index_after)) -le $((data_empty + index_empty + 8)) ] || fail "pages stay after the table is dropped"
stop_cluster
