#!/bin/bash
# node_restart.sh -- one data node is stopped, restarted, killed, loses its files; then all of them one by one, with
# ROLLING RESTART: always under load, and no transfer fails after the library's retries.
# SPDX-License-Identifier: GPL-2.0-only
TEST_DEADLINE=${TEST_DEADLINE:-800}
source "$(dirname "$0")/cluster.sh"
source "$HERE/failover.sh"
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
    gap_at_most 3000
    [ "$FAILED" -eq 0 ] || exit 1
}

# What the last return of a node has brought: OWN rows restored from its files, SAME of them unchanged, COPIED from others.
returned() { # id
    local line
    line=$(grep 'all rows are here' "$BOX/node$1/ndb_$1_out.log" | tail -n 1)
    echo "$line"
    OWN=$(sed -nE 's/.*here: ([0-9]+) restored.*/\1/p' <<<"$line")
    SAME=$(sed -nE 's/.*ms, ([0-9]+) of them unchanged.*/\1/p' <<<"$line")
    COPIED=$(sed -nE 's/.*removed; ([0-9]+) rows.*/\1/p' <<<"$line")
}
all_copied() { # id
    returned "$1"
    [ "${OWN:-1}" -eq 0 ] && [ "${COPIED:-0}" -ge "$STILL" ] || fail "node $1 has not got all rows"
}
only_changed() { # id
    returned "$1"
    [ "${SAME:-0}" -ge "$STILL" ] || fail "node $1 has got more than what has changed"
}

# After its last return, under load: the order of replicas is that of the distribution again.
primaries_back() { # id
    local log="$BOX/node$1/ndb_$1_out.log" here back
    for _ in $(seq 400); do
        here=$(grep -n 'all rows are here' "$log" | tail -n 1 | cut -d: -f1)
        back=$(grep -n "node $1 has its primaries back" "$log" | tail -n 1 | cut -d: -f1)
        [ "${back:-0}" -gt "${here:-0}" ] && return
        sleep 0.1
    done
    fail "node $1 has not got its primaries back"
}

say "2 nodes, 2 replicas"
start_daemons 2 2

STILL=20000
say "$STILL rows that nobody changes, and a GCI behind them"
want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE test.still (a INT UNSIGNED PRIMARY KEY, b VARCHAR(100))"
awk -v n="$STILL" 'BEGIN { for (i = 0; i < n; i++) printf "%d\tthe row with the number %d\n", i, i }' >"$BOX/still.tsv"
want 0 "$BIN/ndb_import" test "$BOX/still.tsv"
make_durable

step "kill -9 of a working process: its angel starts it again"
kill -9 "$(worker_of 2)"
for _ in $(seq 300); do [ "$(status_of 2)" != started ] && break; sleep 0.02; done
wait_started 2
only_changed 2
step_ends

step "1 RESTART"
want 0 "$BIN/ndb_mgm" -e '1 RESTART'
want_text out 'Node 1 is being restarted'
wait_started 1
only_changed 1
step_ends

step "2 RESTART -i"
want 0 "$BIN/ndb_mgm" -e '2 RESTART -i'
wait_started 2
all_copied 2
step_ends

step "2 STOP: then the other one is all that is left"
want 0 "$BIN/ndb_mgm" -e '2 STOP'
want_text out 'Node 2 has shutdown'
want 255 "$BIN/ndb_mgm" -e '1 STOP'
want_text out 'would stop the cluster'
for _ in $(seq 900); do [ -e "$BOX/node2/ndb_2.pid" ] || break; sleep 0.1; done
step_ends

step "its data directory is deleted, and it is started"
rm -rf "$BOX/node2/ndb_2_fs"
start_daemon 2
wait_started 2
all_copied 2
primaries_back 2
step_ends

step "its process is killed, its checkpoints are damaged: it notices, and gets all rows"
kill_daemons 2
for file in "$BOX"/node2/ndb_2_fs/LCP/*.data; do printf 'xxxxxxxx' | dd of="$file" bs=1 seek=700 conv=notrunc status=none; done
start_daemon 2
wait_started 2
grep "begins again and gets all rows from the others" "$BOX/node2/ndb_2_out.log" || fail "node 2 has not noticed the damage"
all_copied 2
step_ends

step "the same with its log"
kill_daemons 2
for file in "$BOX"/node2/ndb_2_fs/REDO/part*/file0; do dd if=/dev/zero of="$file" bs=4096 count=1 conv=notrunc status=none; done
start_daemon 2
wait_started 2
[ "$(grep -c "begins again and gets all rows from the others" "$BOX/node2/ndb_2_out.log")" -eq 2 ] || fail "node 2 has not noticed the damage"
all_copied 2
step_ends

step "and when nothing is damaged only what has changed comes"
kill_daemons 2
start_daemon 2
wait_started 2
only_changed 2
step_ends

step "what came back is all there: the other node is killed, and has to start without its files"
kill_daemons 1
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
want_text out 'refused: node 2 is not connected'
start_daemon 2
wait_started 2

say "all are killed, and the checkpoints of one are damaged: the other one begins without it, and it gets all rows"
kill_daemons 1 2
for file in "$BOX"/node2/ndb_2_fs/LCP/*.data; do printf 'xxxxxxxx' | dd of="$file" bs=1 seek=700 conv=notrunc status=none; done
start_daemon 1
start_daemon 2
wait_started 1
wait_started 2
grep 'the data node begins again: it gets all rows from the others' "$BOX/node2/ndb_2_out.log" || fail "node 2 has not begun again"
all_copied 2
want 0 "$BIN/ndb_select_count" -d test still
want_text out "^$STILL records in table still"

say "and the whole cluster is stopped"
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
ended "$MGM_PID" || fail "the management server ends with exit code $?"
