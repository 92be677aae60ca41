#!/bin/bash
# run.sh -- builds variants of the whole tree and runs the unit tests (and 50 seeds) with them.
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh PART SOURCE_DIR BUILD_DIR [SECONDS]
#
#   address undefined          gcc's sanitizer (address,undefined: both in one build): unit tests, then sim --seeds=1..50;
#                              address: also 20,000 attacks on the sockets of real processes, 200,000 damaged requests to
#                              ndb_memcached of each kind
#   thread                     unit tests that start threads or processes, data nodes with many threads, and ndb_memcached
#                              with its clients: all other tests, and the simulator, have one thread, in which nothing races
#   valgrind                   memcheck over the unit tests
#   clang                      the whole tree compiles with clang's warnings
#   fuzz                       every libFuzzer target, SECONDS each (60)
#   all                        each of them, one after the other; a summary at the end
#
# A variant is built in BUILD_DIR/variant-PART and kept there: the next run builds what has changed.
# Environment: JOBS (number of CPUs), SEEDS (50), ATTACKS (20000).
set -u
usage="usage: run.sh address|undefined|address,undefined|thread|valgrind|clang|fuzz|all SOURCE_DIR BUILD_DIR [SECONDS]"
part=${1:?$usage}
source_dir=${2:?$usage}
build_dir=${3:?$usage}
seconds=${4:-60}
jobs=${JOBS:-$(nproc)}
seeds=${SEEDS:-50}
attacks=${ATTACKS:-20000}
dir=$build_dir/variant-${part/,/+} # No comma: the linker splits its options there.
targets=() # None: all.

say() { echo "$(date +%T) $part: $*"; }

build() { # options of cmake
    say "building"
    mkdir -p "$dir"
    cmake -S "$source_dir" -B "$dir" -G Ninja "$@" >"$dir/configure.log" 2>&1 || {
        tail -n 30 "$dir/configure.log"
        say "configuring failed"
        exit 1
    }
    ninja -C "$dir" -j "$jobs" "${targets[@]}" >"$dir/build.log" 2>&1 || {
        grep -B 2 -A 20 'FAILED' "$dir/build.log" | head -n 60
        say "the build failed"
        exit 1
    }
}

# each NAME...: runs `one NAME` for all of them, so many at a time, and prints a line as each ends. A test that needs
# longer than LIMIT seconds has failed. `one` prints nothing but what is wrong.
each() {
    export -f one
    export dir build_dir
    printf '%s\n' "$@" | xargs -P "$jobs" -I{} bash -c '
        begin=$SECONDS
        out=$(one "$1" 2>&1) && echo "ok      $1 ($((SECONDS - begin)) s)" && exit
        printf "FAILED  %s (%s s)\n%s\n" "$1" "$((SECONDS - begin))" "$(tail -n 60 <<<"$out")"
        exit 1' each {}
}

# Programs that a unit test starts are of the variant as well, as all of them are built here.
unit_tests() { # option of ctest...
    say "unit tests"
    (cd "$dir" && ctest -L '^unit$' -j "$jobs" --output-on-failure --no-tests=error "$@") || exit 1
}

# Unit tests with several threads, as a regular expression: they, or the client library, start one; or they start programs.
with_threads() {
    local test starts='^ +U (pthread_create|fork|vfork|exec[a-z]+|posix_spawnp?|popen|system|uv_(thread_create|queue_work|spawn)|ndb_[a-z_]+)(@|$)'
    for test in "$dir"/bin/test_*; do
        nm -u "$test" | grep -qE "$starts" && basename "$test"
    done | paste -sd '|' | sed 's/.*/^(&)$/'
}

# One process a seed: a run over many gives each of them the time that it needs without a sanitizer.
seeds() {
    one() { timeout 1800 "$dir/bin/sim" "--seed=$1"; }
    say "seeds 1..$seeds"
    each $(seq 1 "$seeds") || exit 1
}

