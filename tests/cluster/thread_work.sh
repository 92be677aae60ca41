# thread_work.sh -- every kind of work on a running cluster, all values verified; sourced by the tests of threads.
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
ROWS=${ROWS:-20000}
SECONDS_EACH=${SECONDS_EACH:-0.3}

bench() { # MODE ARGUMENTS: every value that is read is verified by the program.
    want 0 "$BIN/bench_ndb" --connect="$CS" --rows="$ROWS" --seconds="$SECONDS_EACH" "$@"
    printf '%s: ' "$*"
    tail -n 1 "$BOX/out"
}

work() {
    bench create
    bench load
    bench read --threads=4
    bench read --threads=2 --batch=100
    bench write --threads=4
    bench write --threads=2 --batch=100
    bench txn --threads=3 --batch=10
    bench txn --batch=500
    bench scan --threads=2
    # All at once: batches, single rows, transactions and scans share queues and send buffers.
    local pids=() pid
    for mode in 'read --threads=2 --batch=64' 'write --threads=3' 'scan' 'txn --threads=2 --batch=20'; do
        # shellcheck disable=SC2086
        run "$BIN/bench_ndb" --connect="$CS" --rows="$ROWS" --seconds="$SECONDS_EACH" $mode \
            >"$BOX/all.${#pids[@]}" 2>&1 &
        pids+=("$!")
    done
    for pid in "${!pids[@]}"; do
        wait "${pids[pid]}" || { fail "bench_ndb in the mix"; cat "$BOX/all.$pid"; }
    done
    bench scan
    bench read --batch=100
    load_and_compare 2000
    drop_awkward
    for style in blocking batch async event_loop scan; do
        want 0 "$BIN/example_$style" "$CS"
    done
}
