#!/bin/bash
# operations.sh -- START, STOP and RESTART in all their forms with their error texts, changes of the configuration by
# rolling restart, and ArbitrationDelay.
# SPDX-License-Identifier: GPL-2.0-only
TEST_DEADLINE=${TEST_DEADLINE:-800}
source "$(dirname "$0")/cluster.sh"
source "$HERE/failover.sh"
LINES='StopOnError=0'

mgm() { want "$1" "$BIN/ndb_mgm" -e "$2"; }
refused() { # COMMAND PATTERN...
    local command=$1 pattern
    shift
    run "$BIN/ndb_mgm" -e "$command" >"$BOX/out" 2>&1 && fail "$command is not refused"
    for pattern in "$@"; do want_text out "$pattern"; done
}
wait_status() { # ID STATUS
    for _ in $(seq 900); do
        [ "$(status_of "$1")" = "$2" ] && return 0
        sleep 0.1
    done
    fail "node $1 is '$(status_of "$1")' and not '$2'"
}
was_restarted() { # ID PID: another process than this one is started
    for _ in $(seq 900); do
        [ "$(worker_of "$1")" != "$2" ] && [ "$(status_of "$1")" = started ] && return 0
        sleep 0.1
    done
    fail "node $1 has not been restarted"
}
ask() { # LINES...: a request in the text protocol
    exec 4<>"/dev/tcp/127.0.0.1/${CS##*:}"
    printf '%s\n' "$@" '' >&4
    timeout 5 sed '/^$/q' <&4 >"$BOX/out"
    exec 4<&-
}
change() { # LINE: of [ndbd default], instead of the one with this name
    sed -i "/^${1%%=*}=/d; s/^\\[ndbd default\\]\$/&\\n$1/" "$BOX/config.ini"
    ask 'reload config'
    grep -q '^generation: ' "$BOX/out" || fail "the configuration is not changed: $(cat "$BOX/out")"
}
total_pages() { "$BIN/ndb_mgm" -e 'ALL REPORT MEMORY' | sed -nE "s/^Node $1: Data usage .* of total ([0-9]+)\\)/\\1/p"; }

start_daemons 4 2

say "START"
mgm 0 '2 RESTART -n'
want_text out '^Node 2 is being restarted$'
wait_status 2 'not started'
mgm 0 '2 START'
want_text out '^Database node 2 is being started\.$'
wait_started 2
refused '2 START' '^Start failed\.$' '^\*   2001: Start failed$' '5063|No node is waiting'
refused 'ALL START' '2001: ' 'No node is waiting'
refused '49 START' '2001: '
refused '9 START' '^Start failed|is not a data node'
refused '2 START now' '^Invalid command'

say "RESTART, under load"
start_bank 0
for form in '3 RESTART -a' '3 RESTART' '3 restart -i -a'; do
    pid=$(worker_of 3)
    mgm 0 "$form"
    want_text out '^Node 3 is being restarted$'
    was_restarted 3 "$pid"
done
mgm 0 '3 RESTART -n -i'
wait_status 3 'not started'
mgm 0 '3 START'
wait_started 3
end_bank
refused '3 RESTART -x' '^Invalid option: -x'
refused '49 RESTART' '^Restart failed\.$' '2003: ' 'by hand'
refused '60 RESTART' '2003: '
refused '1 3 RESTART' '^Restart failed' '5031|abort option'
mgm 0 '1 3 RESTART -a' # One of each node group: the others have everything.
for id in 1 3; do wait_started "$id"; done
refused '1 2 RESTART -i -a' '2003: ' 'last copy'
refused '1 2 RESTART -a' '2003: ' 'would stop the cluster: with the others that are named all started nodes of node group 0 would be gone'
refused '3 4 STOP -a' '2002: ' 'node group 1 would be gone'
mgm 0 'ALL STATUS' # Nobody has left.
for id in 1 2 3 4; do want_text out "^Node $id: started"; done

say "STOP"
refused '4 STOP -n' '^Invalid option: -n'
refused '9 STOP' '^Shutdown failed\.$' '2002: ' 'Node 9: Node is not a data node'
mgm 0 '4 STOP -a'
want_text out '^Node 4 has shutdown\.$'
refused '4 STOP' '2002: ' 'Node 4: No contact'
refused '4 START' 'start ndbmtd --ndb-nodeid=4 on 127\.0\.0\.1'
refused '3 STOP' '2002: ' 'would stop the cluster: it is the last one of node group 1 that is started; node 4 is not connected'
refused '3 RESTART' '2003: ' 'would stop the cluster'
mgm 0 '1 STOP'
want_text out '^Node 1 has shutdown\.$'
for id in 1 4; do
    for _ in $(seq 900); do [ -e "$BOX/node$id/ndb_$id.pid" ] || break; sleep 0.1; done
    start_daemon "$id"