# What is freed is kept for a while by the sanitizer: only little of it, or the processes seem to grow.
attacked() {
    say "$attacks attacks on real processes"
    ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=1 TEST_DEADLINE=1800 \
        "$source_dir/tests/hostile/hostile_sockets.sh" "$dir/bin" "$attacks" || exit 1
}

memcached_attacked() {
    say "damaged requests to ndb_memcached"
    ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=32 REQUESTS=200000 GROWTH_MB=256 TEST_DEADLINE=1800 \
        "$source_dir/tests/cluster/memcached_hostile.sh" "$dir/bin" || exit 1
}

# Real processes with several threads.
raced() {
    say "data nodes with many threads, under load"
    "$source_dir/tests/cluster/process_threads_tsan.sh" "$dir/bin" || exit 1
    say "clients of ndb_memcached"
    "$source_dir/tests/cluster/memcached_tsan.sh" "$dir/bin" || exit 1
}

sanitizer() {
    build -DSAN="$part" -DCMAKE_BUILD_TYPE=RelWithDebInfo
    export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0
    export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
    if [ "$part" = thread ]; then
        [[ $(with_threads) == *test_kernel* ]] || { say "no unit test is found to have threads"; exit 1; }
        unit_tests -R "$(with_threads)"
        raced
        return
    fi
    unit_tests
    seeds
    [[ $part != *address* ]] || { attacked && memcached_attacked; }
}

# The attacks in one process are as many as memcheck can do in a minute or two, and the tests that let nodes die after
# each signal, records be refused one by one, or many seeds run take every third (tests/unit/support/sparse.h).
memcheck() {
    local list
    export TEST_SPARSE=3
    one() {
        local arguments=()
        case $1 in
        hostile_signals) arguments=(--signals=8000) ;;
        hostile_members) arguments=(--episodes=10) ;;
        esac
        timeout 3600 valgrind -q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=99 \
            --fair-sched=yes "$dir/bin/$1" "${arguments[@]}"
    }
    build -DCMAKE_BUILD_TYPE=RelWithDebInfo
    list=$(cd "$dir" && ctest -N -L '^unit$' | sed -n 's/^ *Test *#[0-9]*: //p')
    list=$(for test in $list; do [ ! -x "$dir/bin/$test" ] || echo "$test"; done)
    say "memcheck over $(wc -w <<<"$list") unit tests"
    each $list || exit 1
}

# Each target starts from an empty corpus, or from what former runs have found.
fuzz() {
    mapfile -t targets < <(sed -n 's/^ndb_fuzz(\([a-z_]*\) .*/\1/p' "$source_dir/tests/fuzz/CMakeLists.txt")
    export seconds
    one() {
        mkdir -p "$dir/corpus/$1" "$dir/found"
        "$dir/bin/$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=8192 -print_final_stats=1 \
            -artifact_prefix="$dir/found/$1-" "$dir/corpus/$1" >"$dir/$1.log" 2>&1 && return
        tail -n 40 "$dir/$1.log"
        return 1
    }
    build -DFUZZ=ON -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo
    say "${#targets[@]} targets, $seconds s each"
    each "${targets[@]}" || exit 1
    for target in "${targets[@]}"; do
        echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$target.log") inputs"
    done
}

all() {
    local failed=0 one results=()
    for one in address undefined thread valgrind clang fuzz; do
        if "$0" "$one" "$source_dir" "$build_dir" "$seconds"; then
            results+=("$one: ok")
        else
            results+=("$one: FAILED")
            failed=1
        fi
    done
    say "summary"
    printf '%s\n' "${results[@]}"
    exit $failed
}

case $part in
address | undefined | address,undefined | thread) sanitizer ;;
valgrind) memcheck ;;
clang) build -DCMAKE_C_COMPILER=clang ;;
fuzz) fuzz ;;
all) all ;;
*)
    echo "$usage"
    exit 2
    ;;
esac
say "ok"
