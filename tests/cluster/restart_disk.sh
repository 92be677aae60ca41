#!/bin/bash
# restart_disk.sh -- a cluster with files comes back with its data: after SHUTDOWN, after kill -9 of all, in any order of
# its nodes; and it refuses files that are not its own.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

same_awkward() { # The rows of load_and_compare are there, and no others.
    want 0 "$BIN/ndb_select_all" -d test --csv awkward
    LC_ALL=C sort "$BOX/out" >"$BOX/actual"
    cmp -s "$BOX/expected" "$BOX/actual" || fail "the rows that came back differ from those written"
}

start_cluster 2 2

say "SHUTDOWN, start: tables and rows are there"
load_and_compare 20000
run_example
want 0 "$BIN/ndb_mgm" -e 'ALL REPORT REDO; ALL REPORT CHECKPOINT'
want_text out '^Node 2: Redo log part 1 is running, [0-9]+% full: 4 files of 4 MB'
want_text out '^Node 1: Global checkpoint [0-9]+ is durable, [0-9]+ runs$'
want 0 "$BIN/ndb_mgm" -e 'ALL DUMP 7099'
stop_cluster
start_mgm
start_node 2
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100
same_awkward
want 0 "$BIN/ndb_select_count" -d sandbox package
want_text out '^401 records'
want 0 "$BIN/example_packages" "$CS"
want_text out '^All as it must be'

say "new tables get new numbers, old ones can be dropped"
want 0 "$BIN/ndb_create_table" --execute='CREATE TABLE test.later (id INT PRIMARY KEY, t VARCHAR(20))'
want 0 "$BIN/ndb_drop_table" -d sandbox package
want 0 "$BIN/ndb_show_tables"
want_text out 'later'

say "kill -9 of both data nodes, under load"
mkdir "$BOX/kill"
load_and_kill 1 "${LOAD_SECONDS:-3}"
start_node 1
sleep 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/kill_client" verify "$BOX/kill"
cat "$BOX/out"
same_awkward
want 1 "$BIN/ndb_select_count" -d sandbox package
want 0 "$BIN/ndb_select_count" -d test later
want_text out '^0 records'

say "a table made just before the kill is there as a whole; one dropped just before stays away"
want 0 "$BIN/ndb_create_table" --execute='CREATE TABLE test.last_one (id INT PRIMARY KEY)'
want 0 "$BIN/ndb_drop_table" -d test later
kill_nodes
start_node 2
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_select_count" -d test last_one
want 1 "$BIN/ndb_select_count" -d test later
same_awkward

say "rows that were moved are there when all are killed right behind the end of the table that they came from"
for table in source target; do
    want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE test.$table (id INT PRIMARY KEY, t VARCHAR(20))"
done
seq 3000 | sed 's/.*/&,"row &"/' >"$BOX/source.csv"
for how in truncate drop; do
    want 0 "$BIN/ndb_import" --state-dir="$BOX" test "$BOX/source.csv" # They are on disk.
    if [ $how = drop ]; then
        want 0 "$BIN/ndb_move_data" -d test --drop-source source target
    else
        want 0 "$BIN/ndb_move_data" -d test source target
        want 0 "$BIN/ndb_alter_table" -d test -e 'TRUNCATE TABLE source'
    fi
    kill_nodes
    start_node 2
    start_node 1
    want 0 "$BIN/ndb_waiter" --timeout=100
    want 0 "$BIN/ndb_select_count" -d test target
    want_text out '^3000 records'
    if [ $how = truncate ]; then want 0 "$BIN/ndb_delete_all" -d test target; fi
done
want 1 "$BIN/ndb_select_count" -d test source

