#!/bin/sh
# compilers.sh SOURCE COUNT -- the first COUNT seeds give equal hashes under gcc and clang, optimised and not.
# SPDX-License-Identifier: GPL-2.0-only
set -eu
source_dir=$1
count=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build() { # name compiler type
    cmake -S "$source_dir" -B "$work/$1" -G Ninja -DCMAKE_C_COMPILER="$2" -DCMAKE_BUILD_TYPE="$3" >/dev/null
    ninja -C "$work/$1" sim >"$work/log" || {
        grep -A 20 FAILED "$work/log"
        return 1
    }
    "$work/$1/bin/sim" --seeds=1.."$count" --jobs=2 --hash | sort -n >"$work/$1.hashes"
}
build gcc gcc RelWithDebInfo
build clang clang RelWithDebInfo
build debug gcc Debug
test "$(wc -l <"$work/gcc.hashes")" -eq "$count"
diff "$work/gcc.hashes" "$work/clang.hashes"
diff "$work/gcc.hashes" "$work/debug.hashes"
echo "$count seeds give equal hashes"
