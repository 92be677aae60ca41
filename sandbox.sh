#!/bin/bash
# sandbox.sh -- builds the system and runs a small cluster on this machine: one management node, two data nodes.
# SPDX-License-Identifier: GPL-2.0-only
set -euo pipefail
cd "$(dirname "$0")"

BOX=$PWD/sandbox
BIN=$PWD/build/bin
PACKAGES="build-essential cmake pkg-config libuv1-dev libxxhash-dev libzstd-dev libinih-dev libedit-dev libcjson-dev libcmocka-dev libssl-dev"
TEST_PACKAGES="clang libclang-rt-14-dev valgrind libsqlite3-dev memcached libmemcached-tools python3-pymemcache python3-pylibmc python3-binary-memcached libcache-memcached-fast-perl php-cli php-memcached openssl"

usage() {
    cat <<END
usage: ./sandbox.sh COMMAND

  start    install what is missing, build, start the cluster; load the package database of this machine the first time,
           later what was there is there again
  status   what runs, and how full it is
  demo     look up, count, update in a transaction, see it through the other node; make an index while the table is
           used, read a range of it, increment one row from several threads; kill one data node after the other under
           load: the longest time without a transfer, and how the node comes back; increments by memcached's protocol
  stop     shut the cluster down in good order
  test     build and run all tests
  clean    stop, and remove sandbox/ (with the data) and build/
END
}

