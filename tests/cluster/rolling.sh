#!/bin/bash
# rolling.sh -- ROLLING RESTART whatever happens to it: nodes that are away, Ctrl-C, a management server that is killed
# in the middle; and a data node whose restart finds no management server.
# SPDX-License-Identifier: GPL-2.0-only
TEST_DEADLINE=${TEST_DEADLINE:-800}
source "$(dirname "$0")/cluster.sh"
source "$HERE/failover.sh"
LINES='StopOnError=0'

rolling() { # [COMMAND]: in the background, into $BOX/rolling; ROLLING is its pid
    : >"$BOX/rolling" # Before the first look at it.
    timeout -k 5 120 "$BIN/ndb_mgm" -e "${1:-ROLLING RESTART}" >"$BOX/rolling" 2>&1 &
    ROLLING=$!
    PIDS+=("$ROLLING")
}
rolling_says() { # CODE PATTERN...: it ends with this code, and has said that
    local code=$1 got pattern
    shift
    ended "$ROLLING"
    got=$?
    cp "$BOX/rolling" "$BOX/out"
    [ "$got" -eq "$code" ] || fail "ROLLING RESTART ends with $got and not $code: $(cat "$BOX/out")"
    for pattern in "$@"; do want_text out "$pattern"; done
}
mgm() { want "$1" "$BIN/ndb_mgm" -e "$2"; }
lose_mgmd() {
    kill -9 "$MGM_PID"
    wait "$MGM_PID"
} 2>/dev/null
mgmd_again() {
    start_mgm
    wait_mgm || die "the management server does not start again"
}
workers() { for id in 1 2 3 4; do worker_of "$id"; done | tr '\n' ' '; }

start_daemons 4 2

say "a node is away: named, with what to do; then the one that is on its way is waited for"
mgm 0 '3 RESTART -n'
for _ in $(seq 900); do [ "$(status_of 3)" = 'not started' ] && break; sleep 0.1; done
rolling
rolling_says 255 '^Rolling restart refused: node 3 is not started, and another one must not be missing\. It waits for: 3 START$'
mgm 0 '3 START'
before=$(workers)
start_bank 0 --strict
rolling
rolling_says 0 '^Node [1-4] is being restarted \(1 of 4\)$' '^Node [1-4] is being restarted \(4 of 4\)$' \
    '^Node [1-4] has been restarted in [0-9.]+ s; 1 of 4 \(25%\), about [0-9]+ s for the others$' '^All 4 data nodes have been restarted'
for pid in $(workers); do [[ " $before " != *" $pid "* ]] || fail "process $pid was not restarted"; done
mgm 0 '4 STOP'
rolling
rolling_says 255 '^Rolling restart refused: node 4 is not connected, .* ndbmtd .* 127\.0\.0\.1'
start_daemon 4
rolling '2 ROLLING RESTART'
rolling_says 1 '^Invalid command'
rolling 'ROLLING RESTART 49'
rolling_says 255 '^Rolling restart refused: node 49 is not a data node'
wait_started 4

say "Ctrl-C: what runs goes on, what is left is named, and is done then"
rolling
wait_text rolling '^Node [1-4] is being restarted \(2 of 4\)'
kill -INT "$(pgrep -P "$ROLLING")"
rolling_says 130 '^Interrupted: [12] of 4 are done' '^To go on: ROLLING RESTART( [1-4])+$'
left=$(sed -n 's/^To go on: //p' "$BOX/out")
before=$(workers)
rolling "$left"
count=$(wc -w <<<"$left")
rolling_says 0 "^All $((count - 2)) data nodes have been restarted"
same=0
for pid in $(workers); do [[ " $before " == *" $pid "* ]] && same=$((same + 1)); done
[ "$same" -ge 1 ] || fail "those that were done are restarted again"

say "Ctrl-C while it waits for a node that starts: what follows is not carried out"
mgm 0 '4 STOP'
start_daemon 4
rolling 'ROLLING RESTART; PROMPT carried-out'
wait_text rolling '^(Waiting for )?Node [1-4][: ]'
kill -INT "$(pgrep -P "$ROLLING")"
rolling_says 130 '^Interrupted: '
grep -qE 'refused|carried-out' "$BOX/out" && fail "after Ctrl-C: $(cat "$BOX/out")"
printf 'ROLLING RESTART\nPROMPT carried-out\n' >"$BOX/lines"
wait_started 4
: >"$BOX/rolling"
timeout -k 5 120 "$BIN/ndb_mgm" <"$BOX/lines" >"$BOX/rolling" 2>&1 &
ROLLING=$!
PIDS+=("$ROLLING")
wait_text rolling '^Node [1-4] is being restarted \(1 of 4\)'
kill -INT "$(pgrep -P "$ROLLING")"
rolling_says 130 '^Interrupted: '
grep -q 'carried-out' "$BOX/out" && fail "after Ctrl-C the next line is carried out: $(cat "$BOX/out")"
for id in 1 2 3 4; do wait_started $id; done

say "the management server is killed in the middle and comes back"
before=$(workers)
rolling
wait_text rolling '^Node [1-4] is being restarted \(2 of 4\)'
lose_mgmd
wait_text rolling '^No management server answers'
sleep 2
mgmd_again
rolling_says 0 '^All 4 data nodes have been restarted' '^Connected to management server at .* again'
for pid in $(workers); do [[ " $before " != *" $pid "* ]] || fail "process $pid was not restarted"; done
end_bank
gap_at_most 3000

say "a data node that is killed while there is no management server waits for one, and is not given up"
mgm 0 '2 STOP'
start_daemon 2 --connect-retries=0
wait_started 2
lose_mgmd
old=$(worker_of 2)
kill -9 "$old"
wait_text "node2/ndb_2_out.log" 'waits for a management server'
sleep 5 # More than MaxStartFailRetries would have been used up.
mgmd_again
wait_started 2
mgm 0 SHUTDOWN

say "with two management servers the other one is asked"
ended "$MGM_PID"
rm -f "$BOX"/node*/ndb_*.pid
write_config 2 2 "$LINES"
FIRST=$CS
SECOND=127.0.0.1:$(free_port)
mkdir -p "$BOX/mgm50"
printf '[ndb_mgmd]\nNodeId=50\nHostName=127.0.0.1\nPortNumber=%s\nDataDir=%s\n' "${SECOND#*:}" "$BOX/mgm50" >>"$BOX/config.ini"
start_mgm --initial --ndb-nodeid=49
wait_mgm || die "the first management server does not start"
"$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --ndb-nodeid=50 --config-dir="$BOX/mgm50" --nodaemon >>"$BOX/mgm.out" 2>&1 &
PIDS+=("$!")
CS=$SECOND
wait_mgm || die "the second management server does not start"
CS=$FIRST,$SECOND
export NDB_CONNECTSTRING=$CS
for id in 1 2; do start_daemon "$id"; done
want 0 "$BIN/ndb_waiter" --timeout=100
rolling
wait_text rolling '^Node [12] is being restarted \(1 of 2\)'
lose_mgmd
rolling_says 0 "^Connected to management server at 127\\.0\\.0\\.1 port ${SECOND#*:} again" '^All 2 data nodes have been restarted'
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
