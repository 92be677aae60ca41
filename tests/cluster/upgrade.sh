#!/bin/bash
# upgrade.sh -- a cluster of the previous version is upgraded under load as docs/operating.md says; every mixture on the way works,
# and a node may step back, or says why not.
# SPDX-License-Identifier: GPL-2.0-only
# usage: upgrade.sh BIN_DIR SOURCE_DIR; exit code 77 where the previous version's source cannot be had. PREVIOUS_BIN, STRANGER_BIN:
# its programs, and an ndbmtd of it that speaks another link protocol, which are built otherwise.
#
# The previous version is the newest tag v* that leads to this commit. Without tags, or in a clone that has none of them, it is
# the commit that packaging/previous_version names.
TEST_DEADLINE=${TEST_DEADLINE:-3000}
SOURCE=$(readlink -f "${2:?usage: upgrade.sh BIN_DIR SOURCE_DIR}")
source "$(dirname "$0")/cluster.sh"
source "$HERE/failover.sh"
LINES='StopOnError=0'
BANK_SECONDS=${BANK_SECONDS:-8}
NEW=$BIN

build_previous() {
    local commit generator=()
    commit=$(git -C "$SOURCE" describe --tags --abbrev=0 --match 'v*' 'HEAD^' 2>/dev/null) ||
        commit=$(sed -n 's/^commit=//p' "$SOURCE/packaging/previous_version")
    if ! git -C "$SOURCE" cat-file -e "$commit^{commit}" 2>/dev/null; then
        echo "the previous version ($commit) is not in this clone: git fetch --unshallow --tags"
        exit 77
    fi
    say "the previous version: $(git -C "$SOURCE" log -1 --format='%h %s' "$commit")"
    mkdir "$BOX/previous"
    git -C "$SOURCE" archive "$commit" | tar x -C "$BOX/previous"
    command -v ninja >/dev/null && generator+=(-G Ninja)
    command -v ccache >/dev/null && generator+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    # What another run has compiled in another directory counts, too.
    export CCACHE_BASEDIR=$BOX CCACHE_NOHASHDIR=1
    (cd "$BOX/previous" && cmake -S . -B build -DNDB_TESTS=OFF "${generator[@]}" &&
        cmake --build build -j "$(nproc)" && cmake --build build --target failover_client) >build.out 2>&1 ||
        die "the previous version cannot be built: $(tail -n 20 build.out)"
    OLD=$BOX/previous/build/bin
    sed -i -E 's/(#define LINK_PROTOCOL_VERSION(_MIN)?) +[0-9]+u/\1 99u/' "$BOX/previous/transporters/link.h"
    (cd "$BOX/previous" && cmake -S . -B stranger -DNDB_TESTS=OFF "${generator[@]}" &&
        cmake --build stranger -j "$(nproc)" --target ndbmtd) >build.out 2>&1 ||
        die "the stranger cannot be built: $(tail -n 20 build.out)"
    STRANGER=$BOX/previous/stranger/bin
}

# with DIR COMMAND...: a function of the tests with the programs of this version.
with() {
    local BIN=$1
    shift
    "$@"
}
version_of() { [ "$1" = "$OLD" ] && echo old || echo new; }

runs() { # ID DIR: the node runs the program of this version
    local exe
    exe=$(readlink "/proc/$(worker_of "$1")/exe")
    [ "$exe" = "$2/ndbmtd" ] || fail "node $1 runs $exe and not $2/ndbmtd"
}

stop_node() { # ID: as the page says, by the new console
    local angel
    angel=$(angel_of "$1")
    want 0 "$NEW/ndb_mgm" -e "$1 STOP"
    for _ in $(seq 900); do [ -z "$(ours "$angel")" ] && return; sleep 0.1; done
    fail "the angel of node $1 stays"
}
change_node() { # ID DIR
    say "node $1 becomes $(version_of "$2")"
    stop_node "$1"
    with "$2" start_daemon "$1"
    want 0 "$NEW/ndb_waiter" --timeout=140
    wait_started "$1"
    runs "$1" "$2"
}
change_mgmd() { # DIR
    say "the management server becomes $(version_of "$1")"
    kill -TERM "$MGM_PID"
    ended "$MGM_PID" || fail "the management server ends with exit code $?"
    with "$1" start_mgm
    wait_mgm || die "the management server does not start"
    for _ in $(seq 900); do "$1/ndb_mgm" -e SHOW | grep -q '^Arbitrator:' && return; sleep 0.1; done
    fail "SHOW never has the line Arbitrator:"
}

