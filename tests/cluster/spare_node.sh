#!/bin/bash
# spare_node.sh -- a spare node is nobody's last copy, and a node that has left config.ini and runs still has its copy: what may
# be stopped and restarted beside them.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

wait_all() {
    want 0 "$BIN/ndb_waiter" --timeout=100
    want 0 "$BIN/ndb_select_count" -d test kept
    want_text out '^3 records'
}

# The angels of these nodes: it waits for their end.
angels_end() { # node...
    local node angel
    for node; do
        angel=${ANGELS[node]}
        for _ in $(seq 600); do
            kill -0 "$angel" 2>/dev/null || break
            sleep 0.1
        done
        if kill -0 "$angel" 2>/dev/null; then fail "node $node does not end"; fi
    done
}

wait_starting() { # node
    for _ in $(seq 900); do
        run "$BIN/ndb_mgm" -e "$1 STATUS" >"$BOX/out" 2>&1
        grep -q "Node $1: starting (Last completed phase 0)" "$BOX/out" && return
        sleep 0.1
    done
    fail "node $1 does not wait to join: $(cat "$BOX/out")"
}

start_them() { # node...
    local node
    for node; do start_daemon "$node"; done
    for node; do
        ANGELS[node]=$(cat "$BOX/node$node/ndb_$node.pid")
        [ -n "${ANGELS[node]}" ] || die "node $node has no angel"
    done
}

without_node_2() {
    cp "$BOX/config.ini" "$BOX/all.ini"
    sed -i -z 's/NoOfReplicas=2/NoOfReplicas=1/; s/\[ndbd\]\nNodeId=2\n[^[]*//' "$BOX/config.ini"
    reload
}

declare -a ANGELS
write_config 2 2
start_mgm --initial
start_them 1 2
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_create_table" -e 'CREATE TABLE test.kept (id INT NOT NULL PRIMARY KEY)'
printf '1\n2\n3\n' >"$BOX/kept.csv"
want 0 "$BIN/ndb_import" test "$BOX/kept.csv"

say "a spare node that is new has no place before all are restarted, and nobody waits for it"
mkdir -p "$BOX/node3"
sed -i -z "s/\[ndbd\]\nNodeId=2\n/[ndbd]\nNodeId=3\nNodegroup=65536\nDataDir=${BOX//\//\\/}\/node3\n&/" "$BOX/config.ini"
reload
start_them 3
wait_starting 3
want 255 "$BIN/ndb_mgm" -e 'ROLLING RESTART'
want_text out 'refused: data node 3 is new.*ALL RESTART'
want 0 "$BIN/ndb_mgm" -e 'ALL RESTART'
wait_all

say "a spare node begins with nothing, alone and in turn, and needs nobody who has its rows"
want 0 "$BIN/ndb_mgm" -e '3 RESTART -i'
wait_all
want 0 "$BIN/ndb_mgm" -e 'ROLLING RESTART -i'
wait_all

say "it is stopped together with one of a node group, and two of a node group are not"
want 255 "$BIN/ndb_mgm" -e '1 2 STOP -a'
want_text out 'all started nodes of node group 0 would be gone'
want 0 "$BIN/ndb_mgm" -e '2 3 STOP -a'
angels_end 2 3
want 0 "$BIN/ndb_select_count" -d test kept
want_text out '^3 records'
want 255 "$BIN/ndb_mgm" -e '1 RESTART -i'
want_text out 'Node 1: Operation would destroy the last copy of rows'
start_them 2 3
wait_all

say "the same in single user mode, where all of them serve"
want 0 "$BIN/ndb_mgm" -e 'ENTER SINGLE USER MODE 4'
want 255 "$BIN/ndb_mgm" -e '1 2 STOP -a'
want_text out 'all started nodes of node group 0 would be gone'
want 0 "$BIN/ndb_mgm" -e '2 STOP'
angels_end 2
want 255 "$BIN/ndb_mgm" -e '1 STOP'
want_text out 'it is the last one of node group 0 .* EXIT SINGLE USER MODE and start another one first'
want 0 "$BIN/ndb_mgm" -e 'EXIT SINGLE USER MODE'
start_them 2
wait_all

say "a node group that was changed by mistake, and changed back: the node that has not joined again does"
cp "$BOX/config.ini" "$BOX/all.ini"
sed -i 's/^Nodegroup=65536$//; s/^NodeId=2$/&\nNodegroup=65536/' "$BOX/config.ini"
reload
want 255 "$BIN/ndb_mgm" -e '2 RESTART -i'
want_text out 'Nodegroup of node [23].*ALL RESTART -i -f'
run "$BIN/ndb_mgm" -e '2 RESTART -i -f' >"$BOX/out" 2>&1 # It is not answered before the node has gone, and need not be.
wait_starting 2
mv "$BOX/all.ini" "$BOX/config.ini"
reload
want 0 "$BIN/ndb_mgm" -e '2 RESTART'
wait_all

say "a node that has left config.ini has its copy while it runs: the others may go"
without_node_2
want 255 "$BIN/ndb_mgm" -e '1 2 STOP -a'
want_text out 'all started nodes of node group 0 would be gone'
want 0 "$BIN/ndb_mgm" -e '1 3 STOP -a'
angels_end 1 3
kill -0 "${ANGELS[2]}" || fail "node 2 has ended"
mv "$BOX/all.ini" "$BOX/config.ini"
reload
start_them 1 3
wait_all

say "its id is another one's now, who is not connected"
cp "$BOX/config.ini" "$BOX/all.ini"
sed -i -z 's/NoOfReplicas=2/NoOfReplicas=1/; s/\[ndbd\]\nNodeId=2\n[^[]*/[api]\nNodeId=2\n/' "$BOX/config.ini"
reload
want 0 "$BIN/ndb_mgm" -e SHOW
want_text out '^id=2 +\(not connected'
want 255 "$BIN/ndb_mgm" -e '1 2 STOP -a'
want_text out 'all started nodes of node group 0 would be gone'
mv "$BOX/all.ini" "$BOX/config.ini"
reload
wait_all

say "it is one of all: they restart with nothing only by force, and are shut down together"
without_node_2
want 255 "$BIN/ndb_mgm" -e 'ALL RESTART -i'
want_text out 'would destroy the last copy of rows'
want 255 "$BIN/ndb_mgm" -e '2 RESTART'
want_text out 'data node 2 is gone|NoOfReplicas'
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
angels_end 1 2 3
ended "$MGM_PID" || fail "the management server ends with exit code $?"
