#!/bin/bash
# process_limits.sh -- every limit of a node reached from outside: the right error, no harm to others, and work after it.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
client() { # CODE MODE FIRST COUNT [BATCH]
    want "$@"
    cat "$BOX/out"
}

say "DataMemory: permanent errors of class 'insufficient space'; deleting rows makes room again, many times"
DATA_MEMORY=6M start_cluster 1 1
for round in 1 2 3; do
    client 3 "$BIN/limits_client" load 0 100000
    want_text out '^error (625|826|827|921|1601|1602): [0-9]+ Insufficient space, permanent$'
    [ "$(grep -c '^error' "$BOX/out")" -le 2 ] || fail "more kinds of errors than expected"
    grep -E '^error' "$BOX/out" | grep -vq 'permanent' && fail "an error that is not permanent"
    good=$(sed -nE 's/^load: good=([0-9]+) .*/\1/p' "$BOX/out")
    [ "$good" -gt 20000 ] || fail "only $good rows of 100 bytes in 6 MB"
    [ "$round" -eq 1 ] && first_good=$good
    [ "$good" -ge $((first_good * 95 / 100)) ] || fail "round $round has room for $good rows, the first had $first_good"
    want 0 "$BIN/ndb_mgm" -e 'ALL REPORT MEMORY'
    want_text out 'Node 1: Data usage is (8|9|10)[0-9]'
    want 0 "$BIN/limits_client" scan 0 "$good" # Exactly the rows that were acknowledged, with their values.
    want 0 "$BIN/ndb_mgm" -e '1 STATUS'
    want_text out 'Node 1: started'
    want 3 "$BIN/limits_client" delete 0 100000 # The rows that did not fit are error 626.
    want_text out "^delete: good=$good bad=$((100000 - good)) "
    want_text out '^error 626: '
    client 0 "$BIN/limits_client" load 0 10000
    want 0 "$BIN/limits_client" verify 0 10000
    want 0 "$BIN/limits_client" delete 0 10000
done
stop_cluster

say "MaxNoOfConcurrentTransactions: a temporary error, and room when others have ended"
start_cluster 1 1 'MaxNoOfConcurrentTransactions=64'
client 3 "$BIN/limits_client" open 0 200
want_text out '^error (219|4006|1218|233|217): [0-9]+ Temporary Resource error, temporary$'
[ "$(grep -c '^error' "$BOX/out")" -eq 1 ] || fail "more than one kind of error"
good=$(sed -nE 's/^open: good=([0-9]+) .*/\1/p' "$BOX/out")
# Transactions that complete after their commit have records of their own, which open ones may take, too.
[ "$good" -ge 64 ] && [ "$good" -le 128 ] || fail "$good transactions could be open"
client 0 "$BIN/limits_client" open 0 "$good"
client 0 "$BIN/limits_client" absent 0 200 32
client 0 "$BIN/limits_client" load 0 1000 32
stop_cluster

# too_large LIMIT ANSWER: a transaction of 30,000 rows does not fit, and harms nobody.
too_large() {
    start_cluster 1 1 "$1"
    client 3 "$BIN/limits_client" big 0 30000
    want_text out "^error $2\$"
    client 0 "$BIN/limits_client" absent 0 2000 32
    client 0 "$BIN/limits_client" load 0 2000 16
    client 0 "$BIN/limits_client" verify 0 2000 16
    stop_cluster
}

say "TransactionMemory: permanent, as it is alone with all that there is"
too_large TransactionMemory=1M '(234: 1 Insufficient space|261: 1 Application error), permanent'
say "MaxNoOfConcurrentOperations: permanent, as it has all that there are"
too_large $'MaxNoOfConcurrentTransactions=64\nMaxNoOfConcurrentOperations=64' '234: 1 Insufficient space, permanent'

# too_small LIMIT: what the node needs from the beginning does not fit, and it says what to raise.
too_small() {
    write_config 1 1 "$1"
    start_mgm --initial
    wait_mgm
    : >"$BOX/node1.out"
    start_node 1
    wait_text node1.out "Caused by error 2500: .*raise ${1%%=*}:"
    unset 'NODE_PIDS[1]'
    stop_cluster
}

say "SharedGlobalMemory: too small for what a node needs from the beginning"
too_small SharedGlobalMemory=0
too_small SharedGlobalMemory=1M

say "SendBufferMemory, with a client that stops reading: others do not notice"
start_cluster 1 1 $'TotalSendBufferMemory=1M\n[tcp default]\nSendBufferMemory=256K'
client 0 "$BIN/limits_client" load 0 20000
"$BIN/limits_client" read 0 20000 4000 >"$BOX/stopped.out" 2>&1 &
stopped=$!
PIDS+=("$stopped")
"$BIN/limits_client" read 10000 10000 4000 >"$BOX/stopped2.out" 2>&1 &
stopped2=$!
PIDS+=("$stopped2")
until want 0 "$BIN/ndb_mgm" -e SHOW && grep -Eq '^id=3.*@' "$BOX/out"; do sleep 0.05; done # Both are connected.
for _ in 1 2 3; do
    kill -STOP "$stopped" "$stopped2"
    client 0 "$BIN/limits_client" verify 0 20000
    client 0 "$BIN/limits_client" scan 0 20000
    kill -CONT "$stopped" "$stopped2"
    client 0 "$BIN/limits_client" load 0 5000
