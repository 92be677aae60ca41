#!/bin/bash
# lost_mgm.sh -- the directory of the only management server is lost, config.ini is not: with it the server goes on with the
# data nodes that there are, those that run as those that start. What it does not reach it says. When it may not take their
# cluster's id it names both, and what to do; that is done. Then the file is lost, and the directories of two nodes are
# exchanged. Of two servers the one whose id counts gives it to the other one.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

lose_server() {
    kill -9 "$MGM_PID" 2>/dev/null
    wait "$MGM_PID" 2>/dev/null
}

lose_directory() {
    lose_server
    rm -rf "$BOX/mgm"
    mkdir "$BOX/mgm"
}

again() { # [options]: a server with what is left
    : >"$BOX/mgm.out"
    start_mgm "$@"
    wait_mgm || die "the management server does not start"
}

start_nodes() {
    : >"$BOX/node1.out"
    : >"$BOX/node2.out"
    start_node 1
    start_node 2
}

all_there() { # a new client gets in, and both nodes are seen
    want 0 "$BIN/ndb_waiter" --timeout=100
    want_text out 'Node 2: STARTED'
    want 0 "$BIN/ndb_select_count" -d test t
    want_text out '^100 records'
}

say "two nodes with rows"
start_cluster 2 2
want 0 "$BIN/ndb_create_table" --execute='CREATE TABLE test.t (id INT UNSIGNED NOT NULL PRIMARY KEY, v BIGINT)'
seq 100 | sed 's/$/,7/' >t.csv
want 0 "$BIN/ndb_import" --fields-terminated-by=, test t.csv
make_durable
all_there
ID=$(od -An -tu8 -j16 -N8 "$BOX/node1/ndb_1_fs/D1/sysfile.0" | tr -d ' ')
want_text mgm.out "a new cluster begins, with the id $ID"

say "lost while the nodes run"
lose_directory
again
all_there
want_text mgm.out 'a new cluster begins, with the id'
want_text mgm.out "Node [12] runs with the cluster id $ID: this management server goes on with it"
want_text mgm/ndb_49_cluster.log "goes on with it"
[ "$(grep -c 'goes on with it' "$BOX/mgm.out")" -eq 1 ] || fail "it is not said once: $(cat "$BOX/mgm.out")"
wait_text mgm/ndb_49_cluster.log 'run with generation 1, which is lost: the configuration is generation 2'
[ -e mgm/ndb_49_config.bin.2 ] && [ ! -e mgm/ndb_49_config.bin.1 ] || fail "the cache has other generations: $(ls mgm)"
want 0 "$BIN/ndb_mgm" -e '1 STATUS'
want_text out 'Node 1: started'
stop_cluster

say "lost while the nodes are down: what is not reached is said; the server is started twice"
lose_directory
again
want 0 "$BIN/ndb_mgm" -e 'ALL STOP'
grep -q 'NDB Cluster has shutdown' out && fail "it says that the cluster has shutdown"
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
want_text out '^1 NDB Cluster node\(s\) have shutdown\.$'
want_text out 'not told to stop: node 1, node 2\. Those that run go on'
ended "$MGM_PID"
again
grep -q 'a new cluster begins' "$BOX/mgm.out" && fail "a new cluster begins again"
run "$BIN/ndb_select_count" -d test t >early.out 2>&1 & # A client that gets the id that is dropped then.
EARLY=$!
wait_text mgm/ndb_49_cluster.log 'Node id [0-9]+ given to .*select_count'
start_nodes
wait "$EARLY" || fail "a client that was there before the nodes ends with exit code $?: $(cat early.out)"
want_text early.out '^100 records'
all_there
want_text mgm.out "Node [12] has files with the cluster id $ID: this management server goes on with it"
grep -hq 'it goes on with that of the node.s files' "$BOX"/node?.out || fail "no node says it"

say "lost, and a node that has nothing comes first: it begins with the id that is made, and follows the other one"
kill_nodes
lose_directory
rm -r "$BOX/node2/ndb_2_fs"
again
: >"$BOX/node1.out"
: >"$BOX/node2.out"
start_node 2
wait_text mgm/ndb_49_cluster.log 'Node 2 Connected'
start_node 1
wait_text node2.out "the management server goes on with the cluster $ID instead of [0-9]+; this node has nothing of either"
all_there
want_text mgm.out "Node 1 has files with the cluster id $ID: this management server goes on with it"
make_durable

