#!/bin/bash
# process_threads.sh -- the queues between threads under load: split layouts, one and two nodes, every kind of work.
# SPDX-License-Identifier: GPL-2.0-only
TEST_DEADLINE=${TEST_DEADLINE:-300}
source "$(dirname "$0")/cluster.sh"
ROWS=${ROWS:-20000}
SECONDS_EACH=${SECONDS_EACH:-0.3}

bench() { # MODE ARGUMENTS: every value that is read is verified by the program.
    want 0 "$BIN/bench_ndb" --connect="$CS" --rows="$ROWS" --seconds="$SECONDS_EACH" "$@"
    printf '%s: ' "$*"
    tail -n 1 "$BOX/out"
}

work() {
    bench create
    bench load
    bench read --threads=4
    bench read --threads=2 --batch=100
    bench write --threads=4
    bench write --threads=2 --batch=100
    bench txn --threads=3 --batch=10
    bench txn --batch=500
    bench scan --threads=2
    # All at once: batches, single rows, transactions and scans share queues and send buffers.
    local pids=() pid
    for mode in 'read --threads=2 --batch=64' 'write --threads=3' 'scan' 'txn --threads=2 --batch=20'; do
        # shellcheck disable=SC2086
        run "$BIN/bench_ndb" --connect="$CS" --rows="$ROWS" --seconds="$SECONDS_EACH" $mode \
            >"$BOX/all.${#pids[@]}" 2>&1 &
        pids+=("$!")
    done
    for pid in "${!pids[@]}"; do
        wait "${pids[pid]}" || { fail "bench_ndb in the mix"; cat "$BOX/all.$pid"; }
    done
    bench scan
    bench read --batch=100
    load_and_compare 2000
    drop_awkward
    for style in blocking batch async event_loop scan; do
        want 0 "$BIN/example_$style" "$CS"
    done
}

LAYOUT='main,rep,ldm={count=4},tc={count=2},recv'
for nodes in 1 2; do
    say "$nodes node(s), $LAYOUT"
    start_cluster "$nodes" "$nodes" "ThreadConfig=$LAYOUT"
    grep -h 'threads,' "$BOX/node1.out" | tail -n 1
    grep -q '9 threads, 4 LDM and 2 TC instances' "$BOX/node1.out" || fail "node 1 does not have 9 threads"
    work
    stop_cluster
    : >"$BOX/node1.out"
done

if [ -n "${NIGHT:-}" ]; then
    say "many threads on few CPUs, one thread that spins for long, one that never does"
    start_cluster 2 1 'ThreadConfig=main,rep,ldm={count=12},tc={count=8},recv'
    work
    stop_cluster
    start_cluster 2 2 $'ThreadConfig=ldm={count=2},tc={count=2},recv\nSchedulerSpinTimer=500'
    work
    stop_cluster
    start_cluster 2 2 $'NumCPUs=1\nSchedulerSpinTimer=0'
    work
    stop_cluster
fi

say "ThreadConfig's places, priorities and spin times"
cpu=$(taskset -pc $$ | sed -E 's/.*: ([0-9]+).*/\1/') # One that this process may use.
start_cluster 1 1 "ThreadConfig=main={cpubind=$cpu,thread_prio=4},rep,ldm={count=2,cpuset=$cpu,spintime=0},tc,recv={cpubind=1023}"
threads() { # NAME: directories of the node's threads of this name
    grep -lx "$1" /proc/"${NODE_PIDS[1]}"/task/*/comm | xargs -n 1 dirname
}
for name in ndb_main0 ndb_ldm2 ndb_ldm3; do
    [ "$(awk '/^Cpus_allowed_list/ { print $2 }' "$(threads "$name")/status")" = "$cpu" ] || fail "$name is not bound to CPU $cpu"
done
[ "$(awk '{ sub(/^.*\) /, ""); print $17 }' "$(threads ndb_main0)/stat")" = 4 ] || fail "thread_prio=4 is not nice value 4"
grep -q 'thread 5 (recv): the CPUs of ThreadConfig: Invalid argument' "$BOX/node1.out" || fail "no warning for a CPU that is not there"
load_and_compare 500
stop_cluster
