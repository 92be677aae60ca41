#!/bin/bash
# check_cplusplus.sh -- the public headers, and a program that uses them, compile without a warning in C++ and in every C.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: check_cplusplus.sh SOURCE_DIR. Compilers that are not installed are left out; exit code 77 without any.
cd "${1:?usage: check_cplusplus.sh SOURCE_DIR}" || exit 2
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
failed=0
done=0

check() { # COMMAND...
    command -v "$1" >/dev/null || return 0
    done=$((done + 1))
    "$@" >"$box/out" 2>&1 && return 0
    echo "$*"
    cat "$box/out"
    failed=1
}

# Clang's everything, without what contradicts C++11, the platform's ABI, or calls every array of C unsafe.
everything="-Weverything -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-padded -Wno-unsafe-buffer-usage -Wno-unknown-warning-option"
gnu="-Wall -Wextra -Wpedantic -Wold-style-cast -Wuseless-cast -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wcast-align -Wundef
    -Wzero-as-null-pointer-constant -Wmissing-declarations -Wredundant-decls -Wextra-semi -Wduplicated-cond -Wlogical-op"
for standard in c++11 c++17 c++20; do
    # shellcheck disable=SC2086
    check g++ -fsyntax-only -std=$standard $gnu -Werror -Iinclude tests/cluster/cplusplus_client.cc
    # shellcheck disable=SC2086
    check clang++ -fsyntax-only -std=$standard $everything -Werror -Iinclude tests/cluster/cplusplus_client.cc
done

# Every header by itself, as C++ and as C.
for header in include/ndb/*.h; do
    printf '#include "%s"\n#include "%s"\nextern int a_file_has_something;\n' "$PWD/$header" "$PWD/$header" >"$box/header.cc"
    cp "$box/header.cc" "$box/header.c"
    check g++ -fsyntax-only -std=c++98 -Wall -Wextra -Werror -Iinclude "$box/header.cc"
    # shellcheck disable=SC2086
    check g++ -fsyntax-only -std=c++17 $gnu -Werror -Iinclude "$box/header.cc"
    # shellcheck disable=SC2086
    check clang++ -fsyntax-only -std=c++17 $everything -Werror -Iinclude "$box/header.cc"
    check gcc -fsyntax-only -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wcast-qual -Werror -Iinclude "$box/header.c"
    check gcc -fsyntax-only -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wcast-qual -Werror -Iinclude "$box/header.c"
    check gcc -fsyntax-only -std=c2x -Wall -Wextra -Wpedantic -Wconversion -Wcast-qual -Werror -Iinclude "$box/header.c"
done
echo "$done compilations"
[ "$done" -gt 0 ] || exit 77
exit $failed