say "lost, and a node is started with --initial: whose files these are it does not say, and nothing is removed"
kill_nodes
lose_directory
again
: >"$BOX/node1.out"
start_node 1 --initial
ended "${NODE_PIDS[1]}" && fail "node 1 starts"
unset 'NODE_PIDS[1]'
want_text node1.out 2372
start_nodes
all_there

say "lost, and the server that is there again cannot write: who looks first is told, who has an angel waits until it can"
kill_nodes
lose_server
mv config.ini kept.ini
sed 's/^\[ndbd default\]$/&\nStopOnError=0/' kept.ini >config.ini
lose_directory
again
BLOCK='mgm/ndb_49_config.bin.1.tmp' # Nobody writes to a directory.
mkdir "$BLOCK"
want 1 "$BIN/ndbmtd" --ndb-connectstring="$CS" --ndb-nodeid=1 --foreground
want_text err "Node 1 has files with the cluster id $ID, which this server would take, but the cache in .*mgm/ cannot be written"
: >node1.out
start_node 1 --connect-retries=-1 # As a service, which nobody looks at.
wait_text node1.out 'it is tried again in 2 s'
rmdir "$BLOCK"
wait_text node1.out 'the management server had begun a new cluster .*; it goes on with that of the node.s files'
kill_nodes
workers() { # until both angels have one
    for _ in $(seq 900); do
        WORKERS=()
        for id in 1 2; do mapfile -t -O "${#WORKERS[@]}" WORKERS < <(pgrep -P "$(cat "node$id/ndb_$id.pid")"); done
        [ "${#WORKERS[@]}" -eq 2 ] && return
        sleep 0.1
    done
    fail "the angels have no two workers"
}
start_daemon 1
start_daemon 2
all_there
lose_server
workers
kill -9 "${WORKERS[@]}"
for id in 1 2; do wait_text "node$id/ndb_${id}_out.log" 'the node waits for a management server'; done
workers
kill -STOP "${WORKERS[@]}"
lose_directory
again
mkdir "$BLOCK"
for id in 1 2; do : >"node$id/ndb_${id}_out.log"; done
kill -CONT "${WORKERS[@]}"
for id in 1 2; do wait_text "node$id/ndb_${id}_out.log" 'the cache in .*mgm/ cannot be written'; done
rmdir "$BLOCK"
all_there
want_text mgm.out "Node [12] has files with the cluster id $ID: this management server goes on with it"
for id in 1 2; do
    angel=$(cat "node$id/ndb_$id.pid")
    kill "$angel"
    for _ in $(seq 900); do
        kill -0 "$angel" 2>/dev/null || break
        sleep 0.1
    done
    kill -0 "$angel" 2>/dev/null && fail "the angel of node $id does not end"
done
lose_server
mv kept.ini config.ini

say "a server that has another id by order: both ids are named, and the cure cures"
kill_nodes
lose_directory
again --cluster-id=4711
grep -q 'a new cluster begins' "$BOX/mgm.out" && fail "a new cluster begins, although the id is given"
start_nodes
for id in 1 2; do
    ended "${NODE_PIDS[id]}" && fail "node $id starts"
    unset "NODE_PIDS[id]"
    want_text "node$id.out" "cluster id $ID, this management server has 4711.*--initial --cluster-id=$ID"
    want_text "node$id.out" '2372'
done
want_text mgm/ndb_49_cluster.log "Node 1 has files with the cluster id $ID, this management server has 4711"
lose_server
want 1 "$BIN/ndb_mgmd" --config-file=config.ini --config-dir=mgm --nodaemon --cluster-id="$ID"
want_text err 'another one than that of the kept configurations \(4711\)'
want 1 "$BIN/ndb_mgmd" --config-file=none.ini --config-dir=mgm --nodaemon --cluster-id="$ID"
want_text err 'another one than that of the kept configurations \(4711\)'
again --initial --cluster-id="$ID"
start_nodes
all_there

