#!/bin/bash
# ranges.sh -- ordered indexes through the public interface: ranges of every kind; scans while rows move and a data node is
# killed and comes back; table and indexes agree afterwards, and after all nodes were killed.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

want 0 "$BIN/range_client" check
want_text out '^ranges: all is right$'

if command -v g++ >/dev/null; then
    say "a program in C++"
    want 0 g++ -std=c++17 -Wall -Wextra -Werror -I"$HERE/../../include" -o "$BOX/cplusplus_client" \
        "$HERE/cplusplus_client.cc" -L"$BIN/../api" -lndbclient -Wl,-rpath,"$BIN/../api"
    want 0 "$BOX/cplusplus_client" "$CS"
    want_text out '^4330: table test.cplusplus, column id is INT \(4 bytes, signed\): the member is an int64_t of 8 bytes; use int32_t$'
    want_text out '^4330: .*column weight is DOUBLE \(8 bytes\): the member is a pointer; use double$'
    want_text out '^4313: line 1, column 10: at .\?.: column number is BIGINT UNSIGNED: the value is a text; use ndb_bound_uint\(\)$'
    want_text out '^C\+\+: all is right$'
fi

# Scans that wait, then scans with callbacks.
for way in "2 move" "1 move-async"; do
    read -r victim how <<<"$way"
    say "rows move ($how), node $victim is killed and comes back"
    run "$BIN/range_client" "$how" 8 >"$BOX/move.out" 2>&1 &
    mover=$!
    sleep 2
    kill -9 "${NODE_PIDS[$victim]}"
    unset "NODE_PIDS[$victim]"
    sleep 1
    start_node "$victim"
    want 0 "$BIN/ndb_waiter" --timeout=100
    wait "$mover" || fail "$(cat "$BOX/move.out")"
    cat "$BOX/move.out"
    want 0 "$BIN/range_client" verify
done

say "all nodes are killed and come back from their files"
make_durable
kill_nodes
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_desc" -d test ranged
want_text out '^by_text\(text, number\) - OrderedIndex$'
want 0 "$BIN/range_client" verify
stop_cluster
