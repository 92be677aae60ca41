#!/bin/bash
# split_threads.sh -- two data nodes, each with its threads split: several LDM, TC, receive, send.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2 'ThreadConfig=main,rep,ldm={count=3},tc={count=2},recv={count=1},send={count=1}'

grep -h 'threads,' "$BOX"/node?.out
grep -q '3 LDM and 2 TC instances' "$BOX/node1.out" || fail "node 1 does not have the threads of ThreadConfig"
load_and_compare 20000
run_example
drop_awkward

say "ndb_top knows all of them"
want 0 "$BIN/ndb_top" --count=1 --no-sort -m -n 1
[ "$(sed -nE 's/^ *([0-9]+) ([a-z]+) .*/\1 \2/p' "$BOX/out" | tr '\n' ' ')" = "0 main 1 rep 2 ldm 3 ldm 4 ldm 5 tc 6 tc 7 recv 8 send " ] ||
    fail "the threads are others: $(cat "$BOX/out")"
cat "$BOX/out"
stop_cluster
