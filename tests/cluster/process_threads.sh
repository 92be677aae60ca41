#!/bin/bash
# process_threads.sh -- the queues between threads under load: split layouts, one and two nodes, every kind of work.
# SPDX-License-Identifier: GPL-2.0-only
TEST_DEADLINE=${TEST_DEADLINE:-800}
source "$(dirname "$0")/cluster.sh"
source "$HERE/thread_work.sh"

LAYOUT='main,rep,ldm={count=4},tc={count=2},recv'
for nodes in 1 2; do
    say "$nodes node(s), $LAYOUT"
    start_cluster "$nodes" "$nodes" "ThreadConfig=$LAYOUT"
    grep -h 'threads,' "$BOX/node1.out" | tail -n 1
    grep -q '9 threads, 4 LDM and 2 TC instances, 1 recv and 0 send threads' "$BOX/node1.out" || fail "node 1 does not have 9 threads"
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

say "transactions in each other's way: they end by 266, and so does who waits behind them; all are made again"
start_cluster 1 1 "ThreadConfig=$LAYOUT"$'\nTransactionDeadlockDetectionTimeout=50'
ROWS=600 bench create
ROWS=600 bench load
for try in $(seq 20); do # Until it has happened to both.
    ROWS=600 mix 'txn --threads=3 --batch=300' 'write --threads=2' 'write --batch=100' 'read --batch=100'
    grep -q '^retries [1-9]' "$BOX/all.0" && txn_again=1
    grep -q '^retries [1-9]' "$BOX/all.1" "$BOX/all.2" && write_again=1
    [ -z "${txn_again:-}" ] || [ -z "${write_again:-}" ] || break
done
[ -n "${txn_again:-}" ] || fail "no transaction was made again"
[ -n "${write_again:-}" ] || fail "no write was made again"
ROWS=600 bench scan
ROWS=600 bench read --batch=100
stop_cluster

say "ThreadConfig's places, priorities and spin times"
cpu=$(taskset -pc $$ | sed -E 's/.*: ([0-9]+).*/\1/') # One that this process may use.
start_cluster 1 1 "ThreadConfig=main={cpubind=$cpu,thread_prio=4},rep,ldm={count=2,cpuset=$cpu,spintime=0},tc,recv={cpubind=1023}"
threads() { # NAME: directories of the node's threads of this name
    grep -lx "$1" /proc/"${NODE_PIDS[1]}"/task/*/comm | xargs -n 1 dirname
}
for name in ndb_main0 ndb_ldm2 ndb_ldm3; do
    [ "$(awk '/^Cpus_allowed_list/ { print $2 }' "$(threads "$name")/status")" = "$cpu" ] || fail "$name is not bound to CPU $cpu"
done
nice_of() { # NAME; none: recv, which is the process's first thread
    awk '{ sub(/^.*\) /, ""); print $17 }' "$([ -n "${1:-}" ] && threads "$1" || echo /proc/"${NODE_PIDS[1]}")/stat"
}
may_take() { # The nice value that a thread by which the others hear the node gets.
    local own limit
    own=$(nice)
    limit=$(ulimit -e)
    if [ "$own" -ne 0 ] || [ "$(nice -n -10 nice 2>/dev/null)" -eq -10 ]; then
        echo $((own != 0 ? own : -10))
    else
        echo $((limit > 20 ? 20 - limit : 0))
    fi
}
[ "$(nice_of ndb_main0)" = 4 ] || fail "thread_prio=4 is not nice value 4"
[ "$(nice_of)" = "$(may_take)" ] || fail "the thread that others hear has nice value $(nice_of), not $(may_take)"
[ "$(nice_of ndb_ldm2)" = "$(nice)" ] || fail "a thread that nobody hears has nice value $(nice_of ndb_ldm2)"
grep -q 'thread 5 (recv): the CPUs of ThreadConfig: Invalid argument' "$BOX/node1.out" || fail "no warning for a CPU that is not there"
load_and_compare 500
stop_cluster
