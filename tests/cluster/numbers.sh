#!/bin/bash
# numbers.sh -- numbers for new rows: no one twice, by several processes, while nodes and the whole cluster are lost.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

want 0 "$BIN/number_client" check
want_text out '^numbers: all is right$'
want 0 "$BIN/ndb_desc" -d test number
want_text out '^id Bigunsigned PRIMARY KEY DISTRIBUTION KEY AT=FIXED ST=MEMORY AUTO_INCR$'

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
stop_cluster