say() { printf '\n== %s\n' "$*"; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

install_packages() {
    local missing=""
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    say "Installing:$missing"
    as_root apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

build() {
    # shellcheck disable=SC2086
    install_packages $PACKAGES
    say "Building (build/bin)"
    cmake -S . -B build >build.cmake.log 2>&1 || { cat build.cmake.log; exit 1; }
    rm -f build.cmake.log
    cmake --build build -j "$(nproc)" -- --no-print-directory | { grep -v 'Built target' || true; }
}

free_port() { # The first port from $1 on that nobody listens on.
    local port=$1
    while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
    echo "$port"
}

# --- Processes, by the pid files that they write. ---

# A number in an old file may belong to somebody else by now, so the program is compared too.
alive() { [[ "$(readlink "/proc/$(cat "$1" 2>/dev/null)/exe")" == "$BIN"/* ]]; }

connect_string() { cat "$BOX/connectstring"; }

PID_FILES=("$BOX/mgm/ndb_49.pid" "$BOX/node1/ndb_1.pid" "$BOX/node2/ndb_2.pid")

# living: how many of the three processes run.
living() {
    local count=0 pid_file
    for pid_file in "${PID_FILES[@]}"; do
        if alive "$pid_file"; then count=$((count + 1)); fi
    done
    echo "$count"
}

running() { [ -f "$BOX/connectstring" ] && alive "${PID_FILES[0]}"; }

write_config() {
    mkdir -p "$BOX/mgm" "$BOX/node1" "$BOX/node2"
    local port
    port=$(free_port 1186)
    echo "127.0.0.1:$port" >"$BOX/connectstring"
    cat >"$BOX/config.ini" <<END
# Two data nodes with two copies of every row, on one machine. config.ini.example explains a real set-up.
[ndbd default]
NoOfReplicas=2
DataMemory=512M
HostName=127.0.0.1
# A node that fails is started again by itself.
StopOnError=0
# A log of 64 MB for each LDM thread, so that a laptop's disk does not notice. The default is 256 MB.
NoOfFragmentLogFiles=4

[ndb_mgmd]
NodeId=49
HostName=127.0.0.1
PortNumber=$port
DataDir=$BOX/mgm

[ndbd]
NodeId=1
DataDir=$BOX/node1

[ndbd]
NodeId=2
DataDir=$BOX/node2

[api]
HostName=127.0.0.1
[api]
HostName=127.0.0.1
[api]
HostName=127.0.0.1
[api]
HostName=127.0.0.1
END
}

# Starts what does not run: all three, or those that were killed.
start_cluster() {
    if [ "$(living)" = 0 ] || [ ! -f "$BOX/connectstring" ]; then
        write_config
        say "Starting one management node and two data nodes"
    else
        say "Starting what is not running any more of one management node and two data nodes"
    fi
    alive "${PID_FILES[0]}" || "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --config-dir="$BOX/mgm"
    local node
    for node in 1 2; do
        alive "${PID_FILES[$node]}" || "$BIN/ndbmtd" --ndb-connectstring="$(connect_string)" --ndb-nodeid="$node"
    done
    "$BIN/ndb_waiter" --ndb-connectstring="$(connect_string)" --timeout=60
}

# --- Real data: the package database of this machine. ---

export_packages() {
    # One line a package, seven fields. All of them are single-line in the package database.
    dpkg-query -W -f='${Package}\t${Version}\t${Architecture}\t${Section}\t${Installed-Size}\t${Depends}\t${binary:Summary}\n' |
        awk -F'\t' -v OFS='\t' 'NF == 7 && $2 != "" {
            if ($4 == "") $4 = "unknown"
            if ($5 == "") $5 = "0"
            print }' >"$BOX/package.tsv"
}

# The data of the last time is there again, unless nothing was loaded yet, or not all.
has_packages() {
    local rows
    rows=$("$BIN/ndb_select_count" --ndb-connectstring="$(connect_string)" -d sandbox package 2>/dev/null | cut -d' ' -f1)
    [ -s "$BOX/package.tsv" ] && [ "$rows" = "$(wc -l <"$BOX/package.tsv")" ]
}

load_packages() {
    local connect
    connect=$(connect_string)
    say "Loading the package database of this machine"
    export_packages
    "$BIN/ndb_drop_table" --ndb-connectstring="$connect" -d sandbox package >/dev/null 2>&1 || true # What is there of it.
    "$BIN/ndb_create_table" --ndb-connectstring="$connect" --execute="CREATE TABLE sandbox.package (
        name VARCHAR(120) NOT NULL, version VARCHAR(120) NOT NULL, architecture VARCHAR(20) NOT NULL,
        section VARCHAR(60) NOT NULL, installed_kb INT UNSIGNED NOT NULL, depends VARCHAR(4000), summary VARCHAR(500),
        PRIMARY KEY (name, architecture))"
    # No escapes are in the file; the column list says which field goes where; no dependencies are NULL.
    "$BIN/ndb_import" --ndb-connectstring="$connect" --input-type=tsv --fields-escaped-by='' --null='' \
        --columns=name,version,architecture,section,installed_kb,depends,summary sandbox "$BOX/package.tsv"
    local rows
    rows=$(wc -l <"$BOX/package.tsv")
    say "Reading them back (the file has $rows)"
    "$BIN/ndb_select_count" --ndb-connectstring="$connect" -d sandbox package
    say "An index, made online; the first lines in its order, from behind"
    "$BIN/ndb_create_index" --ndb-connectstring="$connect" -e "CREATE INDEX by_size ON sandbox.package (installed_kb)"
    "$BIN/ndb_select_all" --ndb-connectstring="$connect" -d sandbox -o -z package by_size 2>/dev/null | cut -f1-5 | sed -n 1,4p
}

# The working process of a data node: the child of the angel whose number is in the pid file.
worker_of() {
    local pid
    for pid in $(pgrep -P "$(cat "$BOX/node$1/ndb_$1.pid")"); do
        [[ "$(readlink "/proc/$pid/exe")" == "$BIN/ndbmtd" ]] && echo "$pid"
    done
}

# What the bank says of itself at its end; $1: the seconds that it worked, $2: when the node was killed.
bank_report() {
    local gap_at
    gap_at=$(sed -nE 's/.*gap at ([0-9.]+) s.*/\1/p' "$BOX/bank.out")
    awk -v seconds="$1" -v killed="$2" -v at="${gap_at:-0}" '/^failover:/ {
        for (i = 2; i <= NF; i++) { split($i, pair, "="); is[pair[1]] = pair[2] }
        near = at - killed < 1 && killed - at < 1
        printf "Longest time without a transfer: %s ms%s\n", is["gap_ms"],
            near ? ", when the node was killed" : sprintf(", %.1f s after the bank opened (the node was killed at %.1f s)", at, killed)
        printf "%d transfers, %d a second: %d failed, %d of unknown outcome, %d tried again by the client library\n",
            is["commits"], is["commits"] / seconds, is["failed"], is["unknown"], is["retries"]
    }' "$BOX/bank.out"
}

# demo_failover NODE: a bank with four tellers; the data node is killed under it, and comes back.
demo_failover() {
    local node=$1 connect bank begin opened killed old status last=started
    connect=$(connect_string)
    say "Node $node is killed while a bank of 1000 accounts makes transfers"
    NDB_CONNECTSTRING=$connect "$BIN/failover_client" --threads=4 --seconds=6 --strict >"$BOX/bank.out" 2>&1 &
    bank=$!
    until grep -q running "$BOX/bank.out"; do
        kill -0 "$bank" 2>/dev/null || { cat "$BOX/bank.out"; echo "the bank does not open"; exit 1; }
        sleep 0.02
    done
    opened=$(date +%s%N)
    sleep 2
    old=$(worker_of "$node")
    kill -9 "$old"
    begin=$(date +%s%N)
    killed=$((begin - opened))
    echo "      0 ms  kill -9 of process $old"
    while :; do
        status=$("$BIN/ndb_mgm" --ndb-connectstring="$connect" -e "$node STATUS" |
            sed -nE "s/^Node $node: //; s/ \\(ndb-.*//; s/ \\([0-9]+% .*//; \$p")
        if [ "$status" != "$last" ]; then
            printf '%7d ms  node %s: %s\n' $((($(date +%s%N) - begin) / 1000000)) "$node" "$status"
            [ "$status" != started ] || break
        fi
        last=$status
        [ $(($(date +%s%N) - begin)) -lt 60000000000 ] || { echo "node $node does not come back"; exit 1; }
        sleep 0.02
    done
    echo "It was started again by its angel process, has all rows and takes part in every write"
    wait "$bank" || { cat "$BOX/bank.out"; echo "the bank has lost money"; exit 1; }
    bank_report 6 "$(awk -v ns="$killed" 'BEGIN { print ns / 1e9 }')"
    echo "All balances are what the journal of the transfers makes of them"
}

# demo_memcached: eight programs increment one number by memcached's protocol while a data node is killed.
demo_memcached() {
    local connect port server node pid begin sum unknown value counters=()
    connect=$(connect_string)
    say "The cluster as a memcached server: eight programs \"incr seq:docId 1\" for ten seconds, and a data node is killed meanwhile"
    "$BIN/ndb_memcached" --bootstrap -e "connectstring=$connect" >"$BOX/memcached.log" 2>&1 || { cat "$BOX/memcached.log"; exit 1; }
    port=$(free_port 21211)
    "$BIN/ndb_memcached" -u "$(id -un)" -l 127.0.0.1 -p "$port" -t 2 -e "connectstring=$connect" >>"$BOX/memcached.log" 2>&1 &
    server=$!
    until grep -q 'ready: role' "$BOX/memcached.log"; do
        kill -0 "$server" 2>/dev/null || { cat "$BOX/memcached.log"; exit 1; }
        sleep 0.05
    done
    ask() { printf '%s\r\n' "$@" quit | "$BIN/mc_client" send "$port" | tr -d '\r'; }
    ask "set seq:docId 0 0 1" 0 >/dev/null
    : >"$BOX/counters"
    for _ in 1 2 3 4 5 6 7 8; do
        "$BIN/mc_client" count 10 seq:docId "$port" >>"$BOX/counters" &
        counters+=($!)
    done
    sleep 4
    pid=$(worker_of 2)
    kill -9 "$pid"
    echo "kill -9 of process $pid, data node 2"
    for pid in "${counters[@]}"; do wait "$pid" || { cat "$BOX/counters"; echo "a program could not count"; exit 1; }; done
    read -r sum unknown < <(awk '{ sum += $1; unknown += $2 } END { print sum, unknown + 0 }' "$BOX/counters")
    value=$(ask "get seq:docId" | sed -n 2p)
    echo "answered: $sum increments, $((sum / 10)) a second; not known: $unknown; seq:docId is $value"
    kill "$server"
    wait "$server" || true
    [ "$value" -ge "$sum" ] && [ "$value" -le $((sum + unknown)) ] || { echo "increments are lost"; exit 1; }
    "$BIN/ndb_select_all" -c "$connect" -d ndbmemcache demo_table | grep -E 'mkey|seq:docId'
    "$BIN/ndb_waiter" -c "$connect" --timeout=60 >/dev/null
}

demo() {
    running || { echo "The cluster is not running: ./sandbox.sh start"; exit 1; }
    local connect
    connect=$(connect_string)
    say "A lookup by key, a count by a scan, an update of several rows in one transaction, and the same through each node"
    "$BIN/example_packages" "$connect"
    say "An index is made while the table is used, a range of it, and increments of one row by several threads"
    "$BIN/example_index" "$connect"
    demo_failover 2
    demo_failover 1 # The one that leads, if it has not been killed before.
    demo_memcached
}

what_to_try() {
    cat <<END

The cluster runs. Try:
  ./sandbox.sh demo
  build/bin/ndb_mgm -c $(connect_string)                       then: SHOW, ALL STATUS, ALL REPORT MEMORY, ALL REPORT REDO, HELP
  build/bin/ndb_desc -c $(connect_string) -d sandbox package
  build/bin/ndb_select_all -c $(connect_string) -d sandbox package | head
  tail sandbox/mgm/ndb_49_cluster.log
  ./sandbox.sh stop; ./sandbox.sh start                        the data is there again
END
}

case "${1:-}" in
start)
    build
    if running && [ "$(living)" = 3 ]; then
        say "The cluster is running already"
    else
        start_cluster
        if has_packages; then
            say "The package database is there, as it was when the cluster stopped"
            "$BIN/ndb_select_count" --ndb-connectstring="$(connect_string)" -d sandbox package
        else
            load_packages
        fi
    fi
    demo
    what_to_try
    ;;
status)
    if ! running; then
        echo "The cluster is not running."
        exit 1
    fi
    "$BIN/ndb_mgm" --ndb-connectstring="$(connect_string)" -e "SHOW"
    "$BIN/ndb_mgm" --ndb-connectstring="$(connect_string)" -e "ALL STATUS"
    "$BIN/ndb_mgm" --ndb-connectstring="$(connect_string)" -e "ALL REPORT MEMORY"
    "$BIN/ndb_mgm" --ndb-connectstring="$(connect_string)" -e "ALL REPORT CHECKPOINT"
    ;;
demo) demo ;;
stop)
    if [ "$(living)" = 0 ]; then
        echo "The cluster is not running."
        exit 0
    fi
    if running; then
        "$BIN/ndb_mgm" --ndb-connectstring="$(connect_string)" -e "SHUTDOWN" || true
    else # The management server was killed: the data nodes stop in good order by themselves.
        for pid_file in "${PID_FILES[@]}"; do
            if alive "$pid_file"; then kill "$(cat "$pid_file")"; fi
        done
    fi
    for pid_file in "${PID_FILES[@]}"; do
        for _ in $(seq 300); do
            alive "$pid_file" || break
            sleep 0.1
        done
        if alive "$pid_file"; then
            echo "pid $(cat "$pid_file") did not stop in 30 s; ending it"
            kill "$(cat "$pid_file")" 2>/dev/null || true
        fi
        rm -f "$pid_file"
    done
    rm -f "$BOX/connectstring"
    echo "The cluster is down."
    ;;
test)
    # shellcheck disable=SC2086
    install_packages $TEST_PACKAGES
    command -v npm >/dev/null || install_packages nodejs npm # Of whichever source; memjs is tested with it.
    build
    say "Testing"
    ctest --test-dir build --output-on-failure -LE night -j "$(nproc)"
    ;;
clean)
    "$0" stop || true
    rm -rf "$BOX" build
    ;;
*)
    usage
    exit 2
    ;;
esac
