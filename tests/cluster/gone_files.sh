#!/bin/bash
# gone_files.sh -- two nodes, one of which has its rows from the other: in no log of its own. All are killed, and its
# checkpoints are removed. It names what is missing and gets all rows from the other, and shows it when it is alone
# afterwards. Then ROUNDS times for each of: a directory or all deleted, a file emptied, a file or directory of an earlier
# time; each after a kill amid load: it says that something is wrong, or it has all rows.
# SPDX-License-Identifier: GPL-2.0-only
ROUNDS=${ROUNDS:-0} # Of each way; 0: one round, in which the way is drawn.
TEST_DEADLINE=${TEST_DEADLINE:-$((900 + ROUNDS * 180))}
source "$(dirname "$0")/cluster.sh"
source "$HERE/failover.sh"
LINES='StopOnError=0'
LOG_OF=daemons
SEED=${SEED:-$$}
RANDOM=$SEED
FS=$BOX/node2/ndb_2_fs

# kill -9 of all, at one moment.
kill_daemons() { # id...
    local id pids=()
    for id in "$@"; do pids+=("$(angel_of "$id")" $(worker_of "$id")); done
    kill -STOP "${pids[@]}" 2>/dev/null
    kill -9 "${pids[@]}" 2>/dev/null
    for id in "$@"; do
        for _ in $(seq 900); do [ -z "$(ours "${pids[@]}")" ] && break; sleep 0.1; done
        rm -f "$BOX/node$id/ndb_$id.pid"
    done
}

# What load_and_kill kills: here the nodes have angels.
kill_nodes() { kill_daemons 1 2; }

start_both() {
    : >"$BOX/node2/ndb_2_out.log"
    start_daemon 1
    start_daemon 2
    wait_started 1
    wait_started 2
}

all_rows() { # what
    want 0 "$BIN/kill_client" verify "$BOX/kill"
    want 0 "$BIN/ndb_select_all" -d test --csv awkward
    LC_ALL=C sort "$BOX/out" >"$BOX/actual"
    cmp -s "$BOX/expected" "$BOX/actual" || fail "$1: $(wc -l <"$BOX/actual") rows of $(wc -l <"$BOX/expected")"
}

# look WHAT PATTERN: whatever becomes of the start, all rows are there, and node 2 alone has them.
look() {
    local line
    start_both >/dev/null
    line=$(grep -m 1 -E 'Forced node shutdown|waits until the others run' "$BOX/node2/ndb_2_out.log" | cut -c1-260)
    count=$((count + 1))
    echo "$1: ${line:-all rows are there}"
    if [ -n "$line" ]; then
        noticed=$((noticed + 1))
        grep -qE -- "$2" "$BOX/node2/ndb_2_out.log" || fail "$1: $2 is not named: $(tail -n 5 "$BOX/node2/ndb_2_out.log")"
    fi
    all_rows "$1, both nodes"
    kill_daemons 1
    all_rows "$1, node 2 alone"
    kill_daemons 2
    [ "$FAILED" -eq 0 ] || exit 1
}

start_daemons 2 2
mkdir "$BOX/kill"
load_and_compare 500
timeout 30 "$BIN/kill_client" run "$BOX/kill" 4 1 >"$BOX/out" 2>&1 || fail "the load does not run"
say "node 2 is killed, and gets its rows from node 1"
kill_daemons 2
start_daemon 2 --initial
wait_started 2
timeout 30 "$BIN/kill_client" run "$BOX/kill" 4 1 >"$BOX/out" 2>&1 || fail "the load does not run"
make_durable
kill_daemons 1 2

count=0
noticed=0
say "its checkpoints are gone"
rm -r "$FS/LCP"
look "LCP removed" 'LCP/'
grep -q 'Caused by error 2376' "$BOX/node2/ndb_2_out.log" || fail "nothing was missed"

# round WAY: load, kill -9 of both in the midst of it, and something of node 2 is deleted, emptied, or what it was before.
round() {
    local way=$1 what old=$BOX/older draw=$RANDOM
    rm -rf "$old"
    cp -a "$FS" "$old"
    start_both >/dev/null
    load_and_kill $((RANDOM % 4 + 1)) "0.$((RANDOM % 10))"
    case $way in
    deleted)
        what=$(cd "$FS" && find . -type d | LC_ALL=C sort | pick)
        if [ "$what" = . ]; then find "$FS" -mindepth 1 -delete; else rm -r "${FS:?}/$what"; fi
        ;;
    emptied)
        what=$(cd "$FS" && find . -type f -size +0 | LC_ALL=C sort | pick)
        : >"$FS/$what"
        ;;
    older)
        what=$(cd "$old" && find . -mindepth 1 | LC_ALL=C sort | pick)
        rm -rf "${FS:?}/$what"
        mkdir -p "$(dirname "$FS/$what")"
        cp -a "$old/$what" "$FS/$what"
        ;;
    esac
    look "$what $way" "$NAMED"
}

# One line of those at stdin, which `draw` says.
pick() { shuf -n 1 --random-source=<(yes "$draw"); }

NAMED='Caused by error [0-9]+|waits until the others run'
say "seed $SEED, $ROUNDS rounds of each way"
ways=(deleted emptied older)
[ "$ROUNDS" -gt 0 ] || round "${ways[RANDOM % 3]}"
for ((number = 1; number <= ROUNDS; number++)); do
    for way in "${ways[@]}"; do round "$way"; done
done

echo "$count times, $noticed of them something was noticed"