done
for id in 1 4; do wait_started "$id"; done

say "a changed parameter takes effect node by node; what cannot is refused before anything is stopped"
before=$(total_pages 1)
start_bank 0 --strict
change 'DataMemory=100M'
mgm 0 '1 RESTART' # One node by hand.
wait_status 1 started
wait_started 1
for _ in $(seq 900); do [ "$(total_pages 1)" != "$before" ] && break; sleep 0.1; done
[ "$(total_pages 1)" -gt "$before" ] || fail "DataMemory of node 1 stays $before pages"
[ "$(total_pages 4)" -eq "$before" ] || fail "DataMemory of node 4 is changed before it is restarted"
timeout 120 "$BIN/ndb_mgm" -e 'ROLLING RESTART' >"$BOX/out" 2>&1 || fail "ROLLING RESTART ends with $?"
want_text out 'All 4 data nodes have been restarted'
for id in 1 2 3 4; do
    [ "$(total_pages "$id")" -gt "$before" ] || fail "DataMemory of node $id stays $before pages"
done
change 'NoOfFragmentLogFiles=5'
refused 'ROLLING RESTART' '^Rolling restart refused: .*NoOfFragmentLogFiles of node [1-4]: 4 became 5\. That needs a restart with empty files \(-i\)'
refused '2 RESTART' '2003: ' 'NoOfFragmentLogFiles'
refused 'ALL RESTART' '2003: ' 'NoOfFragmentLogFiles.*ROLLING RESTART -i'
change 'NoOfFragmentLogFiles=4'
change 'HostName=localhost'
refused 'ROLLING RESTART' '^Rolling restart refused: .*HostName of node .* when all data nodes are restarted together'
change 'HostName=127.0.0.1'
mgm 0 'ALL STATUS'
for id in 1 2 3 4; do want_text out "^Node $id: started"; done
end_bank
gap_at_most 3000

say "STOP -f of what the cluster cannot do without, ALL STOP"
mgm 0 '4 STOP'
mgm 0 '3 STOP -f'
want_text out '^Node 3 has shutdown\.$'
mgm 0 '49 STOP'
want_text out '^Disconnecting to allow Management Server to shutdown$'
ended "$MGM_PID" || fail "the management server ends with exit code $?"
# shellcheck disable=SC2046 # Pids.
for id in 1 2 3 4; do kill -9 $(ours "$(angel_of "$id" 2>/dev/null)") $(worker_of "$id" 2>/dev/null) 2>/dev/null; done
rm -f "$BOX"/node*/ndb_*.pid

say "ArbitrationDelay: the answer comes, or it comes too late"
LINES='ArbitrationTimeout=2000'
delayed() { sed -i "s/^\\[ndb_mgmd\\]\$/&\\nArbitrationDelay=$DELAY/" "$BOX/config.ini"; }
for DELAY in 300 60000; do
    write_config 2 2 "$LINES"
    delayed
    start_mgm --initial
    wait_mgm || die "the management server does not start"
    for id in 1 2; do start_node "$id"; done
    want 0 "$BIN/ndb_waiter" --timeout=100
    for _ in $(seq 900); do "$BIN/ndb_mgm" -e SHOW | grep -q '^Arbitrator: node 49$' && break; sleep 0.1; done
    kill_node 1
    if [ "$DELAY" = 300 ]; then
        for _ in $(seq 900); do grep -q 'whether 1 nodes may go on: yes' "$BOX/mgm/ndb_49_cluster.log" && break; sleep 0.1; done
        wait_status 2 started
        kill_node 2
    else
        ended "${NODE_PIDS[2]}" && fail "node 2 goes on without an answer"
        unset "NODE_PIDS[2]"
        grep -q 'it has no effect\|after ArbitrationTimeout' "$BOX/mgm.out" || fail "the configuration is not warned of"
    fi
    kill -TERM "$MGM_PID"
    ended "$MGM_PID" || fail "the management server ends with exit code $?"
    rm -f "$BOX/mgm/ndb_49_cluster.log"
done
