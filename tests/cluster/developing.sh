#!/bin/bash
# developing.sh -- the program of docs/developing.md, taken out of the page: compiled as the page says, run, and run while a data
# node is killed.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: developing.sh BIN_DIR SOURCE_DIR BUILD_DIR
SOURCE=$(readlink -f "${2:?usage: developing.sh BIN_DIR SOURCE_DIR BUILD_DIR}")
BUILD=$(readlink -f "${3:?usage: developing.sh BIN_DIR SOURCE_DIR BUILD_DIR}")
source "$(dirname "$0")/cluster.sh"
page=$SOURCE/docs/developing.md

# The library where an installation would have it: as far as ndbclient.pc says from its own place.
library=$BOX/prefix/of/an/installation/lib
mkdir -p "$library/pkgconfig"
cp "$BUILD/api/ndbclient.pc" "$library/pkgconfig/"
ln -s "$BUILD"/api/libndbclient.so* "$library/"
export PKG_CONFIG_PATH=$library/pkgconfig
headers=$(pkg-config --variable=includedir ndbclient)
mkdir -p "$headers"
ln -s "$SOURCE/include/ndb" "$headers/ndb"
export LD_LIBRARY_PATH=$library

block() { awk -v kind="\`\`\`$1" '$0 == kind { on = 1; next } /^```/ { on = 0 } on' "$page"; }
block c >bank.c
mapfile -t commands < <(block console | sed -n 's/^\$ //p')
[ "${#commands[@]}" -eq 3 ] || die "the page has other commands than compile, run, run longer"

say "compiled as the page says"
want 0 bash -c "${commands[0]} -Werror"
[ "$FAILED" -eq 0 ] || exit 1

say "run"
start_cluster 2 2
want 0 bash -c "${commands[1]/127.0.0.1:1186/$CS}"
want_text out '^account 1: owner 1 has 1000$'
want_text out '^12 owners from "owner 1" to "owner 2"$'
want_text out '^[0-9]+ have more than 1000; together all have 100000$'
want_text out '^1[0-9]{3} transfers, [0-9]+ refused, 0 unknown$'
want_text out '^1000 rows written asynchronously$'
want_text out '^account 5000 is on disk: 1$'
want_text out '^ok$'

say "run while a data node is killed"
run stdbuf -oL bash -c "${commands[2]/127.0.0.1:1186/$CS}" >"$BOX/bank.out" 2>"$BOX/err" &
bank=$!
PIDS+=("$bank")
wait_text bank.out 'together all have' # Then it works.
kill -9 "${NODE_PIDS[2]}"
ended "$bank" || fail "the bank ends with $? when a node is lost: $(cat "$BOX/err")"
cp "$BOX/bank.out" "$BOX/out"
cat "$BOX/out"
want_text out '^ok$'
unset 'NODE_PIDS[2]'
stop_cluster
