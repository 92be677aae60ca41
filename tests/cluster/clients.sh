#!/bin/bash
# clients.sh -- several clients at a time, and one that is killed in the middle of its work.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2
want 0 "$BIN/ndb_create_table" --execute="$AWKWARD_TABLE"

say "three imports at a time"
imports=()
for part in 1 2 3; do
    awkward_rows 5000 "$((part * 100000))" >"$BOX/part$part.csv"
    run "$BIN/ndb_import" --state-dir="$BOX" --table=awkward --rejects-file="$BOX/part$part.rej" test "$BOX/part$part.csv" \
        >"$BOX/part$part.out" 2>&1 &
    imports+=("$!")
done
for pid in "${imports[@]}"; do wait "$pid" || fail "an import ends with exit code $?"; done
cat "$BOX"/part?.out
want 0 "$BIN/ndb_select_count" -d test awkward
want_text out '^15000 records'

say "an import is killed"
awkward_rows 200000 1000000 >"$BOX/many.csv"
"$BIN/ndb_import" --state-dir="$BOX" --table=awkward --rejects-file="$BOX/many.rej" test "$BOX/many.csv" >"$BOX/many.out" 2>&1 &
writer=$!
PIDS+=("$writer")
for _ in $(seq 900); do
    want 0 "$BIN/ndb_select_count" -d test awkward
    [ "$(awk '{ print $1 }' "$BOX/out")" -gt 17000 ] && break
done
kill -9 "$writer"
wait "$writer" 2>/dev/null

# Its transactions are ended for it: no row stays locked, and the rows are the first ones of the file.
want 0 "$BIN/ndb_select_all" -d test --lock=2 --csv awkward
LC_ALL=C sort "$BOX/out" >"$BOX/rows"
cat "$BOX"/part?.csv "$BOX/many.csv" | LC_ALL=C sort >"$BOX/all"
[ -z "$(LC_ALL=C comm -23 "$BOX/rows" "$BOX/all")" ] || fail "rows that nobody has written"
want 0 "$BIN/ndb_import" --rejects=1000000 --table=awkward --rejects-file="$BOX/many.rej" test "$BOX/many.csv"
cat "$BOX/out"
[ "$(cut -f 2 "$BOX/many.rej" | sort -u)" = 630 ] || fail "other errors than 630: $(cut -f 2 "$BOX/many.rej" | sort | uniq -c)"
want 0 "$BIN/ndb_select_count" -d test awkward
want_text out '^215000 records'
drop_awkward
stop_cluster
