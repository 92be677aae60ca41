#!/bin/bash
# process_failure.sh -- a node that fails on purpose: what it leaves behind, and whether it comes back.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

FAIL='1 DUMP 9000 1 9999' # Block 1 is CMVMI; error insert 9999 fails a check.

# until_true SECONDS COMMAND...: asks again and again.
until_true() {
    local tries=$(($1 * 10))
    shift
    while ! "$@" >/dev/null 2>&1; do
        [ $((tries -= 1)) -gt 0 ] || return 1
        sleep 0.1
    done
}

# told TEXT: the service manager hears it; its status line is what an operator sees first.
told() {
    until_true 90 grep -qE "^STATUS=The data node $1\$" "$BOX/told" || fail "the service manager is not told '$1': $(cat "$BOX/told")"
    : >"$BOX/told"
}

be_service_manager

say "StopOnError=1, split threads: error log, a trace per thread, the reason in both logs, exit code"
start_cluster 1 1 'ThreadConfig=main,rep,ldm={count=2},tc={count=1},recv'
kill -HUP "${NODE_PIDS[1]}" # Without a terminal it is nobody's end.
load_and_compare 500
want 0 "$BIN/ndb_mgm" -e "$FAIL"
ended "${NODE_PIDS[1]}"
[ $? -eq 1 ] || fail "the exit code of a failed node is not 1"
told 'has ended with error 2341, and is not started again: An internal check failed.*'
cp "$BOX/node1/ndb_1_error.log" "$BOX/out"
want_text out '^Status: internal error$'
want_text out '^Message: An internal check failed; report this with the trace files'
want_text out '^Error: 2341$'
want_text out '^Error data: !ERROR_INSERTED\(block, 9999\)$'
want_text out '^Error object: cmvmi\.c \(Line: [0-9]+\)$'
want_text out '^Trace file name: ndb_1_trace\.log\.1$'
want_text out '\[t1\.\.t5\]$'
for suffix in '' _t1 _t2 _t3 _t4 _t5; do
    cp "$BOX/node1/ndb_1_trace.log.1$suffix" "$BOX/out" || fail "no trace file for thread '$suffix'"
    want_text out '^thread [0-9] \((main|rep|ldm|tc|recv)\): last signals, newest first$'
    [ "$suffix" = _t5 ] && continue # It only owns sockets.
    want_text out '^-- signal -0: [A-Z_]+ \([0-9]+\) prio [AB], to block [0-9]+/[0-9]+, from node [0-9]+'
    want_text out '^   [a-z_]+=[0-9x]+'
    want_text out '^    jam: [a-z_]+\.[ch]:[0-9]+'
