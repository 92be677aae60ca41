# thread_work.sh -- every kind of work on a running cluster, all values verified; sourced by the tests of threads.
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
ROWS=${ROWS:-20000}
SECONDS_EACH=${SECONDS_EACH:-0.3}

bench() { # MODE ARGUMENTS: every value that is read is verified by the program.
    want 0 "$BIN/bench_ndb" --connect="$CS" --rows="$ROWS" --seconds="$SECONDS_EACH" "$@"
    figures "$*" "$BOX/out"
}

figures() { # TITLE FILE: in one line
    awk -v title="$1" '/^[a-z0-9_]+ [0-9.]+$/ { line = line ", " $1 " " $2 } END { print title ": " substr(line, 3) }' "$2"
}

mix() { # MODE...: all at once; what they print is in $BOX/all.0 and so on
    local pids=() modes=("$@") pid mode
    for mode in "${modes[@]}"; do
        # shellcheck disable=SC2086
        run "$BIN/bench_ndb" --connect="$CS" --rows="$ROWS" --seconds="$SECONDS_EACH" $mode \
            >"$BOX/all.${#pids[@]}" 2>&1 &
        pids+=("$!")
    done
    for pid in "${!pids[@]}"; do
        if wait "${pids[pid]}"; then
            figures "mix, ${modes[pid]}" "$BOX/all.$pid"
        else
            fail "bench_ndb in the mix"
            cat "$BOX/all.$pid"
        fi
    done
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
    mix 'read --threads=2 --batch=64' 'write --threads=3' 'scan' 'txn --threads=2 --batch=20'
    bench scan
    bench read --batch=100
    load_and_compare 2000
    drop_awkward
    for style in blocking batch async event_loop scan; do
        want 0 "$BIN/example_$style" "$CS"
    done
}
