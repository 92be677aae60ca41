#!/bin/bash
# disk_full.sh -- the disk is full at different steps: the node stops and names file and error, or goes on as far as it can
# without new checkpoints. When there is room again it starts, with all that was declared durable.
# SPDX-License-Identifier: GPL-2.0-only
# In a name space of its own, so that anybody can mount a small file system; skipped where that is not allowed.
if [ -z "${DISK_FULL_INSIDE:-}" ]; then
    unshare -rm true 2>/dev/null || { echo "no name space of its own: skipped"; exit 77; }
    DISK_FULL_INSIDE=1 exec unshare -rm "$0" "$@"
fi
source "$(dirname "$0")/cluster.sh"

trap 'code=$?; umount -l "$BOX/node1" 2>/dev/null; (exit $code); cleanup' EXIT

# How the node ends up: "started", or "stopped".
outcome() {
    for _ in $(seq 900); do
        kill -0 "${NODE_PIDS[1]}" 2>/dev/null || { echo stopped; return; }
        "$BIN/ndb_mgm" -e 'ALL STATUS' 2>/dev/null | grep -q 'Node 1: started' && { echo started; return; }
        sleep 0.05
    done
    echo neither
}

# stopped_by_name: the node has ended with a code, and has said which file.
stopped_by_name() {
    local line
    line=$(grep 'Forced node shutdown' "$BOX/node1.out" | tail -n 1)
    echo "    ${line#*Caused by }" | cut -c1-300
    grep -q 'Caused by error 23[79][0-9]' <<<"$line" || fail "no code that says why: $line"
    grep -qE '(D1|REDO|LCP)/[^ ]+.*2810' "$BOX/node1.out" || fail "no file and error: $(tail -n 5 "$BOX/node1.out")"
}

mkdir -p "$BOX/mgm" "$BOX/node1"
write_config 1 1
start_mgm --initial
wait_mgm || die "the management server does not start"
refused=0
for kb in 2000 16384 16404 16420 17000 18500; do
    say "$kb KB"
    mount -t tmpfs -o "size=${kb}k" none "$BOX/node1" || die "no small file system"
    : >"$BOX/node1.out"
    rm -rf "$BOX/kill"
    mkdir "$BOX/kill"
    start_node 1
    if [ "$(outcome)" = started ]; then
        timeout 60 "$BIN/kill_client" run "$BOX/kill" 4 2 >"$BOX/load.out" 2>&1
        tail -n 1 "$BOX/load.out"
        before=$(last_checkpoint)
        "$BIN/ndb_mgm" -e 'ALL DUMP 7099' >/dev/null
        for _ in $(seq 100); do # It is made, or refused, or was the last thing.
            grep -q 2810 "$BOX/node1.out" && break
            kill -0 "${NODE_PIDS[1]}" 2>/dev/null || break
            now=$(last_checkpoint)
            [ "${now:-0}" -gt "${before:-0}" ] && break
            sleep 0.1
        done
        kill -0 "${NODE_PIDS[1]}" 2>/dev/null || stopped_by_name
        grep -q 2810 "$BOX/node1.out" && refused=$((refused + 1))
        kill_nodes
    else
        refused=$((refused + 1))
        stopped_by_name
        unset 'NODE_PIDS[1]'
    fi
    mount -o remount,size=200m "$BOX/node1"
    start_node 1
    want 0 "$BIN/ndb_waiter" --timeout=100
    if grep -q '^run: commits=[1-9]' "$BOX/load.out" 2>/dev/null; then
        want 0 "$BIN/kill_client" verify "$BOX/kill"
        tail -n 1 "$BOX/out"
    fi
    rm -f "$BOX/load.out"
    kill_nodes
    umount "$BOX/node1"
    [ "$FAILED" -eq 0 ] || exit 1
done

# A change of the schema asks for its room first: refused while there is none, and the node goes on.
say "CREATE TABLE and DROP TABLE on a full disk"
create_table() { run "$BIN/ndb_create_table" --execute="CREATE TABLE full.$1 (a INT UNSIGNED PRIMARY KEY, $columns)" >"$BOX/out" 2>"$BOX/err"; }
columns=$(for i in $(seq 300); do printf 'column_with_a_long_name_%s INT UNSIGNED%s' "$i" "$([ "$i" -lt 300 ] && echo ,)"; done)
mount -t tmpfs -o size=100m none "$BOX/node1" || die "no small file system"
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100
create_table t1 || fail "no table: $(cat "$BOX/out" "$BOX/err")"
dd if=/dev/zero of="$BOX/node1/filler" bs=64k 2>/dev/null # Until nothing goes any more.
created=1
while [ "$created" -lt 40 ] && create_table "t$((created + 1))"; do created=$((created + 1)); done
cat "$BOX/out" "$BOX/err" >"$BOX/told"
want_text told 2810
kill -0 "${NODE_PIDS[1]}" 2>/dev/null || fail "the node has stopped: $(tail -n 3 "$BOX/node1.out")"
want 0 "$BIN/ndb_drop_table" -d full t1
rm "$BOX/node1/filler"
create_table more || fail "no table although there is room: $(cat "$BOX/out" "$BOX/err")"
kill_nodes
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_show_tables"
[ "$(grep -cE '\bt[0-9]+\b|\bmore\b' "$BOX/out")" -eq "$created" ] || fail "other tables: $(cat "$BOX/out")"
kill_nodes
umount "$BOX/node1"
[ "$refused" -ge 4 ] || fail "the disk was full only $refused times"
