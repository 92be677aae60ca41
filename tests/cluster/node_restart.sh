#!/bin/bash
# node_restart.sh -- one data node is stopped, restarted, killed, loses its files; then all of them one by one, with
# ROLLING RESTART: always under load, and no transfer fails after the library's retries.
# SPDX-License-Identifier: GPL-2.0-only
TEST_DEADLINE=${TEST_DEADLINE:-250}
source "$(dirname "$0")/cluster.sh"
source "$(dirname "$0")/failover.sh"
LINES='StopOnError=0'

# The bank is balanced after something that nobody may notice.
step() {
    say "$@"
    start_bank 0 --strict
    sleep 0.7
}
step_ends() {
    sleep 0.7
    end_bank
    gap_at_most "${1:-3000}"
    [ "$FAILED" -eq 0 ] || exit 1
}

say "2 nodes, 2 replicas"
start_daemons 2 2

step "kill -9 of a working process: its angel starts it again"
kill -9 "$(worker_of 2)"
for _ in $(seq 100); do [ "$(status_of 2)" != started ] && break; sleep 0.02; done
wait_started 2
step_ends

step "1 RESTART"
want 0 "$BIN/ndb_mgm" -e '1 RESTART'
want_text out 'Node 1 is being restarted'
wait_started 1
step_ends

step "2 RESTART -i"
want 0 "$BIN/ndb_mgm" -e '2 RESTART -i'
wait_started 2
step_ends

step "2 STOP: then the other one is all that is left"
want 0 "$BIN/ndb_mgm" -e '2 STOP'
want_text out 'Node 2 has shutdown'
want 255 "$BIN/ndb_mgm" -e '1 STOP'
want_text out 'would stop the cluster'
for _ in $(seq 100); do [ -e "$BOX/node2/ndb_2.pid" ] || break; sleep 0.1; done
step_ends

step "its data directory is deleted, and it is started"
rm -rf "$BOX/node2/ndb_2_fs"
start_daemon 2
wait_started 2
step_ends

step "its files are damaged, and its process killed"
kill -9 "$(worker_of 2)"
for file in "$BOX"/node2/ndb_2_fs/*/*/P0.*; do [ -f "$file" ] && printf 'xxxxxxxx' | dd of="$file" conv=notrunc status=none; done
for _ in $(seq 100); do [ "$(status_of 2)" != started ] && break; sleep 0.02; done
wait_started 2
step_ends

step "what came back is all there: the other node is killed, and has to start without its files"
kill -9 "$(angel_of 1)" "$(worker_of 1)"
sleep 0.5
rm -rf "$BOX/node1/ndb_1_fs"
start_daemon 1
wait_started 1
step_ends

step "ROLLING RESTART"
run "$BIN/ndb_mgm" -e 'ROLLING RESTART' >"$BOX/out" || fail "ROLLING RESTART ends with $?"
cat "$BOX/out"
want_text out 'All 2 data nodes have been restarted'
step_ends

step "ROLLING RESTART -i"
run "$BIN/ndb_mgm" -e 'ROLLING RESTART -i' >"$BOX/out" || fail "ROLLING RESTART -i ends with $?"
want_text out 'All 2 data nodes have been restarted'
step_ends

say "ROLLING RESTART is refused while a node is missing"
want 0 "$BIN/ndb_mgm" -e '2 STOP'
want 255 "$BIN/ndb_mgm" -e 'ROLLING RESTART'
want_text out 'refused: node 2 is not started'
start_daemon 2
wait_started 2

say "and the whole cluster is stopped"
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
ended "$MGM_PID" || fail "the management server ends with exit code $?"
