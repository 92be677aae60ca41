#!/bin/bash
# config_tool.sh -- ndb_config: every source and every form of its output.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2 $'HeartbeatIntervalDbApi=1234\nArbitration=Disabled'
CONFIG=$BIN/ndb_config

# same TEXT COMMAND...: the whole output is TEXT.
same() {
    local text=$1
    shift
    want 0 "$@"
    [ "$(cat "$BOX/out")" = "$text" ] || fail "'$(head -n 5 "$BOX/out")' instead of '$text': $*"
}

say "nodes, connections, system"
same 'ndbd,1,127.0.0.1 ndbd,2,127.0.0.1' "$CONFIG" --type=ndbd
same 'ndb_mgmd:49' "$CONFIG" --nodes --type=ndb_mgmd --query=type,id -f :
want 0 "$CONFIG" --host=127.0.0.1 --rows=$'\n' --query=nodeid
[ "$(wc -l <"$BOX/out")" = 9 ] || fail "9 nodes expected: $(cat "$BOX/out")"
same '' "$CONFIG" --host=elsewhere
same '1,1234,0,98765432' "$CONFIG" --nodeid=1 -q id,heartbeatintervaldbapi,Arbitration,DataMemory \
    --config-file=<(sed 's/^DataMemory=.*/DataMemory=98765432/' "$BOX/config.ini")
same '83886080' "$CONFIG" --nodeid=1 --query=112
same '1186,' "$CONFIG" --query=PortNumber,DataMemory --nodeid=49 --config-file=<(sed '/^PortNumber/d' "$BOX/config.ini")
want 0 "$CONFIG" --connections --nodeid=1 --rows=';'
want_text out '^tcp,1,2;tcp,1,3;.*;tcp,1,49$'
want 0 "$CONFIG" --connections --query=NodeId1,NodeId2,HostName1,SendBufferMemory -r $'\n'
want_text out '^1,2,127\.0\.0\.1,2097152$'
grep -Eq '^49,' "$BOX/out" && fail "a link without data node"
want 0 "$CONFIG" --system --query=Name
want_text out '.'
want 0 "$CONFIG" --nodeid=1 --query=id,type --format=json
want_text out '"id":	1'

say "all, and what is not default"
want 0 "$CONFIG" -a --nodeid=1
want_text out '^config of \[DB\] node id 1$'
want_text out '^CONFIG_PARAMETER,ACTUAL_VALUE$'
want_text out '^HeartbeatIntervalDbApi,1234$'
want 0 "$CONFIG" --diff_default --nodeid=1
want_text out '^config of \[DB\] node id 1 that is different from default$'
want_text out '^CONFIG_PARAMETER,ACTUAL_VALUE,DEFAULT_VALUE$'
want_text out '^NodeId,1,\(mandatory\)$'
want_text out '^HeartbeatIntervalDbApi,1234,1500$'
want_text out '^HostName,127\.0\.0\.1,localhost$'
grep -q '^NoOfReplicas' "$BOX/out" && fail "NoOfReplicas has its default"
want 0 "$CONFIG" --diff_default --system
want_text out '^config of \[SYSTEM\] system that is different from default$'

say "the binary cache, and the generation that a node runs with"
same 'ndbd,1 ndbd,2' "$CONFIG" --config-binary-file="$BOX/mgm/ndb_49_config.bin.1" --type=ndbd -q type,id
sed -i 's/^HeartbeatIntervalDbApi=.*/HeartbeatIntervalDbApi=1300/' "$BOX/config.ini"
exec 3<>"/dev/tcp/${CS/://}" || die "no management server"
printf 'reload config\n\n' >&3
timeout 20 sed '/^$/q' <&3 >"$BOX/out"
exec 3>&-
want_text out '^result: Ok$'
same '1300' "$CONFIG" --nodeid=1 -q HeartbeatIntervalDbApi
same '1234' "$CONFIG" --nodeid=1 -q HeartbeatIntervalDbApi --config_from_node=2
want 255 "$CONFIG" --config_from_node=7
want_text err '^4012: .*node 7 is no data node that runs'

say "all parameters"
want 0 "$CONFIG" --configinfo
want_text out '^\*\*\*\*\*\* ndbd \*\*\*\*\*\*$'
want_text out '^HeartbeatIntervalDbApi \(Non-negative Integer\)$'
want_text out '^Default: 1500 \(Min: 100, Max: '
want 0 "$CONFIG" --configinfo --format=json
cp "$BOX/out" "$BOX/info.json"
want 0 python3 -c '
import json, sys
known = {(p["section"], p["name"]): p for p in json.load(open(sys.argv[1]))}
replicas = known["ndbd", "NoOfReplicas"]
assert (replicas["default"], replicas["min"], replicas["max"]) == (2, 1, 4), replicas
assert known["ndbd", "NodeId"]["mandatory"] is True' "$BOX/info.json"
want 2 "$CONFIG" --configinfo --xml --format=json
want 2 "$CONFIG" --configinfo -q NodeId
want 0 "$CONFIG" --configinfo --xml
want_text out '<section name="ndbd" primarykeys="NodeId">'
want_text out '<param name="NoOfReplicas" .*type="unsigned" default="2" min="1" max="4" restart="system" initial="true"/>'
cp "$BOX/out" "$BOX/info.xml"
if command -v python3 >/dev/null; then
    want 0 python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$BOX/info.xml"
fi

say "errors"
want 255 "$CONFIG" --query=id,nonsense
want_text err "no such parameter: 'nonsense'"
want 255 "$CONFIG" --config-file="$BOX/none.ini"
want_text err 'none.ini'
echo rubbish >"$BOX/rubbish"
want 255 "$CONFIG" --config-binary-file="$BOX/rubbish"
want_text err 'rubbish: '
want 255 "$CONFIG" -c "127.0.0.1:$(free_port)" --connect-retries=0
want_text err '^Unable to connect to management server'
want 2 "$CONFIG" --nodes --system
want 2 "$CONFIG" --xml
want 2 "$CONFIG" --type=car
want 2 "$CONFIG" -a -q id
stop_cluster