say "the file is lost"
lose_server
mv config.ini kept.ini
want 1 "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --config-dir="$BOX/nowhere" --nodaemon
want_text err "there is no file $BOX/config.ini"
want 1 "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --config-dir="$BOX/mgm" --nodaemon --reload
again
want_text mgm.out "warning: there is no file $BOX/config.ini: generation 1 from $BOX/mgm/ is used"
all_there
lose_server

say "the directories of the nodes are exchanged"
kill_nodes
sed "s,/node1\$,/node,; s,/node2\$,/node1,; s,/node\$,/node2," kept.ini >config.ini
again
start_nodes
wait_text node1.out 'WARNING.*the files of node 2 are in its place \(.*/node2/ndb_2_fs\)'
wait_text node2.out 'WARNING.*the files of node 1 are in its place \(.*/node1/ndb_1_fs\)'

say "two servers: the id that counts wins over one that was made for want of it"
kill_nodes
lose_server
declare -A SERVER
FILE=two.ini
{
    printf '[ndbd default]\nNoOfReplicas=2\nHostName=127.0.0.1\n[ndb_mgmd default]\nHostName=127.0.0.1\n'
    for id in 49 50; do printf '[ndb_mgmd]\nNodeId=%s\nPortNumber=%s\nDataDir=%s/mgm%s\n' $id "$(free_port)" "$BOX" $id; done
    for id in 1 2; do printf '[ndbd]\nNodeId=%s\nDataDir=%s/node%s\n' $id "$BOX" $id; done
    echo "[api]"
} >two.ini
server() { # ID [options]: until it listens
    local id=$1
    shift
    : >"$BOX/server$id.out"
    mkdir -p "$BOX/mgm$id"
    "$BIN/ndb_mgmd" --config-file="$FILE" --ndb-nodeid="$id" --nodaemon "$@" >>"$BOX/server$id.out" 2>&1 &
    SERVER[$id]=$!
    PIDS+=("$!")
    wait_text "server$id.out" 'listens on port'
}
lose() { # ID...
    local id
    for id in "$@"; do
        kill -9 "${SERVER[$id]}"
        wait "${SERVER[$id]}" 2>/dev/null
    done
}
CACHED='mgm50/ndb_50_config.bin.1'
has_77() { # the cache of 50 does, within a moment
    for _ in $(seq 900); do
        [ "$(od -An -tu8 -j20 -N8 "$CACHED" 2>/dev/null | tr -d ' ')" = 77 ] && return 0
        sleep 0.1
    done
    fail "server 50 does not have the id of server 49"
}
server 50
want_text server50.out 'a new cluster begins'
server 49 --cluster-id=77
has_77
wait_text mgm50/ndb_50_cluster.log 'goes on with the cluster 77 and generation 1 of management server 49'
lose 50
rm -rf mgm50
server 50 # At its start it takes what the other one has.
has_77
grep -q 'a new cluster begins' server50.out && fail "a new cluster begins beside server 49"
lose 49 50
rm -rf mgm50
server 50
want_text server50.out 'a new cluster begins'
server 49
has_77

say "two servers, and data nodes run: one that has lost its directory and has another file is not sure of it"
lose 49 50
rm -rf mgm49 mgm50 node1/ndb_1_fs node2/ndb_2_fs
mapfile -t PORTS < <(sed -n 's/^PortNumber=//p' two.ini)
sed "s/^\[ndbd default\]\$/&\nDataMemory=80M\n$HEARTBEAT\n$CPUS/" two.ini >run.ini
sed 's/^\[ndbd default\]$/&\nMaxNoOfConcurrentScans=350/' run.ini >edited.ini
CS=127.0.0.1:${PORTS[0]},127.0.0.1:${PORTS[1]}
export NDB_CONNECTSTRING=$CS
state() { # ID: what the server says of itself, in $BOX/state
    exec 4<>"/dev/tcp/127.0.0.1/${PORTS[$1 - 49]}"
    printf 'get mgmd state\n\n' >&4
    timeout 20 sed '/^$/q' <&4 | grep -v '^nodeid\|^ports' >state
    exec 4<&-
}
alike() { # until both have the same and are sure of it
    for _ in $(seq 300); do
        state 49
        mv state state49
        state 50
        grep -q '^fresh: 0' state && cmp -s state state49 && return
        sleep 0.1
    done
    fail "the servers differ: $(cat state49 state)"
}
FILE=run.ini
server 49
server 50
start_nodes
want 0 "$BIN/ndb_waiter" --timeout=100
alike
lose 49 50
rm -rf mgm49
FILE=edited.ini
server 49
wait_text mgm49/ndb_49_cluster.log 'ALERT.*Node [12] runs with generation 1 of another configuration'
state 49
grep -q '^fresh: 1' state || fail "server 49 is sure of what no data node runs with: $(cat state)"
FILE=run.ini
server 50
wait_text mgm49/ndb_49_cluster.log 'goes on with generation 1 of management server 50, and drops the one that it has begun with'
alike

