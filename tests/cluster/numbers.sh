#!/bin/bash
# numbers.sh -- numbers for new rows: no one twice, by several processes, while nodes and the whole cluster are lost.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

want 0 "$BIN/number_client" check
want_text out '^numbers: all is right$'
want 0 "$BIN/ndb_desc" -d test number
want_text out '^id Bigunsigned PRIMARY KEY DISTRIBUTION KEY AT=FIXED ST=MEMORY AUTO_INCR$'

say "a statement says where they begin"
want 0 "$BIN/ndb_create_table" -e 'CREATE TABLE `test`.`begun` (`id` int NOT NULL AUTO_INCREMENT, PRIMARY KEY (`id`)) ENGINE=ndbcluster AUTO_INCREMENT=500 DEFAULT CHARSET=utf8mb4'
want 0 "$BIN/ndb_create_table" -e "CREATE TABLE IF NOT EXISTS test.begun (id INT PRIMARY KEY) AUTO_INCREMENT 600"
want 0 "$BIN/ndb_desc" -d test -a begun
want_text out '^AutoIncrement: 500$'

takers=()
# begin_taking SECONDS: three programs with four ndb_t's each.
begin_taking() {
    takers=()
    for program in 1 2 3; do
        run "$BIN/number_client" take 4 "$1" >>"$BOX/taken.$program" &
        takers+=($!)
    done
}
end_taking() {
    for taker in "${takers[@]}"; do
        wait "$taker" || fail "a program could not take numbers"
    done
    total=$(cat "$BOX"/taken.* | wc -l)
    twice=$(sort "$BOX"/taken.* | uniq -d | head -n 5 | tr '\n' ' ')
    [ -z "$twice" ] || fail "numbers that were given twice: $twice"
    [ "$total" -gt "${before:-0}" ] || fail "no numbers were given"
    before=$total
    say "$total different numbers"
}

for victim in 2 1; do
    say "three programs take numbers, node $victim is killed and comes back"
    begin_taking 6
    sleep 1.5
    kill -9 "${NODE_PIDS[$victim]}"
    unset "NODE_PIDS[$victim]"
    sleep 1
    start_node "$victim"
    want 0 "$BIN/ndb_waiter" --timeout=100
    end_taking
done

say "the whole cluster is killed while they take numbers, and comes back"
begin_taking 8
sleep 2
kill -9 "${NODE_PIDS[1]}" "${NODE_PIDS[2]}"
unset "NODE_PIDS[1]" "NODE_PIDS[2]"
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
end_taking
stop_cluster

say "a cluster without disks"
start_cluster 2 2 Diskless=1
want 0 "$BIN/number_client" check
want_text out '^numbers: all is right$'

# outlive [OPTION]: a program has numbers left; all nodes are killed and come back with the option, without any table.
outlive() {
    local client
    rm -f "$BOX/line" && mkfifo "$BOX/line"
    : >"$BOX/outlive.out" # Before the first look at it.
    run "$BIN/number_client" outlive <"$BOX/line" >"$BOX/outlive.out" 2>&1 &
    client=$!
    exec 4>"$BOX/line"
    wait_text outlive.out '^holding$'
    kill_nodes
    start_node 1 "$@"
    start_node 2 "$@"
    want 0 "$BIN/ndb_waiter" --timeout=100
    echo go >&4
    exec 4>&-
    wait "$client" || fail "numbers of a former life: $(cat "$BOX/outlive.out")"
    wait_text outlive.out '^numbers of the next life: all is right$'
}

say "it is lost and lives again, while a program has numbers left"
stop_cluster
start_cluster 2 2 Diskless=1
outlive
stop_cluster

say "a cluster with disks begins anew"
start_cluster 2 2
outlive --initial --i-accept-data-loss
stop_cluster
