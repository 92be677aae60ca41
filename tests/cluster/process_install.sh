#!/bin/bash
# process_install.sh -- applications are built against an installation that was moved, with nothing but pkg-config or CMake's
# find_package(), shared and static.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: process_install.sh BIN_DIR SOURCE_DIR BUILD_DIR
SOURCE=${2:?usage: process_install.sh BIN_DIR SOURCE_DIR BUILD_DIR}
BUILD=${3:?usage: process_install.sh BIN_DIR SOURCE_DIR BUILD_DIR}
source "$(dirname "$0")/cluster.sh"

prefix=$BOX/installed
say "cmake --install"
want 0 cmake --install "$BUILD" --prefix "$BOX/before"
mv "$BOX/before" "$prefix"
for program in ndbmtd ndb_mgmd ndb_mgm ndb_import ndb_desc ndb_select_all ndb_select_count ndb_show_tables ndb_drop_table \
    ndb_waiter ndb_perror ndb_create_table ndb_create_index ndb_drop_index ndb_alter_table; do
    [ -x "$prefix/bin/$program" ] || fail "$program is not installed"
done
for file in man/man1/ndb_desc.1 man/man8/ndbmtd.8 man/man3/ndbclient.3 man/man3/ndb_execute.3 bash-completion/completions/ndb_desc; do
    [ -f "$prefix/share/$file" ] || fail "$file is not installed"
done
headers=(ndb.h base.h error.h connection.h dictionary.h value.h record.h transaction.h row.h async.h scan.h program.h member.h version.h
    mgm.h mgm_base.h mgm_report.h mgm_connection.h mgm_configuration.h mgm_order.h mgm_log.h)
for header in "${headers[@]}" errors.def; do
    [ -f "$prefix/include/ndb/$header" ] || fail "ndb/$header is not installed"
done
if command -v man >/dev/null; then # A function's name leads to its page.
    want 0 env MANPATH="$prefix/share/man" man 3 ndb_scan_next
    want_text out '^ *int ndb_scan_next\(struct ndb_scan \*scan'
fi
pkg_config=$(find "$prefix" -name ndbclient.pc)
[ -n "$pkg_config" ] || die "no ndbclient.pc is installed"
PKG_CONFIG_PATH=$(dirname "$pkg_config")
export PKG_CONFIG_PATH
library_dir=$(pkg-config --variable=libdir ndbclient)
want 0 pkg-config --modversion ndbclient
want_text out '^[0-9]+\.[0-9]+\.[0-9]+$'
[ "$library_dir" -ef "$(dirname "$PKG_CONFIG_PATH")" ] || fail "the pc file names $library_dir"

