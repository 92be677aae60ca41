#!/bin/bash
# process_threads_send.sh -- several recv and send threads per node: work, clients and nodes killed under load, places.
# SPDX-License-Identifier: GPL-2.0-only
TEST_DEADLINE=${TEST_DEADLINE:-800}
source "$(dirname "$0")/cluster.sh"
source "$HERE/thread_work.sh"

threads() { # NODE: the names of its threads, one per line
    cat /proc/"${NODE_PIDS[$1]}"/task/*/comm
}

LAYOUT='ThreadConfig=main,rep,ldm={count=2},tc={count=2},recv={count=2},send={count=2}'
say "2 nodes, $LAYOUT"
start_cluster 2 2 "$LAYOUT"
grep -q '10 threads, 2 LDM and 2 TC instances, 2 recv and 2 send threads' "$BOX/node1.out" ||
    fail "node 1 does not have the threads of ThreadConfig"
[ "$(threads 1 | grep -Ec '^ndb_(recv7|send8|send9)$')" = 3 ] || fail "threads: $(threads 1 | tr '\n' ' ')"
work

say "clients that are killed in the middle of their work, while others go on"
for _ in 1 2 3; do
    victims=()
    for mode in 'read --threads=2 --batch=100' 'write --threads=3 --batch=10' 'scan --threads=2'; do
        # shellcheck disable=SC2086
        "$BIN/bench_ndb" --connect="$CS" --rows="$ROWS" --seconds=30 $mode >"$BOX/victim" 2>&1 &
        victims+=("$!")
        PIDS+=("$!")
    done
    bench write --threads=2
    kill -9 "${victims[@]}"
    wait "${victims[@]}" 2>/dev/null
    bench txn --batch=20
done
bench scan
load_and_compare 1000
stop_cluster

for LAYOUT in 'main,rep,ldm={count=2},tc,recv={count=3}' 'main={nosend=1},ldm={count=0},recv,send={count=2}'; do
    say "2 nodes, $LAYOUT"
    start_cluster 2 2 "ThreadConfig=$LAYOUT"
    bench create
    bench load
    bench write --threads=3 --batch=50
    bench read --threads=3
    bench scan
    load_and_compare 1000
    stop_cluster
done

cpu=$(taskset -pc $$ | sed -E 's/.*: ([0-9]+).*/\1/') # One that this process may use.
LAYOUT="ThreadConfig=ldm={count=2},tc,recv={count=2},send={count=2,cpuset=$cpu},io={cpubind=$cpu},watchdog={cpubind=$cpu}"
say "nodes killed under load, with files and $LAYOUT"
start_cluster 2 2 "Diskless=0
StartPartialTimeout=0
$LAYOUT"
for name in ndb_send7 ndb_send8 ndb_io0 ndb_watchdog; do
    status=$(grep -lx "$name" /proc/"${NODE_PIDS[1]}"/task/*/comm)
    [ "$(awk '/^Cpus_allowed_list/ { print $2 }' "${status%comm}status")" = "$cpu" ] ||
        fail "$name is not bound to CPU $cpu"
done
mkdir "$BOX/kill"
for _ in 1 2; do
    load_and_kill 4 1
    start_node 1
    start_node 2
    want 0 "$BIN/ndb_waiter" --timeout=100
    [ "$FAILED" -eq 0 ] || exit 1
    want 0 "$BIN/kill_client" verify "$BOX/kill"
    cat "$BOX/out"
done
stop_cluster
