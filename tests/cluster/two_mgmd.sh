#!/bin/bash
# two_mgmd.sh -- two management servers: both are right, either may be lost, the configuration stays one.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
source "$HERE/failover.sh"
PORT_A=$(free_port)
PORT_B=$(free_port)
CS=127.0.0.1:$PORT_A,127.0.0.1:$PORT_B
export NDB_CONNECTSTRING=$CS
declare -A SERVER

config() { # FILE [LINES for ndbd default]
    {
        printf '[ndbd default]\nNoOfReplicas=2\nDataMemory=80M\nHostName=127.0.0.1\n%s\n%s\n' "$SMALL_LOG" "${2:-}"
        printf '[ndb_mgmd default]\nHostName=127.0.0.1\n'
        printf '[ndb_mgmd]\nNodeId=49\nPortNumber=%s\nDataDir=%s/mgm\n' "$PORT_A" "$BOX"
        printf '[ndb_mgmd]\nNodeId=50\nPortNumber=%s\nDataDir=%s/mgm50\n' "$PORT_B" "$BOX"
        for id in 1 2; do printf '[ndbd]\nNodeId=%s\nDataDir=%s/node%s\n' "$id" "$BOX" "$id"; done
        for id in 60 61 62 63 64 65; do printf '[api]\nNodeId=%s\nHostName=127.0.0.1\n' "$id"; done
    } >"$1"
}

server() { # ID [options]
    local id=$1
    shift
    "$BIN/ndb_mgmd" --config-file="$BOX/config$id.ini" --ndb-nodeid="$id" --nodaemon "$@" >>"$BOX/mgm.out" 2>&1 &
    SERVER[$id]=$!
    PIDS+=("$!")
}

port_of() { [ "$1" = 49 ] && echo "$PORT_A" || echo "$PORT_B"; }

listens() { # ID
    for _ in $(seq 900); do
        (exec 3<>"/dev/tcp/127.0.0.1/$(port_of "$1")") 2>/dev/null && return 0
        sleep 0.1
    done
    die "management server $1 does not listen"
}

lose() { # ID
    kill -9 "${SERVER[$1]}"
    wait "${SERVER[$1]}" 2>/dev/null
}

at() { # ID COMMAND: through this server alone
    want 0 "$BIN/ndb_mgm" -c "127.0.0.1:$(port_of "$1")" -e "$2"
}

log_of() { [ "$1" = 49 ] && echo "$BOX/mgm/ndb_49_cluster.log" || echo "$BOX/mgm50/ndb_50_cluster.log"; }

until_at() { # ID COMMAND PATTERN: within 10 s the server's answer has it
    for _ in $(seq 900); do
        run "$BIN/ndb_mgm" -c "127.0.0.1:$(port_of "$1")" -e "$2" >"$BOX/out" 2>&1
        grep -Eq -- "$3" "$BOX/out" && return 0
        sleep 0.1
    done
    fail "server $1: '$3' does not come in the answer to $2"
    cat "$BOX/out"
}

until_log() { # ID PATTERN [TIMES]
    for _ in $(seq 900); do
        [ "$(grep -Ec -- "$2" "$(log_of "$1")")" -ge "${3:-1}" ] && return 0
        sleep 0.1
    done
    fail "no line '$2' in the log of server $1${3:+, or not $3 of them}"
}

until_state() { # ID PATTERN
    for _ in $(seq 900); do
        ask "$1" 'get mgmd state'
        grep -q "$2" "$BOX/out" && return 0
        sleep 0.1
    done
    fail "server $1 does not come to '$2': $(cat "$BOX/out")"
}

ask() { # ID LINES...: a request in the text protocol; the answer goes to $BOX/out
    local id=$1
    shift
    exec 4<>"/dev/tcp/127.0.0.1/$(port_of "$id")"
    printf '%s\n' "$@" '' >&4
    timeout 5 sed '/^$/q' <&4 >"$BOX/out"
    exec 4<&-
}

say_the_same() { # SHOW of both: what is there is the same, but for the addresses they are seen from
    local id
    for id in 49 50; do
        at "$id" SHOW
        want_text out '^id=1	@127\.0\.0\.1  \(.*, Nodegroup: 0(, \*)?\)$'
        want_text out '^id=2	@127\.0\.0\.1  \(.*, Nodegroup: 0(, \*)?\)$'
        want_text out '^id=49	@127\.0\.0\.1  \('
        want_text out '^id=50	@127\.0\.0\.1  \('
        sed -n '/Configuration/,$p' "$BOX/out" | sed -E 's/@[^ ]+//' >"$BOX/show$id"
    done
    cmp -s "$BOX/show49" "$BOX/show50"
}

