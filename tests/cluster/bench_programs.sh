#!/bin/bash
# bench_programs.sh -- what the benchmarks run: options, each workload for a moment, windows until SIGTERM.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

say "options"
refuses() { # PROGRAM OPTION NAME
    want 2 "$BIN/$1" "$2"
    want_text err "$1: .*$3"
}
refuses bench_program --hot=0 '--hot must be a number from 1'
refuses bench_program --threads=many "not 'many'"
refuses bench_program --rows=-5 "not '-5'"
refuses bench_program --seconds=0 '--seconds must be a time'
refuses bench_program --what "'--what'"
refuses bench_ndb --batch=0 '--batch must be a number from 1'
refuses bench_ndb --value=16 '--value must be a number from 17 to 1024'
refuses bench_peer --port=65536 '--port must be a number from 1 to 65535'
refuses bench_peer --pipeline=0 '--pipeline must be'
refuses bench_peer --value=15 '--value must be a number from 16 to'
refuses bench_peer --seconds=1x "not '1x'"
want 2 "$BIN/bench_program" create more
want_text err "'more' is one word too many"
want 0 "$BIN/bench_peer" --help
want_text out '^ +-c, --connections=N +connections'

start_cluster 2 2
works() { # PROGRAM OPTIONS...: it says how much it has done
    local program=$1
    shift
    want 0 "$BIN/$program" --connect="$CS" --rows=2000 "$@"
    case "$*" in *create*) return ;; esac
    want_text out '^ops_per_s [1-9][0-9]*$'
}

say "bench_program: the scans find what fits, the sum of all increments is right"
works bench_program --indexed create
for size in 1 100 5000; do # More than there are: all of them.
    works bench_program --threads=2 --seconds=0.2 --size="$size" range
    want_text out '^rows_per_s [1-9][0-9]*$'
done
works bench_program --seconds=0.2 filter
works bench_program --threads=4 --seconds=0.2 increment
works bench_program --threads=4 --seconds=0.2 --hot=50 increment
works bench_program --threads=2 --seconds=0.5 --rate=100 --hot=50 increment
rate=$(sed -nE 's/^ops_per_s ([0-9]+)$/\1/p' "$BOX/out")
[ "$rate" -le 120 ] || fail "$rate increments per second instead of 100 at most"

say "bench_ndb: all answers are verified"
works bench_ndb create
works bench_ndb load
for mode in read write; do
    works bench_ndb --threads=2 --seconds=0.2 $mode
    want_text out '^p99_us [0-9.]+$'
    works bench_ndb --threads=2 --seconds=0.2 --batch=50 $mode
done
works bench_ndb --seconds=0.2 --durable write
works bench_ndb --threads=2 --seconds=0.2 --batch=10 txn
works bench_ndb --seconds=0.2 scan
works bench_ndb change
works bench_ndb --threads=2 --seconds=0.5 --rate=100 write
rate=$(sed -nE 's/^ops_per_s ([0-9]+)$/\1/p' "$BOX/out")
[ "$rate" -le 120 ] || fail "$rate calls per second instead of 100 at most"
"$BIN/bench_ndb" --connect="$CS" --rows=2000 --window=20 --seconds=60 write >"$BOX/windows" 2>&1 &
load=$!
PIDS+=("$load")
wait_text windows '^window [0-9]+ [1-9][0-9]*$'
kill "$load"
ended "$load" || fail "the load ends with exit code $?: $(tail -n 3 "$BOX/windows")"
wait_text windows '^ops_per_s [1-9][0-9]*$'

if command -v redis-server >/dev/null; then
    say "bench_peer with Redis"
    port=$(free_port)
    timeout -k 5 60 redis-server --port "$port" --bind 127.0.0.1 --dir "$BOX" --save '' --appendonly no >"$BOX/redis.out" 2>&1 &
    redis=$!
    wait_text redis.out 'Ready to accept connections'
    peer() { want 0 "$BIN/bench_peer" --port="$port" --rows=2000 "$@" && want_text out '^ops_per_s [1-9][0-9]*$'; }
    peer redis load
    peer --connections=4 --pipeline=20 --seconds=0.2 redis read
    want_text out '^p999_us [0-9.]+$'
    peer --seconds=0.3 --window=50 redis write
    want_text out '^window [0-9]+ [1-9][0-9]*$'
    peer --value=100 --noise redis load
    want 1 "$BIN/bench_peer" --port="$port" --rows=2000 --seconds=0.2 redis read # Rows with another value.
    want_text err 'wrong answer for key:'
    kill "$redis"
    wait "$redis"
fi

stop_cluster