say "rows whose move was undone, because all were killed before it was on disk, are moved before the source goes"
records_of() { "$BIN/ndb_select_count" --ndb-connectstring="$CS" -d test "$1" 2>/dev/null | sed -n 's/^\([0-9]*\) records.*/\1/p'; }
seq 20000 | sed 's/.*/&,"row &"/' >"$BOX/source.csv"
for round in 1 2 3; do
    want 0 "$BIN/ndb_delete_all" -d test target
    want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE test.source (id INT PRIMARY KEY, t VARCHAR(20))"
    want 0 "$BIN/ndb_import" --state-dir="$BOX" test "$BOX/source.csv"
    "$BIN/ndb_move_data" --ndb-connectstring="$CS" -d test --staging-tries=0,100,1000 --drop-source source target >"$BOX/move.out" 2>&1 &
    mover=$!
    until [ "$(records_of target)" -gt $((round * 1000)) ]; do kill -0 $mover 2>/dev/null || break; done
    kill_nodes
    start_node 2
    start_node 1
    want 0 "$BIN/ndb_waiter" --timeout=100
    # When the answer to a commit was under way the outcome is not known: then it ends, and is begun again.
    if ! wait $mover; then want 0 "$BIN/ndb_move_data" -d test --drop-source source target; fi
    [ "$(records_of target)" = 20000 ] || fail "round $round: $(records_of target) of 20000 rows are there; $(cat "$BOX/move.out")"
    want 1 "$BIN/ndb_select_count" -d test source
done

say "a table that is said to be empty is empty, though all were killed before the deletions were on disk"
want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE test.source (id INT PRIMARY KEY, t VARCHAR(20))"
want 0 "$BIN/ndb_import" --state-dir="$BOX" test "$BOX/source.csv"
"$BIN/ndb_delete_all" --ndb-connectstring="$CS" -d test source >"$BOX/delete.out" 2>&1 &
deleter=$!
until [ "$(records_of source)" -lt 19000 ]; do kill -0 $deleter 2>/dev/null || break; done
kill_nodes
start_node 2
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100
if wait $deleter; then
    grep -q '^source: [0-9]* rows\? deleted$' "$BOX/delete.out" || fail "$(cat "$BOX/delete.out")"
else # The outcome of a commit is not known, or whether it is on disk.
    want 0 "$BIN/ndb_delete_all" -d test source
fi
[ "$(records_of source)" = 0 ] || fail "$(records_of source) rows are there; $(cat "$BOX/delete.out")"
want 0 "$BIN/ndb_import" --state-dir="$BOX" test "$BOX/source.csv"
want 0 "$BIN/ndb_delete_all" -d test target source
kill_nodes # Right behind it.
start_node 2
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100
for table in target source; do
    [ "$(records_of $table)" = 0 ] || fail "$(records_of $table) rows of $table are back"
done
want 0 "$BIN/ndb_drop_table" -d test source

say "rows that others insert while it goes on are moved, too, before the source goes"
want 0 "$BIN/ndb_delete_all" -d test target
want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE test.source (id INT PRIMARY KEY, t VARCHAR(20))"
want 0 "$BIN/ndb_import" --state-dir="$BOX" test "$BOX/source.csv"
"$BIN/ndb_move_data" --ndb-connectstring="$CS" -d test --drop-source source target >"$BOX/move.out" 2>&1 &
mover=$!
until [ "$(records_of target)" -gt 1000 ]; do kill -0 $mover 2>/dev/null || break; done
mkdir -p "$BOX/more"
sed 's/,/0000000,/' "$BOX/source.csv" | head -n 200 >"$BOX/more/source.csv"
fewest=20000 # When the source is dropped under the second import, as many of its rows as were in time.
"$BIN/ndb_import" --ndb-connectstring="$CS" --state-dir="$BOX/more" test "$BOX/more/source.csv" >"$BOX/more.out" 2>&1 && fewest=20200
wait $mover || fail "rows of others ended the move: $(cat "$BOX/move.out")"
there=$(records_of target)
[ "$there" -ge $fewest ] && [ "$there" -le 20200 ] || fail "$there of $fewest to 20200 rows are there; $(cat "$BOX/move.out" "$BOX/more.out")"