both_show() { # what both say of a cluster where all is well; they learn of each other within a second or two
    local id
    for id in 49 50; do
        for own in 1 2 49 50; do until_at "$id" SHOW "^id=$own	@127\\.0\\.0\\.1  \\("; done
        until_at "$id" SHOW '^Arbitrator: node (49|50)$'
    done
    for _ in $(seq 300); do # Clients come and go between the two questions.
        say_the_same && return 0
        sleep 0.1
    done
    fail "SHOW differs: $(diff "$BOX/show49" "$BOX/show50")"
}

mkdir -p "$BOX/mgm" "$BOX/mgm50" "$BOX/node1" "$BOX/node2"
config "$BOX/config49.ini"
cp "$BOX/config49.ini" "$BOX/config50.ini"

say "start, the second server first"
server 50
listens 50
server 49
listens 49
for id in 1 2; do start_node "$id"; done
want 0 "$BIN/ndb_waiter" --timeout=100
both_show
for id in 49 50; do
    until_log "$id" 'Node 1: Started'
    until_log "$id" 'Node 2: Started'
done

say "under load each of them is killed, hangs, and comes back; the arbitrator moves on"
start_bank 0
for id in 49 50; do
    other=$((99 - id))
    lose "$id"
    until_at "$other" SHOW "^Arbitrator: node $other\$"
    want 0 "$BIN/ndb_mgm" -e 'ALL STATUS'
    want_text out '^Node 2: started'
    want 0 "$BIN/ndb_select_count" -d test bank_account
    until_at "$other" SHOW "^id=$id \\(not connected, accepting connect from"
    server "$id"
    listens "$id"
    both_show
    kill -STOP "${SERVER[$id]}"
    until_at "$other" SHOW "^Arbitrator: node $other\$"
    begin=$(date +%s)
    want 0 "$BIN/ndb_mgm" -e 'ALL STATUS'
    want_text out '^Node 1: started'
    want 0 "$BIN/ndb_select_count" -d test bank_account
    [ $(($(date +%s) - begin)) -le 12 ] || fail "with a server that hangs two commands take $(($(date +%s) - begin)) s"
    kill -CONT "${SERVER[$id]}"
    both_show
done
until_log 49 'Lost arbitrator|Started arbitrator'
end_bank
gap_at_most 2000

say "a data node is lost while one server is away: the other one arbitrates, and lets it come back"
lose 49
until_at 50 SHOW '^Arbitrator: node 50$'
kill_node 1
until_at 50 'ALL STATUS' '^Node 2: started'
restart_node 1
want 0 "$BIN/ndb_select_count" -d test bank_account
server 49
listens 49
both_show

say "no node id is given twice"
pids=()
for n in 1 2 3 4 5 6; do # As many as there are ids, half at each server.
    NDB_CONNECTSTRING=127.0.0.1:$(port_of $((49 + n % 2))) timeout 30 "$BIN/ndb_select_count" -d test bank_account >"$BOX/count$n" 2>&1 &
    pids+=("$!")
done
for pid in "${pids[@]}"; do wait "$pid" || fail "a client gets no node id"; done
grep -h 'Connected$' "$(log_of 49)" | grep -c 'Node 6[0-5] Connected' >/dev/null || fail "no client was seen"
exec 5<>"/dev/tcp/127.0.0.1/$PORT_A" 6<>"/dev/tcp/127.0.0.1/$PORT_B"
for n in $(seq 40); do # Sessions that hold what they were given; the ids of those that have ended are free soon.
    printf 'get nodeid\nnodetype: API\n\n' >&5
    printf 'get nodeid\nnodetype: API\n\n' >&6
    for fd in 5 6; do timeout 5 sed '/^$/q' <&$fd | sed -nE 's/^nodeid: ([0-9]+)$/\1/p'; done >>"$BOX/ids"
    [ "$(wc -l <"$BOX/ids")" -lt 6 ] || break
    sleep 0.1
