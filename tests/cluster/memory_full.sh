#!/bin/bash
# memory_full.sh -- DataMemory is filled to the last page, in several layouts of threads: then the cluster comes back whichever
# way it went, and each node too, with all rows; nothing grows from start to start; and work goes on afterwards.
# SPDX-License-Identifier: GPL-2.0-only
# ROUNDS: restarts of each kind. LAYOUTS, BODIES: lists.
ROUNDS=${ROUNDS:-1}
LAYOUTS=${LAYOUTS:-NumCPUs=2}
BODIES=${BODIES:-300}
KINDS=${KINDS:-kill stop node initial empty}
MEMORY=${MEMORY:-6M}
source "$(dirname "$0")/cluster.sh"
SEED=${SEED:-$$}

client() { # MODE BODY: the figures are in $figures.
    SEED=$((SEED + 1))
    want 0 "$BIN/memory_client" "$1" "$SEED" "$2"
    figures=$(sed -nE "s/^$1: (rows=.* sum=[0-9a-f]*) .*/\1/p" "$BOX/out")
    [ "$1" = sum ] || echo "    $(cat "$BOX/out")"
    [ "$FAILED" -eq 0 ] || exit 1
}

used_pages() { # ID
    "$BIN/ndb_mgm" -e 'ALL REPORT MEMORY' >"$BOX/memory.out"
    sed -nE "s/^Node $1: (Data|Index) usage is [0-9]+%\(([0-9]+) .*/\2/p" "$BOX/memory.out" | awk '{ n += $1 } END { print n + 0 }'
}

start_all() {
    start_mgm
    wait_mgm || die "the management server does not start"
    start_node 1
    start_node 2
}

restart() { # KIND
    local id=$((RANDOM % 2 + 1))
    case $1 in
    kill)
        kill_nodes
        start_node 1
        start_node 2
        ;;
    stop)
        stop_cluster
        start_all
        ;;
    node | initial | empty)
        kill -9 "${NODE_PIDS[id]}"
        wait "${NODE_PIDS[id]}" 2>/dev/null
        [ "$1" = empty ] && rm -rf "$BOX/node$id/ndb_${id}_fs"
        if [ "$1" = initial ]; then start_node "$id" --initial; else start_node "$id"; fi
        ;;
    esac
    for id in 1 2; do wait_text "node$id.out" . && kill -0 "${NODE_PIDS[id]}" 2>/dev/null || die "node $id is not there"; done
    want 0 "$BIN/ndb_waiter" --timeout=120
    [ "$FAILED" -eq 0 ] || exit 1
}

for layout in $LAYOUTS; do
    for body in $BODIES; do
        say "$layout, bodies of up to $body bytes, seed $SEED"
        DATA_MEMORY=$MEMORY start_cluster 2 2 "$layout"$'\n''StopOnError=1'
        client fill "$body"
        for kind in $KINDS; do
            for ((round = 1; round <= ROUNDS; round++)); do
                make_durable
                before=$figures
                restart "$kind"
                client sum "$body"
                [ "$figures" = "$before" ] || die "$kind: $figures instead of $before"
                echo "    $kind $round: $figures, pages in use: $(used_pages 1) $(used_pages 2)"
            done
            client thin "$body"
            client fill "$body"
        done
        stop_cluster
        unset MGM_PID
    done
done
