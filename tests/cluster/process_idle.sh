#!/bin/bash
# process_idle.sh -- a node without work uses no CPU to speak of, in both thread layouts, also after it was busy.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
SECONDS_IDLE=${SECONDS_IDLE:-10}

ticks() { awk '{ sub(/^.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; } # User and system time.

idle() { # WHAT
    local id before=() used percent
    for id in "${!NODE_PIDS[@]}"; do before[id]=$(ticks "${NODE_PIDS[id]}"); done
    sleep "$SECONDS_IDLE"
    for id in "${!NODE_PIDS[@]}"; do
        used=$(($(ticks "${NODE_PIDS[id]}") - before[id]))
        percent=$((used * 100 / ($(getconf CLK_TCK) * SECONDS_IDLE)))
        echo "$1: node $id used $used ticks in $SECONDS_IDLE s: $percent % of a core"
        [ "$percent" -lt 5 ] || fail "an idle node uses $percent % of a core"
    done
}

for layout in 'NumCPUs=1' 'ThreadConfig=main,rep,ldm={count=4},tc={count=2},recv'; do
    say "$layout"
    start_cluster 2 2 "$layout"
    idle "after the start"
    want 0 "$BIN/bench_ndb" --connect="$CS" --rows=20000 create
    want 0 "$BIN/bench_ndb" --connect="$CS" --rows=20000 load
    want 0 "$BIN/bench_ndb" --connect="$CS" --rows=20000 --threads=4 --seconds=1 read
    idle "after work"
    stop_cluster
done