done
[ "$(wc -l <"$BOX/ids")" -eq 6 ] || fail "$(wc -l <"$BOX/ids") of 6 ids were given"
[ -z "$(sort "$BOX/ids" | uniq -d)" ] || fail "given twice: $(sort "$BOX/ids" | uniq -d)"
ask 49 'get nodeid' 'nodetype: API' "nodeid: $(tail -n 1 "$BOX/ids")"
grep -q 'error_code: 1103' "$BOX/out" || fail "an id that the other server has given is given again: $(cat "$BOX/out")"
exec 5<&- 6<&-

say "changes of the configuration: at the first server, with all of them running"
config "$BOX/config49.ini" 'MaxNoOfConcurrentScans=300'
ask 50 'reload config' "config_filename: $BOX/config49.ini"
grep -q 'result: 4011 the configuration is changed at management server 49' "$BOX/out" || fail "changed at 50: $(cat "$BOX/out")"
lose 50
sleep 4
ask 49 'reload config'
grep -q 'result: 4011 management server 50 does not answer' "$BOX/out" || fail "changed without 50: $(cat "$BOX/out")"
server 50
until_log 49 'Management server 50 .* answers, generation 1'
for _ in $(seq 900); do
    ask 49 'reload config'
    grep -q 'generation: 2' "$BOX/out" && break
    sleep 0.2
done
grep -q 'generation: 2' "$BOX/out" || fail "not changed with both: $(cat "$BOX/out")"
until_log 50 'Generation 2 is taken over from management server 49'
until_log 50 '300' # What has changed.

say "a server that was away for a change takes it when it comes back, with its old file"
lose 50
server 50
listens 50
until_log 50 'config50.ini differs from generation 2, which is used'
wait_text mgm.out '^ndb_mgmd: warning: .*config50.ini differs from generation 2, which is used' # Who starts it sees it.
want 1 timeout 20 "$BIN/ndb_mgmd" --config-file="$BOX/config49.ini" --ndb-nodeid=49 --nodaemon # 49 runs: its port is taken.
lose 50
cp "$BOX/config49.ini" "$BOX/third.ini"
config "$BOX/config50.ini" 'MaxNoOfConcurrentScans=310'
want 1 "$BIN/ndb_mgmd" --config-file="$BOX/config50.ini" --ndb-nodeid=50 --nodaemon --reload
want_text err 'run ndb_mgmd --reload there'
want 1 "$BIN/ndb_mgmd" --config-file="$BOX/config50.ini" --ndb-nodeid=50 --nodaemon --initial
want_text err 'another configuration than generation 2 of management server 49'
cp "$BOX/config49.ini" "$BOX/config50.ini"
server 50
listens 50

say "a change that waits for the other server, and is taken back meanwhile, does not happen"
lose 49
lose 50
config "$BOX/config49.ini" 'MaxNoOfConcurrentScans=330'
server 49 --reload
listens 49
until_log 49 'becomes generation 3 when all management servers are there'
wait_text mgm.out '^ndb_mgmd: warning: .*becomes generation 3 when all management servers are there'
cp "$BOX/config50.ini" "$BOX/config49.ini"
ask 49 'reload config'
grep -q 'generation: 2' "$BOX/out" || fail "the file is that of generation 2: $(cat "$BOX/out")"
server 50
listens 50
until_log 49 'The change that waited for all management servers is dropped'
both_show
sleep 2
ask 49 'reload config'
grep -q 'generation: 2' "$BOX/out" || fail "what was taken back has become a generation: $(cat "$BOX/out")"

say "a change at the start of the first server waits for the other one"
lose 49
lose 50
config "$BOX/config49.ini" 'MaxNoOfConcurrentScans=320'
server 49 --reload
listens 49
until_log 49 'becomes generation 3 when all management servers are there'
server 50
until_log 49 'The changed file is generation 3 now'
until_log 50 'Generation 3 is taken over from management server 49'
both_show

say "SHUTDOWN ends both"
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
want_text out '^4 NDB Cluster node\(s\) have shutdown\.$'
for id in 49 50; do ended "${SERVER[$id]}" || fail "management server $id ends with exit code $?"; done
for id in 1 2; do ended "${NODE_PIDS[id]}" || fail "node $id ends with exit code $?"; done
NODE_PIDS=()