say "the same, and the other server has a newer generation than the data nodes: nothing stays of what was begun"
cp edited.ini now.ini
want 0 "$BIN/ndb_mgm" --ndb-connectstring="127.0.0.1:${PORTS[0]}" -e 'SHOW'
exec 4<>"/dev/tcp/127.0.0.1/${PORTS[0]}"
printf 'reload config\nconfig_filename: %s/now.ini\n\n' "$BOX" >&4
timeout 20 sed '/^$/q' <&4 >reloaded
exec 4<&-
grep -q '^generation: 2' reloaded || fail "not reloaded: $(cat reloaded)"
alike
lose 49 50
rm -rf mgm49
FILE=now.ini
server 49
wait_text mgm49/ndb_49_cluster.log 'ALERT.*Node [12] runs with generation 1 of another configuration'
server 50
wait_text mgm49/ndb_49_cluster.log 'goes on with generation 2 of management server 50, and drops the one that it has begun with'
alike
[ -e mgm49/ndb_49_config.bin.2 ] && [ ! -e mgm49/ndb_49_config.bin.1 ] || fail "server 49 keeps what it has begun with: $(ls mgm49)"
lose 49
server 49
alike

say "one that cannot store what counts stays unsure, and takes it when it can"
lose 49 50
rm -rf mgm49
sed 's/=350$/=360/' edited.ini >other.ini
FILE=other.ini
server 49
wait_text mgm49/ndb_49_cluster.log 'First start'
mkdir mgm49/ndb_49_config.bin.2.tmp # Nobody writes to a directory.
FILE=now.ini
server 50
wait_text server49.out 'the cache .*ndb_49_config.bin.2 cannot be written'
state 49
grep -q '^fresh: 1' state || fail "server 49 is sure, and has another configuration: $(cat state)"
rmdir mgm49/ndb_49_config.bin.2.tmp
alike

say "no other server is left: the cure that is told cures, also when the data nodes run with a later generation"
want 0 "$BIN/ndb_mgm" -e 'ALL RESTART' # Now they run with generation 2.
want 0 "$BIN/ndb_waiter" --timeout=100
lose 49 50
rm -rf mgm49 mgm50
FILE=other.ini
server 49
wait_text mgm49/ndb_49_cluster.log 'ALERT.*Node [12] runs with generation 2 of another configuration.*start this one with --initial and the file'
lose 49
FILE=now.ini
server 49 --initial
wait_text mgm49/ndb_49_cluster.log 'The data nodes run with this configuration as generation 2: it is that one here, too'
server 50
alike
grep -q '^generation: 2' state || fail "the servers have another generation: $(cat state)"

say "--initial that cannot be written costs nothing"
lose 49 50
cp mgm49/ndb_49_config.bin.2 kept.2
rm -f mgm49/ndb_49_config.bin.1
mkdir mgm49/ndb_49_config.bin.1.tmp
want 1 "$BIN/ndb_mgmd" --config-file=now.ini --ndb-nodeid=49 --nodaemon --initial
want_text err 'the cache .*ndb_49_config.bin.1 cannot be written'
cmp mgm49/ndb_49_config.bin.2 kept.2 || fail "the kept configuration is another one"
rm -rf mgm49/ndb_49_config.bin.1.tmp
mv mgm49/ndb_49_config.bin.2 mgm49/ndb_49_config.bin.1
cp mgm49/ndb_49_config.bin.1 kept.1
mkdir mgm49/ndb_49_config.bin.1.tmp
want 1 "$BIN/ndb_mgmd" --config-file=now.ini --ndb-nodeid=49 --nodaemon --initial
cmp mgm49/ndb_49_config.bin.1 kept.1 || fail "the only kept configuration is gone"