done
for pid in "$stopped" "$stopped2"; do
    kill -0 "$pid" 2>/dev/null || fail "the client that was stopped has ended: $(cat "$BOX"/stopped*.out)"
    kill -9 "$pid"
done
want 0 "$BIN/ndb_mgm" -e '1 STATUS'
want_text out 'Node 1: started'
client 0 "$BIN/limits_client" verify 0 20000
stop_cluster

say "the largest numbers that the configuration allows do not need memory before they are used"
start_cluster 1 1 $'MaxNoOfConcurrentTransactions=4294967039\nMaxNoOfConcurrentOperations=4294967039\nMaxNoOfTables=20320\nMaxNoOfConcurrentScans=500'
client 0 "$BIN/limits_client" load 0 1000
stop_cluster

say "few open files allowed: the node raises its own limit, and says so where it may not"
ulimit -Sn 256
start_cluster 1 1
grep -Eq '^Max open files +1[0-9]{3} ' "/proc/${NODE_PIDS[1]}/limits" || fail "the limit is not raised: $(grep 'open files' "/proc/${NODE_PIDS[1]}/limits")"
load_and_compare 200
stop_cluster
ulimit -Hn 256
: >"$BOX/node1.out"
start_cluster 1 1
grep -q 'the system allows 256 open files, [0-9]* may be needed' "$BOX/node1.out" || fail "nobody is told of the limit"
load_and_compare 200
stop_cluster

say "more DataMemory than the machine has is refused, with both numbers"
DATA_MEMORY=16000G write_config 1 1
start_mgm --initial
wait_mgm || die "the management server does not start"
for how in --foreground --connect-retries=0; do
    want 1 "$BIN/ndbmtd" --ndb-nodeid=1 "$how"
    want_text err 'DataMemory=16384000M is more than this machine has \([0-9]+M of memory\): correct it in the configuration'
done
[ ! -e "$BOX/node1/ndb_1_fs" ] || fail "the node has made files"
kill "$MGM_PID"
ended "$MGM_PID" || fail "the management server ends with exit code $?"

say "a node that is restarted with it stays down and says why, and comes back with what is corrected"
write_config 2 2
start_mgm --initial
wait_mgm || die "the management server does not start"
start_daemon 1
start_daemon 2
want 0 "$BIN/ndb_waiter" --timeout=100
cp "$BOX/config.ini" "$BOX/right.ini"
sed -i 's/^DataMemory=.*/DataMemory=16000G/' "$BOX/config.ini"
reload
want 0 "$BIN/ndb_mgm" -e '2 RESTART'
wait_text mgm/ndb_49_cluster.log 'Node 2: Forced node shutdown completed.*Caused by error 2327'
want_text node2/ndb_2_error.log '^Error data: DataMemory=16384000M is more than this machine has'
want 0 "$BIN/ndb_mgm" -e '1 STATUS'
want_text out 'Node 1: started'
cp "$BOX/right.ini" "$BOX/config.ini"
reload
start_daemon 2
want 0 "$BIN/ndb_waiter" --timeout=100
stop_cluster

say "the same with a node in the foreground, whose next life nobody need look at"
write_config 2 2
start_mgm --initial
wait_mgm || die "the management server does not start"
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
sed -i 's/^DataMemory=.*/DataMemory=16000G/' "$BOX/config.ini"
reload
: >"$BOX/mgm/ndb_49_cluster.log"
want 0 "$BIN/ndb_mgm" -e '2 RESTART'
wait_text mgm/ndb_49_cluster.log 'Node 2: Forced node shutdown completed.*Caused by error 2327'
ended "${NODE_PIDS[2]}" && fail "node 2 has ended well"
unset 'NODE_PIDS[2]'
want 0 "$BIN/ndb_mgm" -e '1 STATUS'
want_text out 'Node 1: started'
stop_cluster

say "little address space is allowed: whatever fails for it is told, until the node starts"
DATA_MEMORY=60M write_config 1 1
start_mgm --initial
wait_mgm || die "the management server does not start"
failed=0
for ((limit = 150000; limit < 4000000; limit += 10000)); do
    (
        ulimit -v "$limit"
        exec "$BIN/ndbmtd" --ndb-connectstring="$CS" --ndb-nodeid=1 --foreground --connect-delay=1
    ) >"$BOX/limit.out" 2>&1 &
    pid=$!
    PIDS+=("$pid")
    until ! kill -0 "$pid" 2>/dev/null || grep -q 'NDBCNTR: started$' "$BOX/limit.out"; do sleep 0.02; done
    if grep -q 'NDBCNTR: started$' "$BOX/limit.out"; then break; fi
    failed=$((failed + 1))
    tail -n 1 "$BOX/limit.out" | grep -Eq '(ERROR|ALERT) .*(Memory could not be had from the system|A thread could not be started: )' ||
        fail "with ulimit -v $limit nothing is told: $(cat "$BOX/limit.out")"
done
echo "$failed starts have failed; with $limit KB the node is started"
[ "$failed" -gt 10 ] || fail "only $failed limits were too small"
stop_cluster