# Consoles, tools and a bank of each version; those that change the schema, too.
clients() {
    local dir
    for dir in "$OLD" "$NEW"; do
        say "clients of the $(version_of "$dir") version"
        want 0 "$dir/ndb_mgm" -e SHOW
        want 0 "$dir/ndb_mgm" -e 'ALL STATUS'
        want_text out '^Node 1: started'
        want_text out '^Node 2: started'
        want 0 "$dir/ndb_mgm" -e 'ALL REPORT MEMORY'
        want 0 "$dir/ndb_mgm" -e 'ALL REPORT CHECKPOINT'
        want 0 "$dir/ndb_waiter" --timeout=100
        with "$dir" load_and_compare 300
        with "$dir" drop_awkward
        rows_are_there "$dir"
    done
}
banks() {
    local dir
    for dir in "$OLD" "$NEW"; do
        with "$dir" start_bank "$BANK_SECONDS" --strict
        wait_for_bank
    done
}
wait_for_bank() {
    for _ in $(seq 900); do kill -0 "$BANK" 2>/dev/null || break; sleep 0.1; done
    end_bank
}

# Rows of the old version, with everything that text can contain, which stay to the end.
keep_rows() {
    want 0 "$OLD/ndb_create_table" --execute="${AWKWARD_TABLE/test.awkward/test.kept}"
    awkward_rows 2000 >kept.csv
    want 0 "$OLD/ndb_import" test kept.csv
    LC_ALL=C sort kept.csv >kept
    rows_are_there "$OLD"
}
rows_of() { run "$1/ndb_select_all" -d test --csv kept | LC_ALL=C sort; }
rows_are_there() { rows_of "$1" | cmp -s - kept || fail "the rows of the first version have changed"; }

lose() { # ID DIR: its process is killed, its angel starts it again, from its own files and what the other one has
    say "node $1, which is $(version_of "$2"), is killed and comes back"
    kill -9 "$(worker_of "$1")"
    for _ in $(seq 900); do [ "$(status_of "$1")" != started ] && break; sleep 0.1; done
    want 0 "$NEW/ndb_waiter" --timeout=140
    wait_started "$1"
    runs "$1" "$2"
}
start_all() { # DIR: what was shut down
    with "$1" start_mgm
    wait_mgm || die "the management server does not start"
    with "$1" start_daemon 1
    with "$1" start_daemon 2
    want 0 "$1/ndb_waiter" --timeout=140
}
shut_down() {
    local angels
    angels="$(angel_of 1) $(angel_of 2)"
    want 0 "$NEW/ndb_mgm" -e SHUTDOWN
    ended "$MGM_PID" || fail "the management server ends with exit code $?"
    for _ in $(seq 900); do [ -z "$(ours $angels)" ] && return; sleep 0.1; done
    fail "data nodes stay after SHUTDOWN"
}

# restart ID: by order of the console; until it is started again.
restart() {
    local worker now
    worker=$(worker_of "$1")
    want 0 "$NEW/ndb_mgm" -e "$1 RESTART"
    for _ in $(seq 900); do
        now=$(worker_of "$1")
        [ -n "$now" ] && [ "$now" != "$worker" ] && break
        sleep 0.1
    done
    wait_started "$1"
}

# takes FROM TO: a node that was started with one version is restarted when the other one lies under its path. It goes on with
# that one, or with its own when either does not know how to take over: then the log says so, or it is of before it was asked.
takes() {
    local expected=$2 log=$BOX/node1/ndb_1_out.log
    "$OLD/ndbmtd" --next-life=0:0:1:0:0:0:0: --version >/dev/null 2>&1 || expected=$1
    say "RESTART of a node of the $(version_of "$1") version with the $(version_of "$2") one under its path: it becomes $(version_of "$expected")"
    ln -sfn "$1" current
    stop_node 1
    with "$BOX/current" start_daemon 1
    wait_started 1
    runs 1 "$1"
    ln -sfn "$2" current
    restart 1
    runs 1 "$expected"
    [ "$1" = "$OLD" ] || [ "$expected" = "$2" ] ||
        grep -q "$BOX/current/ndbmtd was replaced, and cannot take over .* with --version): the node goes on with the program" "$log" ||
        fail "the log of node 1 does not say why it has not changed its program: $(tail -n 5 "$log")"
}

# A program that has no link protocol in common with the others joins nobody and disturbs nobody.
meet_stranger() {
    say "a data node of another link protocol is refused"
    stop_node 2
    with "$STRANGER" start_daemon 2
    wait_text node2/ndb_2_out.log 'no link to node 1 yet: refused by node 1: no common protocol version'
    wait_text node1/ndb_1_out.log 'connection of a stranger from 127\.0\.0\.1 was not accepted: no common protocol version'
    wait_text node2/ndb_2_out.log 'the start waits for nodes 1'
    wait_text mgm/ndb_49_cluster.log 'no link to node 2 yet: refused by node 2: no common protocol version'
    kill_daemons 2
    with "$NEW" start_daemon 2
    want 0 "$NEW/ndb_waiter" --timeout=140
}

