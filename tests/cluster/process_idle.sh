#!/bin/bash
# process_idle.sh -- a node without work uses no CPU to speak of, in both thread layouts, also after it was busy; with
# files it writes a little, but they do not grow.
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
        [ "$percent" -lt 3 ] || fail "an idle node uses $percent % of a core"
    done
}

# Kilobytes of all files of the data nodes, logs included.
disk() { du -sk --apparent-size "$BOX"/node* | awk '{ sum += $1 } END { print sum }'; }

for layout in 'NumCPUs=1' 'ThreadConfig=main,rep,ldm={count=4},tc={count=2},recv'; do
    say "without files, $layout"
    start_cluster 2 2 "Diskless=1
$layout"
    idle "after the start"
    want 0 "$BIN/bench_ndb" --connect="$CS" --rows=20000 create
    want 0 "$BIN/bench_ndb" --connect="$CS" --rows=20000 load
    want 0 "$BIN/bench_ndb" --connect="$CS" --rows=20000 --threads=4 --seconds=1 read
    idle "after work"
    stop_cluster

    say "with files, $layout"
    start_cluster 2 2 "$layout"
    idle "after the start"
    want 0 "$BIN/bench_ndb" --connect="$CS" --rows=20000 create
    want 0 "$BIN/bench_ndb" --connect="$CS" --rows=20000 load
    sleep 5 # A last checkpoint, perhaps.
    # shellcheck disable=SC2178 # No array here.
    before=$(disk)
    want 0 "$BIN/ndb_mgm" -e '1 REPORT REDO'
    written=$(awk '/#Records/ { sum += $4 } END { print sum }' "$BOX/out")
    idle "after work"
    want 0 "$BIN/ndb_mgm" -e '1 REPORT REDO'
    # shellcheck disable=SC2128
    echo "disk: $before KB, then $(disk) KB; $(($(awk '/#Records/ { sum += $4 } END { print sum }' "$BOX/out") - written)) bytes of redo log written"
    [ "$(disk)" -le $((before + 16)) ] || fail "files grow while nothing is done"
    # Without commits there are only the pages that a global checkpoint needs.
    want 0 "$BIN/ndb_mgm" -e '1 REPORT REDO'
    [ "$(awk '/#Records/ { sum += $4 } END { print sum }' "$BOX/out")" -le $((written + SECONDS_IDLE * 65536)) ] ||
        fail "the redo log is written while nothing is done"
    stop_cluster
done
