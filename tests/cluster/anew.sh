#!/bin/bash
# anew.sh -- a client outlives a cluster that begins anew, in which another table has the number of the one that the client has open, and
# the same columns: nothing that it does by that reaches a row of the other one. By files that are gone, and by --initial.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

start_cluster 1 1
for way in gone initial; do
    say "$way"
    mkfifo "$BOX/go.$way"
    "$BIN/anew_client" "$CS" <"$BOX/go.$way" >"$BOX/client.$way" 2>&1 &
    client=$!
    PIDS+=("$client")
    exec 7>"$BOX/go.$way"
    wait_text "client.$way" '^ready$'
    kill_nodes
    if [ "$way" = gone ]; then
        rm -r "$BOX/node1/ndb_1_fs"
        start_node 1
    else
        start_node 1 --initial --i-accept-data-loss
    fi
    want 0 "$BIN/ndb_waiter" --timeout=100
    want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE test.other (x INT UNSIGNED PRIMARY KEY, y BIGINT)"
    printf '5,55\n6,66\n' >"$BOX/other.csv"
    want 0 "$BIN/ndb_import" test "$BOX/other.csv" --fields-terminated-by=,
    echo >&7
    exec 7>&-
    wait "$client" || fail "a table of the former cluster was used"
    cat "$BOX/client.$way"
    want 0 "$BIN/ndb_select_all" -d test --csv other
    [ "$(LC_ALL=C sort "$BOX/out")" = $'5,55\n6,66' ] || fail "rows of another table have changed: $(cat "$BOX/out")"
    want 0 "$BIN/ndb_drop_table" -d test other
done
stop_cluster
