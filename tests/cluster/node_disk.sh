#!/bin/bash
# node_disk.sh -- one of two data nodes has a full disk, or loses its directory while it runs and while it does not: the
# other one goes on, the node stops and names file and error, and comes back by itself when it can.
# SPDX-License-Identifier: GPL-2.0-only
# In a name space of its own, so that anybody can mount a small file system; skipped where that is not allowed.
if [ -z "${DISK_FULL_INSIDE:-}" ]; then
    unshare -rm true 2>/dev/null || { echo "no name space of its own: skipped"; exit 77; }
    DISK_FULL_INSIDE=1 exec unshare -rm "$0" "$@"
fi
ROUNDS=${DISK_ROUNDS:-1}
TEST_DEADLINE=${TEST_DEADLINE:-$((240 + ROUNDS * 240))}
source "$(dirname "$0")/cluster.sh"
source "$HERE/failover.sh"
LINES='StopOnError=0
TimeBetweenLocalCheckpoints=1'

# Node 2 has its files, but not its log, on a small file system.
MORE_CONFIG=own_disk
own_disk() { sed -i "s#^NodeId=2\$#&\nFileSystemPath=$BOX/disk#" "$BOX/config.ini"; }
FS=$BOX/disk/ndb_2_fs

trap 'code=$?; umount -l "$BOX/disk" 2>/dev/null; (exit $code); cleanup' EXIT

step() {
    say "$@"
    # shellcheck disable=SC2178 # No array here.
    lines=$(wc -l <"$BOX/node2/ndb_2_out.log")
    start_bank 0 --strict
    sleep 0.7
}
step_ends() {
    sleep 0.5
    end_bank
    gap_at_most 3000
    [ "$FAILED" -eq 0 ] || exit 1
}

# What node 2 has said since the step began.
said() { tail -n "+$((lines + 1))" "$BOX/node2/ndb_2_out.log" >"$BOX/said"; }

# stops PATTERN: node 2 ends within a minute, with a code, and its log matches the pattern.
stops() {
    for _ in $(seq 600); do
        said
        grep -q 'Forced node shutdown' "$BOX/said" && break
        sleep 0.1
    done
    grep 'Forced node shutdown' "$BOX/said" | head -n 1 | sed 's/.*Caused by/   /' | cut -c1-300
    grep -qE 'Caused by error 23[0-9][0-9]' "$BOX/said" || fail "it does not stop: $(tail -n 3 "$BOX/said")"
    grep -qE -- "$1" "$BOX/said" || fail "no file and error ($1): $(tail -n 5 "$BOX/said")"
    [ "$FAILED" -eq 0 ] || exit 1
}

# The node makes files meanwhile: a directory that gets one at the wrong moment is not removed at the first try.
delete_files() { for _ in $(seq 1000); do rm -rf "$FS" 2>/dev/null && return; done; die "cannot remove $FS"; }

# Writes until node 2 has gone, so that its log fills up. What was found before is where it begins.
fill_until_stop() { # PATTERN
    mkdir -p "$BOX/kill"
    "$BIN/kill_client" run "$BOX/kill" 4 60 >"$BOX/record.out" 2>&1 &
    local record=$!
    PIDS+=("$record")
    stops "$1"
    wait_text record.out '^running' # Earlier the signal would end it without a word.
    sleep 0.5
    kill -TERM "$record"
    wait "$record" || fail "the client with the record fails: $(tail -n 3 "$BOX/record.out")"
}

mkdir -p "$BOX/disk"
mount -t tmpfs -o size=100m none "$BOX/disk" || die "no small file system"
start_daemons 2 2

for ((round = 1; round <= ROUNDS; round++)); do
    step "the disk of node 2 is full"
    dd if=/dev/zero of="$BOX/disk/filler" bs=64k 2>/dev/null
    fill_until_stop '(D1|REDO|LCP)/[^ ]+.*2810'
    [ "$(status_of 1)" = started ] || fail "node 1 is not started any more"
    rm "$BOX/disk/filler"
    wait_started 2
    step_ends
    want 0 "$BIN/kill_client" verify "$BOX/kill"

    step "the directory of node 2 is deleted while it runs"
    delete_files
    fill_until_stop '(D1|REDO|LCP)(/[^ ]+)?.*28[0-9][0-9]'
    wait_started 2
    step_ends
    want 0 "$BIN/kill_client" verify "$BOX/kill"

    step "the directory of node 2 is deleted, and its process killed"
    delete_files
    kill -9 "$(worker_of 2)"
    for _ in $(seq 300); do [ "$(status_of 2)" != started ] && break; sleep 0.02; done
    wait_started 2
    step_ends

    step "what came back is all there: node 1 is killed"
    kill -9 "$(worker_of 1)"
    for _ in $(seq 300); do [ "$(status_of 1)" != started ] && break; sleep 0.02; done
    wait_started 1
    step_ends
    for id in 1 2; do NODE_PIDS[id]=$(worker_of "$id"); done
    LOG_OF=log pools_are_empty
    nothing_grows
    NODE_PIDS=()
    [ "$FAILED" -eq 0 ] || exit 1
done
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
ended "$MGM_PID" || fail "the management server ends with exit code $?"
for _ in $(seq 900); do [ -n "$(ours "${PIDS[@]}")" ] || break; sleep 0.1; done
umount "$BOX/disk"
