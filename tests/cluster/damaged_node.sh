#!/bin/bash
# damaged_node.sh -- a node whose files are damaged is started by hand, without angel, together with a healthy one: both are
# started in the end, by themselves, whoever stands by the healthy one; the damaged one has named the file.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

same_rows() {
    want 0 "$BIN/ndb_select_all" -d test --csv awkward
    LC_ALL=C sort "$BOX/out" >"$BOX/actual"
    cmp -s "$BOX/expected" "$BOX/actual" || fail "rows have changed"
    [ "$FAILED" -eq 0 ] || exit 1
}

# damage ID: the largest checkpoint file of the node loses its second half.
damage() {
    local file
    file=$(find "$BOX/node$1/ndb_$1_fs/LCP" -type f -name '*.data' -size +4k -printf '%s %p\n' | sort -n | tail -n 1 | cut -d' ' -f2)
    [ -n "$file" ] || die "node $1 has no checkpoint"
    echo "${file##*/} is cut"
    truncate -s $(($(stat -c %s "$file") / 2)) "$file"
}

start_cluster 2 2
load_and_compare 3000
make_checkpoint
make_durable
kill_nodes

for how in by_hand with_angel; do
    say "node 2 is damaged, node 1 is started $how"
    damage 2
    : >"$BOX/node1.out"
    : >"$BOX/node2.out"
    if [ "$how" = by_hand ]; then start_node 1; else start_daemon 1; fi
    start_node 2
    want 0 "$BIN/ndb_waiter" --timeout=100
    kill -0 "${NODE_PIDS[2]}" 2>/dev/null || fail "node 2 has ended"
    [ "$how" = with_angel ] || kill -0 "${NODE_PIDS[1]}" 2>/dev/null || fail "node 1 has ended"
    cp "$BOX/node2.out" "$BOX/out"
    want_text out 'Caused by error 23(76|10)'
    want_text out 'this node waits until the others run'
    same_rows
    if [ "$how" = with_angel ]; then
        want 0 "$BIN/ndb_mgm" -e '1 STOP'
    else
        make_checkpoint
        make_durable
    fi
    kill_nodes
    [ "$FAILED" -eq 0 ] || exit 1
done

say "both are damaged: each says that none has rows for the other, and all are there when the files are back"
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
make_checkpoint
make_durable
kill_nodes
for id in 1 2; do
    cp -a "$BOX/node$id/ndb_${id}_fs" "$BOX/kept$id"
    damage "$id"
    : >"$BOX/node$id.out"
done
start_node 1
start_node 2
for id in 1 2; do
    wait_text "node$id.out" 'Caused by error 23(76|10)'
    wait_text "node$id.out" 'all nodes of this node group stand aside, and none has rows'
done
kill_nodes
for id in 1 2; do
    rm -rf "$BOX/node$id/ndb_${id}_fs"
    mv "$BOX/kept$id" "$BOX/node$id/ndb_${id}_fs"
    start_node "$id"
done
want 0 "$BIN/ndb_waiter" --timeout=100
same_rows
