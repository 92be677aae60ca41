#!/bin/bash
# run.sh -- builds a variant of the whole tree and runs the unit tests (and 50 seeds) with it.
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh address|undefined|thread|valgrind|clang|fuzz SOURCE_DIR BUILD_DIR [SECONDS]
#
#   address undefined thread   gcc's sanitizer: unit tests, then sim --seeds=1..50
#   valgrind                   memcheck over the unit tests, as they are built in BUILD_DIR
#   clang                      the whole tree compiles with clang's warnings
#   fuzz                       every libFuzzer target, SECONDS each (60)
#
# The variant is built in BUILD_DIR/variant-<name> and kept there: the next run builds what has changed.
set -u
variant=${1:?usage: run.sh address|undefined|thread|valgrind|clang|fuzz SOURCE_DIR BUILD_DIR [SECONDS]}
source_dir=${2:?source directory}
build_dir=${3:?build directory}
seconds=${4:-60}
jobs=$(nproc)
dir=$build_dir/variant-$variant
targets=() # None: all.

build() { # options of cmake
    mkdir -p "$dir"
    cmake -S "$source_dir" -B "$dir" -G Ninja "$@" >"$dir/configure.log" 2>&1 || {
        tail -n 30 "$dir/configure.log"
        echo "$variant: configuring failed"
        exit 1
    }
    ninja -C "$dir" -j "$jobs" "${targets[@]}" >"$dir/build.log" 2>&1 || {
        grep -B 2 -A 20 'FAILED' "$dir/build.log" | head -n 60
        echo "$variant: the build failed"
        exit 1
    }
}

# Programs that a unit test starts are of the variant as well, as all of them are built here.
unit_tests() {
    (cd "$dir" && ctest -L '^unit$' -j "$jobs" --timeout 1200 --output-on-failure) || exit 1
}

sanitizer() {
    build -DSAN="$variant" -DCMAKE_BUILD_TYPE=RelWithDebInfo
    export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0
    export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
    unit_tests
    # One by one: a run over many seeds gives each of them the time that it needs without a sanitizer.
    seq 1 50 | xargs -P "$jobs" -I{} sh -c \
        'timeout 900 "$0" --seed={} >"$1.{}" 2>&1 || { tail -n 40 "$1.{}"; echo "seed {} failed"; exit 1; }' \
        "$dir/bin/sim" "$dir/sim.log" || exit 1
    echo "seeds 1..50: ok"
}

memcheck() {
    local failed=0 list test
    list=$(cd "$build_dir" && ctest -N -L '^unit$' | sed -n 's/^ *Test *#[0-9]*: //p')
    for test in $list; do
        [ -x "$build_dir/bin/$test" ] || continue
        case $test in hostile_*) continue ;; esac
        if valgrind -q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=99 --fair-sched=yes \
            "$build_dir/bin/$test" >"$build_dir/valgrind.$test.log" 2>&1; then
            echo "ok      $test"
        else
            echo "FAILED  $test"
            grep -A 20 '^==' "$build_dir/valgrind.$test.log" | head -n 40
            failed=1
        fi
    done
    valgrind -q --leak-check=full --error-exitcode=99 "$build_dir/bin/hostile_signals" --signals=8000 || failed=1
    exit $failed
}

# Each target starts from an empty corpus, or from what former runs have found.
fuzz() {
    local failed=0 target name
    mapfile -t targets < <(sed -n 's/^ndb_fuzz(\([a-z_]*\) .*/\1/p' "$source_dir/tests/fuzz/CMakeLists.txt")
    build -DFUZZ=ON -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo
    for target in "$dir"/bin/fuzz_*; do
        name=$(basename "$target")
        mkdir -p "$dir/corpus/$name" "$dir/found"
        if "$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=8192 -print_final_stats=1 \
            -artifact_prefix="$dir/found/$name-" "$dir/corpus/$name" >"$dir/$name.log" 2>&1; then
            echo "ok      $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$name.log") inputs"
        else
            echo "FAILED  $name: see $dir/$name.log and $dir/found"
            tail -n 40 "$dir/$name.log"
            failed=1
        fi
    done
    exit $failed
}

case $variant in
address | undefined | thread) sanitizer ;;
valgrind) memcheck ;;
clang) build -DCMAKE_C_COMPILER=clang && echo "clang compiles everything" ;;
fuzz) fuzz ;;
*)
    echo "unknown variant $variant"
    exit 2
    ;;
esac