# Two management servers, one after the other.
second_section() {
    SECOND=127.0.0.1:$(free_port)
    mkdir -p "$BOX/mgm50"
    printf '[ndb_mgmd]\nNodeId=50\nHostName=127.0.0.1\nPortNumber=%s\nDataDir=%s\n' "${SECOND#*:}" "$BOX/mgm50" >>"$BOX/config.ini"
}
start_server() { # ID DIR
    local dir=$BOX/mgm
    [ "$1" = 49 ] || dir=$BOX/mgm50
    "$2/ndb_mgmd" --config-file="$BOX/config.ini" --ndb-nodeid="$1" --config-dir="$dir" --nodaemon >>"$BOX/mgm.out" 2>&1 &
    SERVER[$1]=$!
    PIDS+=("$!")
}
alike() { # DIR SERVER: it sees both servers, the arbitrator and both data nodes
    run "$1/ndb_mgm" -c "$2" -e SHOW >out 2>&1
    [ "$(grep -cE '^id=(49|50)[[:space:]]+@127' out)" -eq 2 ] && grep -q '^Arbitrator:' out || return
    run "$1/ndb_mgm" -c "$2" -e 'ALL STATUS' >out 2>&1
    [ "$(grep -c '^Node [12]: started' out)" -eq 2 ]
}
servers_are_there() {
    local at dir try
    for at in "$FIRST" "$SECOND"; do
        for dir in "$OLD" "$NEW"; do
            for try in $(seq 300 -1 0); do alike "$dir" "$at" && break; sleep 0.1; done
            [ "$try" -gt 0 ] || fail "$at does not see all nodes: $(cat out)"
        done
    done
}

# An old program beside or on files of a new one: it starts, or refuses them by name and changes nothing.
step_back() { # ID
    local log=$BOX/node$1/ndb_$1_out.log size
    say "node $1 steps back"
    stop_node "$1"
    size=$(wc -c <"$log")
    with "$OLD" start_daemon "$1"
    for _ in $(seq 900); do
        if [ "$(status_of "$1")" = started ]; then
            runs "$1" "$OLD"
            echo "it has: the old version reads the files of the new one"
            return
        fi
        [ -e "$BOX/node$1/ndb_$1.pid" ] || break
        sleep 0.1
    done
    tail -c "+$size" "$log" >refused
    grep -E 'error (2372|2378|2391)' refused || fail "node $1 neither starts with old programs nor says why: $(tail -n 5 refused)"
    with "$NEW" start_daemon "$1"
    wait_started "$1"
}

STRANGER=
OLD=${PREVIOUS_BIN:-}
[ -n "$OLD" ] || build_previous
OLD=$(readlink -f "$OLD")
if [ -n "${STRANGER_BIN:-}" ]; then
    STRANGER=$BOX/stranger
    mkdir "$STRANGER"
    cp "$STRANGER_BIN/ndbmtd" "$STRANGER"
fi
[ -x "$OLD/ndbmtd" ] && [ -x "$OLD/failover_client" ] || die "$OLD has not all programs"

say "a cluster of the previous version, with rows and a bank"
with "$OLD" start_daemons 2 2
keep_rows
runs 1 "$OLD"
with "$OLD" start_bank 0 --strict

change_mgmd "$NEW"
clients
change_node 1 "$NEW"
clients
lose 2 "$OLD"
lose 1 "$NEW"
change_node 2 "$NEW"
end_bank
clients
banks

with "$NEW" start_bank 0 --strict
say "nodes of the new version are restarted by the console of the old one"
want 0 "$OLD/ndb_mgm" -e 'ROLLING RESTART'
want_text out '^All 2 data nodes have been restarted'
change_mgmd "$OLD"
clients
lose 1 "$NEW"
step_back 2
clients
change_mgmd "$NEW"
[ -z "$STRANGER" ] || meet_stranger
takes "$NEW" "$OLD"
takes "$OLD" "$NEW"
change_node 1 "$NEW"
change_node 2 "$NEW"
end_bank
banks

say "all at once: the power fails, and new programs start with old files"
shut_down
with "$OLD" start_daemons 2 2
keep_rows
mkdir kill
timeout -k 5 120 "$NEW/kill_client" run kill 4 >load.out 2>&1 &
load=$!
PIDS+=("$load")
wait_text load.out running
with "$OLD" make_durable
with "$OLD" make_checkpoint
kill_daemons 1 2
kill -TERM "$(pgrep -P "$load")" 2>/dev/null # What it waits for is answered or runs out of time.
wait "$load"
kill -TERM "$MGM_PID"
ended "$MGM_PID"
start_all "$NEW"
runs 1 "$NEW"
want 0 "$NEW/kill_client" verify kill
cat out
clients
shut_down
start_all "$NEW"
rows_are_there "$NEW"
shut_down

say "two management servers, one after the other, then the data nodes"
write_config 2 2 "$LINES"
FIRST=$CS
second_section
declare -A SERVER
start_server 49 "$OLD"
start_server 50 "$OLD"
export NDB_CONNECTSTRING=$FIRST,$SECOND
with "$OLD" start_daemon 1
with "$OLD" start_daemon 2
want 0 "$OLD/ndb_waiter" --timeout=140
with "$OLD" start_bank 0 --strict
servers_are_there
for id in 49 50; do
    say "management server $id becomes new"
    kill -TERM "${SERVER[$id]}"
    ended "${SERVER[$id]}" || fail "management server $id ends with exit code $?"
    start_server "$id" "$NEW"
    servers_are_there
done
for id in 1 2; do change_node "$id" "$NEW"; done
servers_are_there
end_bank
