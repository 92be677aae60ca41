#!/bin/bash
# changed_port.sh -- ServerPort is changed in config.ini while data nodes run: until they are restarted all together everybody
# finds them where they listen.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

two_ports() { # Free ones.
    local one two
    one=$(free_port)
    two=$(free_port)
    [ "$one" != "$two" ] || two=$((one + 1))
    echo "$one $two"
}

# change PORT PORT: the ports of nodes 1 and 2; the management server is restarted with them.
change() {
    sed -i '/^ServerPort=/d' "$BOX/config.ini"
    sed -i "s/^NodeId=1\$/&\nServerPort=$1/; s/^NodeId=2\$/&\nServerPort=$2/" "$BOX/config.ini"
    kill "$MGM_PID"
    ended "$MGM_PID" || fail "the management server ends with exit code $?"
    start_mgm
    wait_mgm || die "the management server does not start"
}

two_nodes_are_there() {
    for _ in $(seq 900); do
        run "$BIN/ndb_mgm" -e SHOW >"$BOX/out" 2>&1
        [ "$(grep -cE '^id=[12].*@127\.0\.0\.1 .*Nodegroup: 0' "$BOX/out")" = 2 ] && return
        sleep 0.1
    done
    fail "the data nodes are not seen: $(cat "$BOX/out")"
}

everybody_finds_them() {
    two_nodes_are_there
    want 0 "$BIN/ndb_select_count" -d test kept
    want_text out '^3 records'
}

start_daemons() {
    start_mgm --initial
    start_daemon 1
    start_daemon 2
    want 0 "$BIN/ndb_waiter" --timeout=100
}

write_config 2 2 # Any ports.
start_daemons
want 0 "$BIN/ndb_create_table" -e 'CREATE TABLE test.kept (id INT NOT NULL PRIMARY KEY)'
printf '1\n2\n3\n' >"$BOX/kept.csv"
want 0 "$BIN/ndb_import" test "$BOX/kept.csv"

say "from any port to one that is given"
read -r first second < <(two_ports)
change "$first" "$second"
everybody_finds_them
want 255 "$BIN/ndb_mgm" -e 'ROLLING RESTART'
want_text out 'ServerPort'
everybody_finds_them
want 0 "$BIN/ndb_mgm" -e 'ALL RESTART'
want 0 "$BIN/ndb_waiter" --timeout=100
everybody_finds_them
wait_text mgm/ndb_49_cluster.log "Node 1 listens on port $first,"
wait_text mgm/ndb_49_cluster.log "Node 2 listens on port $second,"

say "from given ports to others, and the management server is killed before they are used"
read -r third fourth < <(two_ports)
change "$third" "$fourth"
everybody_finds_them
kill -9 "$MGM_PID"
ended "$MGM_PID"
start_mgm
wait_mgm || die "the management server does not start"
everybody_finds_them
want 0 "$BIN/ndb_mgm" -e 'ALL RESTART'
want 0 "$BIN/ndb_waiter" --timeout=100
everybody_finds_them
wait_text mgm/ndb_49_cluster.log "Node 2 listens on port $fourth,"

say "a server that was never told the ports takes others while it runs"
kill "$MGM_PID"
ended "$MGM_PID" || fail "the management server ends with exit code $?"
rm -f "$BOX/mgm/ndb_49_ports"
start_mgm
wait_mgm || die "the management server does not start"
everybody_finds_them
read -r seventh eighth < <(two_ports)
sed -i "s/^ServerPort=$third\$/ServerPort=$seventh/; s/^ServerPort=$fourth\$/ServerPort=$eighth/" "$BOX/config.ini"
reload
everybody_finds_them

say "its directory is lost, too: a restart in turn, which could not be taken back, is refused"
read -r fifth sixth < <(two_ports)
sed -i '/^ServerPort=/d' "$BOX/config.ini"
sed -i "s/^NodeId=1\$/&\nServerPort=$fifth/; s/^NodeId=2\$/&\nServerPort=$sixth/" "$BOX/config.ini"
kill -9 "$MGM_PID"
ended "$MGM_PID"
rm -f "$BOX"/mgm/ndb_49_config.bin.*
start_mgm
wait_mgm || die "the management server does not start"
two_nodes_are_there
want 255 "$BIN/ndb_mgm" -e 'ROLLING RESTART'
want_text out 'Node [12] runs with generation [0-9]+ of a configuration that is not kept here.*ALL RESTART.*RESTART -f'
everybody_finds_them
want 0 "$BIN/ndb_mgm" -e 'ALL RESTART'
want 0 "$BIN/ndb_waiter" --timeout=100
everybody_finds_them

say "a node that has left the configuration is not looked for any more, and found when it has come back"
cp "$BOX/config.ini" "$BOX/both.ini"
sed -i -z 's/NoOfReplicas=2/NoOfReplicas=1/; s/\[ndbd\]\nNodeId=2\n[^[]*//' "$BOX/config.ini"
reload
for order in 'ALL RESTART' 'ROLLING RESTART' '1 RESTART'; do
    want 255 "$BIN/ndb_mgm" -e "$order"
    want_text out '(NoOfReplicas of node 1: 2 became 1|data node 2 is gone).*ALL RESTART -i -f'
done
want 0 "$BIN/ndb_mgm" -e 'ALL REPORT MEMORY' # Node 2 is one of all, and is heard.
want_text out '^Node 2: Data usage'
! grep 'a signal was refused' "$BOX/mgm/ndb_49_cluster.log" || fail "a node that has left is cut off"
angel=$(cat "$BOX/node2/ndb_2.pid")
looked=$(grep -c 'no link to node 2 yet' "$BOX/mgm/ndb_49_cluster.log")
pkill -9 -P "$angel" ndbmtd # The angel starts it again, and no management server has such a node.
for _ in $(seq 900); do
    kill -0 "$angel" 2>/dev/null || break
    sleep 0.1
done
kill -0 "$angel" 2>/dev/null && fail "the angel of node 2 stays"
wait_text mgm/ndb_49_cluster.log 'Node 1: Node 2 Disconnected'
[ "$(grep -c 'no link to node 2 yet' "$BOX/mgm/ndb_49_cluster.log")" -eq "$looked" ] || fail "node 2 is looked for"
mv "$BOX/both.ini" "$BOX/config.ini"
reload
start_daemon 2
want 0 "$BIN/ndb_waiter" --timeout=100
everybody_finds_them

say "what the refusal recommends is carried out: one node begins with nothing, the other one has no place any more"
cp "$BOX/config.ini" "$BOX/both.ini"
sed -i -z 's/NoOfReplicas=2/NoOfReplicas=1/; s/\[ndbd\]\nNodeId=2\n[^[]*//' "$BOX/config.ini"
reload
want 0 "$BIN/ndb_mgm" -e 'ALL RESTART -i -f'
want 0 "$BIN/ndb_waiter" --timeout=100
want 1 "$BIN/ndb_select_count" -d test kept
want_text err 'kept.*723'
mv "$BOX/both.ini" "$BOX/config.ini"
reload # It is new now, and is not to be started before the other one knows of it.
want 255 "$BIN/ndb_mgm" -e 'ROLLING RESTART'
want_text out 'refused: (NoOfReplicas of node 1: 1 became 2|data node 2 is new).*ALL RESTART -i -f'
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
ended "$MGM_PID" || fail "the management server ends with exit code $?"
