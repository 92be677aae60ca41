#!/bin/bash
# process_signals.sh -- the angel and its child under signals; starts that must be refused, and in which words.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

until_true() { # SECONDS COMMAND...
    local tries=$(($1 * 10))
    shift
    while ! "$@" >/dev/null 2>&1; do
        [ $((tries -= 1)) -gt 0 ] || return 1
        sleep 0.1
    done
}
alive() { kill -0 "$1" 2>/dev/null; }
dead() { ! kill -0 "$1" 2>/dev/null; }
out_log=$BOX/node1/ndb_1_out.log
pid_file=$BOX/node1/ndb_1.pid
waits() { want 0 "$BIN/ndb_waiter" --timeout=100 "$@"; }

# angel and worker of the daemon that runs.
look_up() {
    angel=$(cat "$pid_file")
    until_true 90 pgrep -P "$angel" || fail "the angel has no child"
    worker=$(pgrep -P "$angel")
    PIDS+=("$worker")
}
both_end() {
    until_true 90 dead "$angel" || fail "the angel stays"
    until_true 90 dead "$worker" || fail "the worker stays"
}

write_config 1 1
start_mgm --initial

say "starts that are refused, each with its reason"
want 1 "$BIN/ndbmtd" --ndb-connectstring=127.0.0.1:1 --connect-retries=0 --ndb-nodeid=1
want_text err 'Could not connect to a management server.*127\.0\.0\.1.*1'
want 2 "$BIN/ndbmtd" --ndb-connectstring='127.0.0.1:99999' --connect-retries=0
want_text err 'Illegal connect string: .*99999'
until_true 90 "$BIN/ndb_mgm" -e SHOW
want 1 "$BIN/ndbmtd" --ndb-nodeid=7
want_text err 'No node id from the management server at 127\.0\.0\.1 port [0-9]+: .*7'
want 1 "$BIN/ndbmtd" --ndb-nodeid=49
want_text err 'No node id .*49'
want 2 "$BIN/ndbmtd" --ndb-nodeid=none
want_text err "--ndb-nodeid must be a number from 0 to 144, not 'none'"
want 2 "$BIN/ndbmtd" --connect-retries=often
want 2 "$BIN/ndbmtd" --unknown
want_text err "unrecognized option '--unknown'"
want 0 "$BIN/ndbmtd" --help
want_text out 'ndb-nodeid'
want 0 "$BIN/ndbmtd" --version
want_text out '^ndbmtd ndb-'
want_text out '^links: protocol [0-9]+, with those that have [0-9]+ or more$'

say "a stale pid file is no obstacle; a second start is refused"
echo 99999999 >"$pid_file" # No process has such a number.
start_daemon 1
waits
look_up
[ "$angel" -ne 99999999 ] || fail "the stale pid file was not replaced"
alive "$angel" || fail "the pid file does not name the angel"
want 1 "$BIN/ndbmtd" --ndb-nodeid=1
want_text err 'No node id .*node id 1 is already in use'
[ "$(cat "$pid_file")" = "$angel" ] || fail "the refused start has changed the pid file"
cat "$BOX/err"
load_and_compare 200

say "SIGHUP, as who moves a log sends it, ends none, nor the management server in the foreground without a terminal"
mv "$out_log" "$BOX/moved.log"
kill -HUP "$worker" "$angel" "$MGM_PID"
load_and_compare 200

say "SIGTERM to the angel: an orderly end of both"
kill -TERM "$angel"
both_end
[ -e "$pid_file" ] && fail "the pid file stays"
grep -q 'Received signal 15: the node stops' "$out_log" || fail "the log does not tell of SIGTERM"
grep -q 'Node shutdown completed' "$out_log" || fail "no orderly end in the log"

say "SIGTERM to both at once, as a terminal or a service manager sends it: the same orderly end"
start_daemon 1
waits
look_up
stops=$(grep -c 'NDBCNTR: stopped' "$out_log")
kill -TERM "$worker" "$angel"
both_end
[ "$(grep -c 'NDBCNTR: stopped' "$out_log")" -gt "$stops" ] || fail "the second signal has overtaken the orderly end"

say "kill -9 of the worker: the angel tells, and ends with it"
start_daemon 1
waits
look_up
kill -9 "$worker"
both_end
grep -q 'ended by signal 9 (Killed)' "$out_log" || fail "the log does not tell of signal 9"
until_true 90 grep -q 'Node 1: Forced node shutdown completed. Initiated by signal 9. Caused by error 6000' \
    "$BOX/mgm/ndb_49_cluster.log" || fail "the cluster log does not tell of signal 9"

say "kill -9 of the angel: the worker stops in good order, and the node can be started again"
start_daemon 1
waits
look_up
stops=$(grep -c 'Node shutdown completed' "$out_log")
kill -9 "$angel"
both_end
[ "$(grep -c 'Node shutdown completed' "$out_log")" -gt "$stops" ] || fail "the orphan did not end in good order"
start_daemon 1
waits
look_up
want 0 "$BIN/ndb_select_count" -d test awkward
want_text out '^200 records'

say "a second process with the DataDir of a living node, whatever node id and cluster it has"
cp "$BOX/config.ini" "$BOX/first.ini"
first_cs=$CS
write_config 1 1
mkdir "$BOX/mgm2"
sed -i "s#$BOX/mgm\$#$BOX/mgm2#" "$BOX/config.ini"
"$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --config-dir="$BOX/mgm2" --nodaemon --initial >"$BOX/mgm2.out" 2>&1 &
other_mgm=$!
PIDS+=("$other_mgm")
until_true 90 "$BIN/ndb_mgm" -e SHOW
want 1 "$BIN/ndbmtd" --ndb-nodeid=1
want_text err "ndb_1\.pid is in use: node 1 runs already \(process $angel\)"
kill "$other_mgm"
wait "$other_mgm"
CS=$first_cs
export NDB_CONNECTSTRING=$CS

say "orders of the console reach a daemon: ALL RESTART, -n, -i; --nostart"
run "$BIN/ndb_mgm" -e 'ALL RESTART -n -i' >"$BOX/out" && fail "the last copy of rows is given up without -f"
want_text out 'Node 1: Operation would destroy the last copy of rows; with -f it is done'
want 0 "$BIN/ndb_select_count" -d test awkward
want_text out '^200 records'
want 0 "$BIN/ndb_mgm" -e 'ALL RESTART -n -i -f'
waits --not-started
want 0 "$BIN/ndb_mgm" -e '1 START'
waits
want 1 "$BIN/ndb_select_count" -d test awkward
want 0 "$BIN/ndb_mgm" -e 'ALL RESTART'
waits
[ "$(cat "$pid_file")" = "$angel" ] || fail "a restart has changed the angel"
want 0 "$BIN/ndb_mgm" -e '1 STOP -f'
until_true 90 dead "$angel" || fail "the angel stays after STOP"
start_daemon 1 --nostart
waits --not-started
want 0 "$BIN/ndb_mgm" -e '1 START'
waits
look_up
load_and_compare 200
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
both_end
ended "$MGM_PID" || fail "the management server ends with exit code $?"
