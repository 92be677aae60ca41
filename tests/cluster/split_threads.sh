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
stop_cluster