say "a server that is taken out of the configuration stops, and does not start with its old one"
for id in 49 50; do server "$id"; done
for id in 49 50; do listens "$id"; done
cp "$BOX/config49.ini" "$BOX/config50.ini"
sed -i '/NodeId=50/,/^DataDir/d' "$BOX/config49.ini"
sed -i -z 's/\[ndb_mgmd\]\n\(\[ndbd\]\)/\1/' "$BOX/config49.ini"
for _ in $(seq 900); do
    ask 49 'reload config'
    grep -q 'generation: 4' "$BOX/out" && break
    sleep 0.2
done
grep -q 'generation: 4' "$BOX/out" || fail "the server is not taken out: $(cat "$BOX/out")"
ended "${SERVER[50]}" || fail "management server 50 ends with exit code $?"
until_log 50 'has no \[ndb_mgmd\] section for this one any more. This server stops'
want 1 timeout 20 "$BIN/ndb_mgmd" --config-file="$BOX/config50.ini" --ndb-nodeid=50 --nodaemon
want_text err 'generation 4 of management server 49, which runs, has no \[ndb_mgmd\] section for this one any more'
kill "${SERVER[49]}"
ended "${SERVER[49]}" || fail "management server 49 ends with exit code $?"

say "a server of another cluster is refused: when it runs, and at its start"
server_state() { # ID GENERATION: this is what it has
    ask "$1" 'get mgmd state'
    grep -q "^generation: $2\$" "$BOX/out" || fail "server $1 has not generation $2: $(cat "$BOX/out")"
}
meet() { # Server 50 starts while 49 hangs: neither can see at its start whose the other is.
    kill -STOP "${SERVER[49]}"
    server 50
    listens 50
    kill -CONT "${SERVER[49]}"
}
rm -rf "$BOX/mgm"
mkdir "$BOX/mgm"
config "$BOX/config49.ini"
printf '[system]\nName=another\n' >>"$BOX/config49.ini"
cp "$BOX/mgm50/ndb_50_config.bin.3" "$BOX/kept"
server 49 --cluster-id=4711 # Alone, and of a cluster that the operator has named: it does not give way.
listens 49
server_state 49 1
meet
until_log 49 'Generation 3 of another management server is of another cluster$'
lose 50
until_log 49 'Management server 50 .* does not answer'
meet # The same again, which is no news: what is told once comes before the next question.
until_log 49 'Management server 50 .* answers, generation 3' 2
server_state 49 1
server_state 50 3
lose 50
until_log 49 'Management server 50 .* does not answer' 2 # Its answer has been dealt with for certain.
[ "$(grep -c 'is of another cluster' "$(log_of 49)")" -eq 1 ] || fail "told more than once: $(grep 'another cluster' "$(log_of 49)")"
want 1 timeout 20 "$BIN/ndb_mgmd" --config-file="$BOX/config50.ini" --ndb-nodeid=50 --nodaemon
want_text err 'generation 1 of management server 49, which runs, is of another cluster$'
cmp -s "$BOX/mgm50/ndb_50_config.bin.3" "$BOX/kept" || fail "the configuration of server 50 is another one"
kill "${SERVER[49]}"
ended "${SERVER[49]}" || fail "management server 49 ends with exit code $?"
server 50
listens 50
want 1 timeout 20 "$BIN/ndb_mgmd" --config-file="$BOX/config49.ini" --ndb-nodeid=49 --nodaemon
want_text err 'generation 3 of management server 50, which runs, is of another cluster$'
cmp -s "$BOX/kept" "$BOX/mgm50/ndb_50_config.bin.3" && [ ! -e "$BOX/mgm/ndb_49_config.bin.2" ] || fail "a refused server has changed a configuration"
kill "${SERVER[50]}"
ended "${SERVER[50]}" || fail "management server 50 ends with exit code $?"

say "two new servers that are told different ids at the same time are both sure: they say so, and nothing is changed"
rm -rf "$BOX/mgm" "$BOX/mgm50"
mkdir "$BOX/mgm" "$BOX/mgm50"
config "$BOX/config49.ini"
cp "$BOX/config49.ini" "$BOX/config50.ini"
server 49
listens 49
server 50
listens 50
until_log 49 'Management server 50 .* answers, generation 1'
until_log 50 'Management server 49 .* answers, generation 1'
exec 5<>"/dev/tcp/127.0.0.1/$PORT_A" 6<>"/dev/tcp/127.0.0.1/$PORT_B"
for fd in 5 6; do
    printf 'get nodeid\nnodetype: NDB\nnodeid: %s\n\n' $((fd - 4)) >&$fd
    timeout 60 sed '/^$/q' <&$fd | grep -q "^nodeid: $((fd - 4))\$" || fail "no node id $((fd - 4))"