say "the directory of a node that runs is not opened a second time"
mkdir "$BOX/other"
sed "s#^DataDir=$BOX/node1\$#DataDir=$BOX/other\nFileSystemPath=$BOX/node1#" "$BOX/config.ini" >"$BOX/other.ini"
port=$(free_port)
sed -i "s#PortNumber=.*#PortNumber=$port#; s#$BOX/mgm\$#$BOX/other#" "$BOX/other.ini"
"$BIN/ndb_mgmd" --config-file="$BOX/other.ini" --config-dir="$BOX/other" --nodaemon --initial --cluster-id=4711 >"$BOX/other.out" 2>&1 &
PIDS+=("$!")
other=$!
for _ in $(seq 900); do (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break; sleep 0.1; done
want 1 "$BIN/ndbmtd" -c "127.0.0.1:$port" --ndb-nodeid=1 --foreground
cat "$BOX/out" >>"$BOX/err"
want_text err 'ndb_1_fs is in use by another process'
stop_cluster

say "files of another cluster are refused, and stay as they are"
(cd "$BOX/node1" && find ndb_1_fs -type f -exec sha256sum {} + | sort) >"$BOX/before"
want 1 "$BIN/ndbmtd" -c "127.0.0.1:$port" --ndb-nodeid=1 --foreground
cat "$BOX/out" >>"$BOX/err"
want_text err 'belongs to another cluster|another cluster'
(cd "$BOX/node1" && find ndb_1_fs -type f -exec sha256sum {} + | sort) >"$BOX/after"
cmp "$BOX/before" "$BOX/after" || fail "a refused start has changed files"
kill "$other"

say "files of another node are refused"
cp -a "$BOX/node1/ndb_1_fs" "$BOX/node1.copy"
rm -rf "$BOX/node1/ndb_1_fs"
cp -a "$BOX/node2/ndb_2_fs" "$BOX/node1/ndb_1_fs"
start_mgm
start_node 2
start_node 1
ended "${NODE_PIDS[1]}" && fail "node 1 starts with the files of node 2"
cp "$BOX/node1.out" "$BOX/out"
want_text out 'it belongs to node 2, this is node 1\. .*--initial does not remove it'
(cd "$BOX/node1" && find ndb_1_fs -type f -exec sha256sum {} + | sort) >"$BOX/before"
: >"$BOX/node1.out"
start_node 1 --initial
ended "${NODE_PIDS[1]}" && fail "node 1 starts with the files of node 2"
cp "$BOX/node1.out" "$BOX/out"
want_text out 'it belongs to node 2, this is node 1\. .*--initial does not remove it'
(cd "$BOX/node1" && find ndb_1_fs -type f -exec sha256sum {} + | sort) >"$BOX/after"
cmp "$BOX/before" "$BOX/after" || fail "--initial has changed the files of node 2"
kill_nodes
rm -rf "$BOX/node1/ndb_1_fs"
mv "$BOX/node1.copy" "$BOX/node1/ndb_1_fs"

say "log files of another size or number than configured are no damage, and are kept"
reconfigure() { # LINE: of [ndbd default], instead of the one with this name
    kill "$MGM_PID"
    wait "$MGM_PID" 2>/dev/null
    sed -i "/^${1%%=*}=/d; s/^\\[ndbd default\\]\$/&\\n$1/" "$BOX/config.ini"
    start_mgm --reload
}
for lines in 'FragmentLogFileSize=8M FragmentLogFileSize=4M' 'NoOfFragmentLogFiles=6 NoOfFragmentLogFiles=4'; do
    for id in 1 2; do : >"$BOX/node$id.out"; done
    reconfigure "${lines% *}"
    start_node 1
    start_node 2
    for _ in $(seq 900); do grep -q 'Forced node shutdown completed' "$BOX/node1.out" "$BOX/node2.out" && break; sleep 0.1; done
    kill_nodes
    cat "$BOX/node1.out" "$BOX/node2.out" >"$BOX/out"
    want_text out 'Caused by error 2398: .*NoOfFragmentLogFiles=4 and FragmentLogFileSize=4096K.*Nothing is damaged: set the parameters back'
    grep -E 'Caused by error (2310|2375)|accept-data-loss' "$BOX/out" && fail "${lines% *} is taken for damage"
    reconfigure "${lines#* }"
    start_node 1
    start_node 2
    want 0 "$BIN/ndb_waiter" --timeout=100
    same_awkward
    kill_nodes
done

say "--initial of all nodes destroys nothing unless it is said twice"
for id in 1 2; do : >"$BOX/node$id.out"; done
start_node 1 --initial
start_node 2 --initial
# Both stopped in good order: each has the newest GCI.
for id in 1 2; do
    ended "${NODE_PIDS[$id]}" && fail "--initial is taken for granted"
    cp "$BOX/node$id.out" "$BOX/out"
    want_text out 'Caused by error 2383: .*accept-data-loss'
done
kill_nodes
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
same_awkward
kill_nodes
start_node 1 --initial --i-accept-data-loss
start_node 2 --initial --i-accept-data-loss
want 0 "$BIN/ndb_waiter" --timeout=100
want 1 "$BIN/ndb_select_count" -d test awkward
load_and_compare 500
stop_cluster