done
cp "$BOX/node1/ndb_1_trace.log.1_t1" "$BOX/out" # The thread that failed: this was its last signal.
want_text out '^-- signal -0: NODE_STATUS_REQ'
want_text out '^   sender_data=[0-9]+'
want_text out 'jam: .*cmvmi\.c'
cp "$BOX/node1.out" "$BOX/out"
want_text out 'ALERT .*Caused by error 2341: .An internal check failed; report this .*cmvmi\.c, line [0-9]+: !ERROR_INSERTED\(block, 9999\)'
until_true 90 grep -q 'Forced node shutdown' "$BOX"/mgm/*cluster.log
cp "$BOX"/mgm/ndb_49_cluster.log "$BOX/out"
want_text out 'ALERT +-- Node 1: Forced node shutdown completed\. Caused by error 2341: .An internal check failed'
[ -e "$BOX/node1/ndb_1.pid" ] && ! kill -0 "$(cat "$BOX/node1/ndb_1.pid")" 2>/dev/null || fail "pid file"
unset 'NODE_PIDS[1]'
stop_cluster

say "StopOnError=0: the angel starts the node again, every time; logs and traces stay bounded"
write_config 1 1 $'StopOnError=0\nMaxNoOfSavedMessages=2'
start_mgm --initial
start_daemon 1
want 0 "$BIN/ndb_waiter" --timeout=100
starts() { grep -c 'NDBCNTR: started$' "$BOX/node1/ndb_1_out.log"; }
# started_again TIMES: it has been started more often than that, by its own word: of what has just failed the management
# server may not have heard yet.
started_again() {
    until_true 90 eval '[ "$(starts)" -gt '"$1"' ]' || fail "the node is not started again"
    want 0 "$BIN/ndb_waiter" --timeout=100
}
for _ in 1 2 3; do
    load_and_compare 200
    # shellcheck disable=SC2034 # Used by eval below.
    times=$(grep -c 'Forced node shutdown' "$BOX"/mgm/ndb_49_cluster.log)
    begun=$(starts)
    want 0 "$BIN/ndb_mgm" -e "$FAIL"
    until_true 90 eval '[ "$(grep -c "Forced node shutdown" "$BOX"/mgm/ndb_49_cluster.log)" -gt "$times" ]' ||
        fail "the cluster log does not tell of the failure"
    told 'has ended with error 2341, and is started again: An internal check failed.*'
    started_again "$begun"
done
cp "$BOX"/mgm/ndb_49_cluster.log "$BOX/out"
want_text out 'Node 1: Forced node shutdown completed, restarting\. Caused by error 2341'
[ "$(grep -c '^Error: 2341$' "$BOX/node1/ndb_1_error.log")" -eq 2 ] || fail "the error log does not keep 2 entries"
[ "$(find "$BOX/node1" -name 'ndb_1_trace.log.[0-9]*' | wc -l)" -eq 2 ] || fail "not the traces of 2 failures"
[ "$(cat "$BOX/node1/ndb_1_trace.log.next")" = 2 ] || fail "trace numbers do not go round" # 1 above, then 2, 1, 2.

say "a fault in the worker leaves an error log entry, too; kill -9 is told by the angel"
angel=$(cat "$BOX/node1/ndb_1.pid")
begun=$(starts)
kill -SEGV "$(pgrep -P "$angel")"
until_true 90 grep -q '^Error: 6000$' "$BOX/node1/ndb_1_error.log" || fail "no error log entry of the fault"
started_again "$begun"
begun=$(starts)
kill -9 "$(pgrep -P "$angel")"
until_true 90 grep -q 'ended by signal 9 (Killed)' "$BOX/node1/ndb_1_out.log" || fail "the angel does not tell of signal 9"
until_true 90 grep -q 'restarting. Initiated by signal 9. Caused by error 6000' "$BOX"/mgm/ndb_49_cluster.log ||
    fail "the cluster log does not tell of signal 9"
told 'was ended by signal 9 \(Killed\), and is started again'
started_again "$begun"
load_and_compare 200
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
until_true 90 eval '! kill -0 "$angel"' || fail "the angel stays after SHUTDOWN"
ended "$MGM_PID" || fail "the management server ends with exit code $?"

say "StopOnError=0 and a node that cannot start: MaxStartFailRetries bounds the angel's patience"
write_config 1 1 # A management server whose only use is to have the port.
taken=${CS#*:}
mkdir "$BOX/taken"
sed "s#$BOX/mgm\$#$BOX/taken#" "$BOX/config.ini" >"$BOX/taken/config.ini"
"$BIN/ndb_mgmd" --config-file="$BOX/taken/config.ini" --config-dir="$BOX/taken" --nodaemon --initial >"$BOX/taken/out" 2>&1 &
other_mgm=$!
PIDS+=("$other_mgm")
until_true 90 eval '(exec 3<>"/dev/tcp/127.0.0.1/$taken")' || die "the port is not taken"
write_config 1 1 "StopOnError=0
MaxStartFailRetries=2
ServerPort=$taken"
start_mgm --initial
until_true 90 eval '(exec 3<>"/dev/tcp/${CS/://}")' || die "the management server does not start"
: >"$BOX/node1/ndb_1_out.log"
want 0 "$BIN/ndbmtd" --ndb-nodeid=1
until_true 90 eval '! [ -e "$BOX/node1/ndb_1.pid" ]' || fail "the angel tries for ever"
cp "$BOX/node1/ndb_1_out.log" "$BOX/out"
told 'could not begin, and is not started again: its log says why'
[ "$(grep -c 'cannot listen on 127.0.0.1 port' "$BOX/out")" -eq 3 ] || fail "not three starts"
want_text out 'ALERT +-- the data node failed 3 starts one after the other: MaxStartFailRetries=2'
wait_text mgm/ndb_49_cluster.log "Node 1: Forced node shutdown completed\. .*Caused by error 2300: '.*see the node's log"
want 0 "$BIN/ndb_mgm" -e SHOW
want_text out 'id=1 \(not connected'
kill "$MGM_PID" "$other_mgm"
ended "$MGM_PID" || fail "the management server ends with exit code $?"