say "the examples without the source tree, with strict warnings"
mkdir -p "$BOX/application"
cp "$SOURCE"/examples/*.[ch] "$BOX/application/"
cd "$BOX/application" || die "no directory"
strict=(-std=c11 -O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wswitch-enum -Wcast-qual
    -Wpointer-arith -Wundef -Wformat=2 -Werror)
for compiler in gcc clang; do
    command -v $compiler >/dev/null || { echo "no $compiler here"; continue; }
    for example in example_*.c; do
        # shellcheck disable=SC2046
        want 0 $compiler "${strict[@]}" -o "${example%.c}.$compiler" "$example" $(pkg-config --cflags --libs ndbclient)
    done
done

say "one of them shared and static"
# shellcheck disable=SC2046
want 0 cc -std=c11 -Wall -Wextra -Werror -o shared example_batch.c $(pkg-config --cflags --libs ndbclient)
# shellcheck disable=SC2046
want 0 cc -std=c11 -Wall -Wextra -Werror -o static example_batch.c $(pkg-config --cflags ndbclient) \
    -Wl,-Bstatic -lndbclient -L"$library_dir" -Wl,-Bdynamic $(pkg-config --static --libs ndbclient | sed 's/-lndbclient//')
for header in "${headers[@]}"; do # Each is enough by itself.
    printf '#include <ndb/%s>\nint main(void) { return 0; }\n' "$header" >alone.c
    # shellcheck disable=SC2046
    want 0 cc -std=c11 -Wall -Wextra -Werror -fsyntax-only alone.c $(pkg-config --cflags ndbclient)
done
if command -v c++ >/dev/null; then # The headers are for C++ programs, too.
    printf '#include <ndb/ndb.h>\n#include <ndb/mgm.h>\nint main() { return ndb_version() == 0 || ndb_mgm_error_message(1010) == nullptr || ndb_filter_create(nullptr, nullptr) != nullptr; }\n' >cpp.cc
    # shellcheck disable=SC2046
    want 0 c++ -Wall -Wextra -Werror -o cpp cpp.cc $(pkg-config --cflags --libs ndbclient)
    want 0 env LD_LIBRARY_PATH="$library_dir" ./cpp
fi
[ "$FAILED" -eq 0 ] || exit 1
want 0 env LD_LIBRARY_PATH="$library_dir" ldd ./shared
want_text out "libndbclient\.so\.[0-9]+ => $library_dir"
want 0 ldd ./static
grep libndbclient "$BOX/out" && fail "the static program needs libndbclient.so"
nm -D --defined-only "$library_dir/libndbclient.so" | awk '$3 !~ /^ndb_/ { print $3 }' >"$BOX/symbols"
[ -s "$BOX/symbols" ] && fail "libndbclient.so shows foreign symbols: $(head -n 5 "$BOX/symbols" | tr '\n' ' ')"
nm -D --defined-only "$library_dir/libndbclient.so" | awk '{ print $3 }' | sort >"$BOX/shared_names"
nm -g --defined-only "$library_dir/libndbclient.a" | awk 'NF == 3 { print $3 }' | sort >"$BOX/static_names"
[ -s "$BOX/shared_names" ] || fail "libndbclient.so has no symbols"
cmp -s "$BOX/shared_names" "$BOX/static_names" ||
    fail "libndbclient.a has other names than libndbclient.so: $(comm -3 "$BOX/shared_names" "$BOX/static_names" | head -n 5 | tr -d '\t' | tr '\n' ' ')"

say "the same with CMake"
mkdir "$BOX/cmake"
cmake_application() { # cmake_application DIRECTORY TARGET [VERSION]: writes it.
    mkdir -p "$BOX/cmake/$1"
    cat >"$BOX/cmake/$1/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(application C)
find_package(ndbclient ${3:-1.0} REQUIRED)
add_executable(application $SOURCE/examples/example_batch.c)
target_link_libraries(application PRIVATE $2)
END
    configure=(cmake -S "$BOX/cmake/$1" -B "$BOX/cmake/$1/build" -DCMAKE_PREFIX_PATH="$prefix")
}
for kind in shared static; do
    name=ndb::ndbclient
    [ $kind = shared ] || name=ndb::ndbclient_static
    cmake_application $kind $name
    want 0 "${configure[@]}"
    want 0 cmake --build "$BOX/cmake/$kind/build"
done
want 0 ldd "$BOX/cmake/shared/build/application"
want_text out "libndbclient\.so\.[0-9]+ => $(readlink -f "$library_dir")"
want 0 ldd "$BOX/cmake/static/build/application"
grep libndbclient "$BOX/out" && fail "the static program of CMake needs libndbclient.so"
cmake_application later ndb::ndbclient 1.1 # Who was written for a later one.
want 1 "${configure[@]}"
want_text err 'version: 1\.0\.0'
# Who links the shared one needs neither pkg-config nor the headers of libuv.
cmake_application bare ndb::ndbclient
want 0 "${configure[@]}" -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
want_text out 'no ndb::ndbclient_static, for which pkg-config has to find'
want 0 cmake --build "$BOX/cmake/bare/build"
grep -rnE "$BOX/before|$BUILD" "$library_dir/cmake" "$library_dir/pkgconfig" && fail "a file names where the installation was before"
[ "$FAILED" -eq 0 ] || exit 1

say "all run against a cluster of the installed programs"
BIN=$prefix/bin
start_cluster 1 1
want 0 env LD_LIBRARY_PATH="$library_dir" ./shared "$CS"
want_text out '^ok$'
for program in ./static "$BOX/cmake/shared/build/application" "$BOX/cmake/static/build/application"; do
    want 0 "$BIN/ndb_drop_table" -d example accounts
    want 0 "$program" "$CS"
    want_text out '^ok$'
done
want 0 "$BIN/ndb_select_count" -d example accounts
want_text out '^500 records'
stop_cluster
