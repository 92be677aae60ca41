#!/bin/bash
# single_user.sh -- one API node works alone: who is refused, whoever is lost meanwhile, and what ends it.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
source "$HERE/failover.sh"
ALONE=8 # The bank and the tools take the first free ids.
start_cluster 2 2

mgm() { want "$1" "$BIN/ndb_mgm" -e "$2"; }

alone() { # COMMAND...: as the allowed client.
    NDB_CONNECTSTRING="nodeid=$ALONE,$CS" want 0 "$@"
}

journal() { # Lines of the bank's journal, seen by the allowed client.
    alone "$BIN/ndb_select_count" -d test bank_journal
    sed -nE 's/^([0-9]+) records in table bank_journal$/\1/p' "$BOX/out"
}

nobody_else_works() {
    local before after
    before=$(journal)
    want 1 "$BIN/ndb_select_count" -d test bank_journal
    want_text err '299: '
    want 1 "$BIN/ndb_create_table" --execute='CREATE TABLE test.others (id INT NOT NULL PRIMARY KEY)'
    want_text err '299: '
    sleep 0.5
    after=$(journal)
    [ "${before:-a}" = "${after:-b}" ] || fail "others commit in single user mode: $before lines, then $after"
}

say "what is refused before"
mgm 1 'ENTER SINGLE USER MODE'
want_text out '^Invalid node ID: none\. It is needed'
mgm 1 'ENTER SINGLE USER MODE 0'
mgm 1 'ENTER SINGLE MODE 7'
want_text out '^Invalid command: ENTER SINGLE MODE 7'
run "$BIN/ndb_mgm" -e 'ENTER SINGLE USER MODE 1' >"$BOX/out" 2>&1 && fail "a data node was let in alone"
want_text out '^\*   4001: Could not enter single user mode$'
want_text out '5062|Node is not an API node'
mgm 0 'EXIT SINGLE USER MODE' # Nothing to do.
want_text out '^Single user mode was not on: all clients may work'
mgm 0 'ALL STATUS'
want_text out '^Node 1: started'

say "ENTER under load"
start_bank 0
sleep 1
mgm 0 "ENTER SINGLE USER MODE $ALONE"
want_text out '^Single user mode entered$'
want_text out "^Access is granted for API node $ALONE only\\.\$"
mgm 0 'ALL STATUS'
want_text out '^Node 1: single user mode'
want_text out '^Node 2: single user mode'
want 0 "$BIN/ndb_waiter" --single-user --timeout=100
mgm 0 SHOW
want_text out "^id=$ALONE \\(not connected, accepting connect from 127\\.0\\.0\\.1, allowed single user\\)\$"
want_text out '^id=1	.*, single user mode, Nodegroup: 0'
[ "$FAILED" -eq 0 ] || exit 1
nobody_else_works
alone "$BIN/ndb_create_table" --execute='CREATE TABLE test.mine (id INT NOT NULL PRIMARY KEY)'
printf '1\n2\n' >"$BOX/mine.csv"
alone "$BIN/ndb_import" test "$BOX/mine.csv"
want_text out 'mine: 2 rows imported, 0 rejected'
mgm 0 "ENTER SINGLE USER MODE $ALONE" # Again does nothing.
run "$BIN/ndb_mgm" -e 'ENTER SINGLE USER MODE 7' >"$BOX/out" 2>&1 && fail "another node was let in alone too"
want_text out '4001: '
grep -q 'Entering single user mode' "$BOX"/mgm/ndb_49_cluster.log || fail "the cluster log does not tell of entering"
grep -q "Entered single user mode, Node $ALONE has access" "$BOX"/mgm/ndb_49_cluster.log ||
    fail "the cluster log does not tell who has access"

say "nodes are not restarted meanwhile"
for order in '2 RESTART' '2 RESTART -f' 'ROLLING RESTART'; do
    run "$BIN/ndb_mgm" -e "$order" >"$BOX/out" 2>&1 && fail "$order in single user mode"
    want_text out 'single user mode'
done
mgm 0 'ALL STATUS'
want_text out '^Node 2: single user mode'

say "the president is lost; it waits until the mode is left"
president=$("$BIN/ndb_mgm" -e SHOW | sed -nE 's/^id=([12])	.*, \*\)$/\1/p')
other=$((3 - president))
kill_node "$president"
mgm 0 'ALL STATUS'
want_text out "^Node $president: not connected"
for _ in $(seq 900); do
    [ "$("$BIN/ndb_mgm" -e SHOW | sed -nE 's/^id=([12])	.*, \*\)$/\1/p')" = "$other" ] && break
    sleep 0.1
done
mgm 0 'ALL STATUS'
want_text out "^Node $other: single user mode"
nobody_else_works
start_node "$president"
for _ in $(seq 900); do
    grep -q 'single user mode (2314)' "$BOX/node$president.out" && break
    sleep 0.1
done
grep -q 'single user mode (2314)' "$BOX/node$president.out" || fail "the node that comes back does not say for what it waits"
for _ in $(seq 900); do # The management server hears of it a moment later.
    [ "$(status_of "$president" | cut -c 1-8)" = starting ] && break
    sleep 0.1
done
[ "$(status_of "$president" | cut -c 1-8)" = starting ] || fail "the node that comes back is $(status_of "$president")"
nobody_else_works

say "EXIT: all work, the node comes back"
mgm 0 'EXIT SINGLE USER MODE'
want_text out '^Exiting single user mode in progress\.$'
want_text out 'ALL STATUS'
wait_started "$president"
mgm 0 'ALL STATUS'
want_text out "^Node $other: started"
"$BIN/ndb_mgm" -e SHOW | grep -q 'single user' && fail "SHOW still tells of single user mode"
grep -q 'Exiting single user mode' "$BOX"/mgm/ndb_49_cluster.log || fail "the cluster log does not tell of leaving"
want 0 "$BIN/ndb_select_count" -d test mine
want_text out '^2 records in table mine$'
# shellcheck disable=SC2178 # No array here.
lines=$(journal)
sleep 0.5
[ "$(journal)" -gt "${lines:?}" ] || fail "the bank does not go on"
end_bank

say "without load it is entered at once"
begin=$(date +%s)
"$BIN/ndb_mgm" -e "ENTER SINGLE USER MODE 7" >/dev/null || fail "cannot enter without load"
[ $(($(date +%s) - begin)) -lt 4 ] || fail "entering without load takes $(($(date +%s) - begin)) s"

say "ALL RESTART ends it"
mgm 0 'ALL RESTART'
want_text out '^All DB nodes are being restarted\.$'
for id in 1 2; do wait_text "node$id.out" 'Node shutdown completed, restarting'; done
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_select_count" -d test mine
want_text out '^2 records in table mine$'
"$BIN/ndb_mgm" -e SHOW | grep -q 'single user' && fail "single user mode after ALL RESTART"
stop_cluster
