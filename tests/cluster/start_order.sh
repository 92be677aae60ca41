#!/bin/bash
# start_order.sh -- daemons with files come up in any order, and again when one of them is lost while they start: nobody
# has to touch the others.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
RANDOM=${SEED:-$$}
ROWS=${ROWS:-150000}

# The worker and its angel, at once.
kill_daemon() { # id
    local angel
    angel=$(cat "$BOX/node$1/ndb_$1.pid" 2>/dev/null) || return 0
    # shellcheck disable=SC2046 # Pids.
    [ -n "$(ours "$angel")" ] && kill -9 "$angel" $(ours $(pgrep -P "$angel")) 2>/dev/null
    for _ in $(seq 900); do
        [ -z "$(ours "$angel")" ] && break
        sleep 0.1
    done
    rm -f "$BOX/node$1/ndb_$1.pid"
}
alive() { [ -n "$(ours "$(cat "$BOX/node$1/ndb_$1.pid" 2>/dev/null || echo 0)")" ]; }
data_is_there() {
    want 0 "$BIN/ndb_waiter" --timeout=100
    want 0 "$BIN/ndb_select_count" -d test limits
    want_text out "^$ROWS records"
    [ "$FAILED" -eq 0 ] || exit 1
}

say "a large log to replay"
write_config 2 2 $'NoOfFragmentLogFiles=8\nFragmentLogFileSize=16M\nTimeBetweenLocalCheckpoints=31'
start_mgm --initial
start_daemon 2
sleep 1
start_daemon 1
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/limits_client" load 0 "$ROWS" 1000
want 0 "$BIN/ndb_mgm" -e 'ALL STOP'

say "one waits, is killed while it waits, comes last"
start_daemon 1
sleep 0.5
want 0 "$BIN/ndb_mgm" -e '1 STATUS'
want_text out 'Node 1: starting'
kill_daemon 1
start_daemon 2
sleep 0.5
start_daemon 1
data_is_there

again=0
for ((round = 1; round <= ${ROUNDS:-6}; round++)); do
    kill_daemon 1
    kill_daemon 2
    victim=$((RANDOM % 2 + 1))
    other=$((3 - victim))
    : >"$BOX/node$other/ndb_${other}_out.log"
    start_daemon "$other"
    start_daemon "$victim"
    sleep "0.$((RANDOM % 9))"
    kill_daemon "$victim"
    sleep "0.$((RANDOM % 9))"
    start_daemon "$victim"
    for _ in $(seq 900); do
        grep -q 'Node '"$other"': started' <<<"$("$BIN/ndb_mgm" -e 'ALL STATUS' 2>/dev/null)" && alive "$victim" && break
        sleep 0.1
    done
    began=$(grep -c 'the angel starts the data node again' "$BOX/node$other/ndb_${other}_out.log")
    again=$((again + began))
    echo "round $round: node $victim was killed, the angel of node $other started it $began times again"
    data_is_there
done
echo "angels helped $again times"
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
ended "$MGM_PID" || fail "the management server ends with exit code $?"