done
kill -STOP "${SERVER[49]}" "${SERVER[50]}" # What each is told is there before it has heard of the other's.
printf 'claim cluster\nnode: 1\ncluster: 1111\n\n' >&5
printf 'claim cluster\nnode: 2\ncluster: 2222\n\n' >&6
kill -CONT "${SERVER[49]}" "${SERVER[50]}"
for fd in 5 6; do timeout 60 sed '/^$/q' <&$fd | grep -q '^result: Ok' || fail "claim of node $((fd - 4)) is refused"; done
printf 'claim cluster\nnode: 1\ncluster: 3333\n\n' >&5
timeout 60 sed '/^$/q' <&5 | grep -q 'stop all management servers and start them with --initial --cluster-id=3333' || fail "the cure of two servers is another one"
exec 5<&- 6<&-
until_log 49 'ALERT.* Management server 50 has the cluster id 2222, this one has 1111: stop all management servers'
until_log 50 'ALERT.* Management server 49 has the cluster id 1111, this one has 2222: stop all management servers'
config "$BOX/config49.ini" 'MaxNoOfConcurrentScans=340'
ask 49 'reload config'
grep -q 'result: 4011 management server 50 has the id of another cluster' "$BOX/out" || fail "changed, though 50 has another cluster: $(cat "$BOX/out")"
server_state 49 1
server_state 50 1
for id in 49 50; do kill "${SERVER[$id]}"; done
for id in 49 50; do ended "${SERVER[$id]}" || fail "management server $id ends with exit code $?"; done

say "a server that has lost its directory, and has an edited file, gives way to the one that is sure of the cluster"
for how in '49 runs' '50 runs' '49 restarts' '50 restarts'; do
    sure=${how% *}
    other=$((99 - sure))
    rm -rf "$BOX/mgm" "$BOX/mgm50"
    mkdir "$BOX/mgm" "$BOX/mgm50"
    config "$BOX/config$sure.ini"
    config "$BOX/config$other.ini" 'MaxNoOfConcurrentScans=350'
    server "$sure"
    listens "$sure"
    ask "$sure" 'get mgmd state'
    id=$(sed -n 's/^cluster: //p' "$BOX/out")
    exec 5<>"/dev/tcp/127.0.0.1/$(port_of "$sure")"
    printf 'get nodeid\nnodetype: NDB\nnodeid: 1\n\nclaim cluster\nnode: 1\ncluster: %s\n\n' "$id" >&5
    timeout 60 sed '/^result: Ok$/q' <&5 | grep -q '^result: Ok' || fail "server $sure takes its own id for another one"
    exec 5<&-
    until_state "$sure" '^fresh: 0' # When it has waited for data nodes that could know better.
    kill "${SERVER[$sure]}"
    ended "${SERVER[$sure]}" || fail "management server $sure ends with exit code $?"
    server "$other"
    listens "$other"
    if [ "${how#* }" = runs ]; then
        server "$sure" # It is not refused, and the other one takes what it has.
        listens "$sure"
        until_log "$other" "This server goes on with generation 1 of management server $sure, and drops the one that it has begun with"
    else # Its file put right, it starts again beside the other one.
        kill "${SERVER[$other]}"
        ended "${SERVER[$other]}" || fail "management server $other ends with exit code $?"
        server "$sure"
        listens "$sure"
        cp "$BOX/config$sure.ini" "$BOX/config$other.ini"
        server "$other"
        listens "$other"
        until_log "$other" "Generation 1 is taken from management server $sure"
    fi
    ask "$sure" 'get mgmd state'
    digest=$(grep '^digest' "$BOX/out")
    ask "$other" 'get mgmd state'
    grep -qF "$digest" "$BOX/out" || fail "server $other has another configuration than $sure: $(cat "$BOX/out")"
    until_state "$other" '^fresh: 0'
    for n in 49 50; do kill "${SERVER[$n]}"; done
    for n in 49 50; do ended "${SERVER[$n]}" || fail "management server $n ends with exit code $?"; done
done
