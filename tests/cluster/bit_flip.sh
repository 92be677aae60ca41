#!/bin/bash
# bit_flip.sh -- every file of one node with a flipped bit, in turn: the node names file, offset and kind, and stops or gets
# all rows from the other one, or what was flipped does not count any more and all rows are there. FLIPS places in each file.
# SPDX-License-Identifier: GPL-2.0-only
FLIPS=${FLIPS:-1}
FILES_MAX=${FILES_MAX:-14}
TEST_DEADLINE=${TEST_DEADLINE:-800}
source "$(dirname "$0")/cluster.sh"
RANDOM=${SEED:-4711}

big_random() { echo $((RANDOM * 32768 + RANDOM)); }

restore() {
    local id
    for id in 1 2; do
        rm -rf "$BOX/node$id/ndb_${id}_fs"
        cp -a "$BOX/good$id" "$BOX/node$id/ndb_${id}_fs"
    done
}

# flip FILE OFFSET BIT
flip() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    printf "\\x$(printf %x $((byte ^ (1 << $3))))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# How the two nodes end up: "started", or "stopped" as soon as node 1 has ended.
outcome() {
    local id
    : >"$BOX/node1.out"
    : >"$BOX/node2.out"
    start_node 1
    start_node 2
    for _ in $(seq 900); do
        if ! kill -0 "${NODE_PIDS[1]}" 2>/dev/null; then
            echo stopped
            return
        fi
        if grep -q 'Node 1: started' <<<"$("$BIN/ndb_mgm" -e 'ALL STATUS' 2>/dev/null)"; then
            echo started
            return
        fi
        sleep 0.1
    done
    echo neither
}

# Node 1 has stopped, for good or to come back from node 2: with a code, and it has said where.
says_where() {
    local line
    line=$(grep 'Forced node shutdown' "$BOX/node1.out" | head -n 1)
    echo "$name, byte $at, bit $bit: ${line#*Caused by }" | cut -c1-200
    grep -q 'Caused by error 23[0-9][0-9]' <<<"$line" || fail "node 1 stops without a code that says why: $line"
    grep -F -- "${name##*/}" "$BOX/node1.out" | grep -qE '(offset|page|block|byte) [0-9]+' ||
        fail "node 1 does not say where in $name: $(grep -F -- "${name##*/}" "$BOX/node1.out")"
}

start_cluster 2 2
mkdir "$BOX/kill"
load_and_compare 3000
load_and_kill 2 2
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/kill_client" verify "$BOX/kill"
make_checkpoint # And a log behind it.
timeout 30 "$BIN/kill_client" run "$BOX/kill" 4 2 >"$BOX/out" 2>&1 || fail "the load does not run"
kill_nodes
start_node 1
start_node 2
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_mgm" -e '1 REPORT REDO'
cat "$BOX/out"
head=$(sed -nE 's/.*head file ([0-9]+) at ([0-9]+) MB.*/\1/p' "$BOX/out")
head_bytes=$((($(sed -nE 's/.*head file ([0-9]+) at ([0-9]+) MB.*/\2/p' "$BOX/out") + 1) << 20))
want 0 "$BIN/kill_client" verify "$BOX/kill" # From now on the record says exactly what must be there.
kill_nodes
[ "$FAILED" -eq 0 ] || exit 1
cp -a "$BOX/node1/ndb_1_fs" "$BOX/good1"
cp -a "$BOX/node2/ndb_2_fs" "$BOX/good2"

stopped=0
returned=0
started=0
count=0
mapfile -t files < <(cd "$BOX/good1" && find . -type f -size +0 | sort | sed 's#^\./##')
say "${#files[@]} files, the log is written in file $head"
step=$(((${#files[@]} + FILES_MAX - 1) / FILES_MAX))
log=$(printf '%s\n' "${files[@]}" | grep -E "REDO/.*file$head\$")
for ((i = 0; i < FLIPS; i++)); do files=("$log" "${files[@]}"); done # Where it hurts, and always among the sample.
for ((i = 0; i < ${#files[@]}; i += step)); do
    name=${files[i]}
    size=$(stat -c %s "$BOX/good1/$name")
    for ((n = 0; n < FLIPS; n++)); do
        at=$((n == 0 && i % 2 == 0 ? RANDOM % (size < 64 ? size : 64) : $(big_random) % size))
        [ $((n % 3)) -ne 1 ] || at=$(($(big_random) % (size < 65536 ? size : 65536))) # Where most of the content is.
        [ "$i" -ge "$FLIPS" ] || at=$(($(big_random) % head_bytes))
        bit=$((RANDOM % 8))
        restore
        flip "$BOX/node1/ndb_1_fs/$name" "$at" "$bit"
        result=$(outcome; declare -p NODE_PIDS PIDS >"$BOX/pids")
        source "$BOX/pids"
        count=$((count + 1))
        case "$result" in
        stopped)
            stopped=$((stopped + 1))
            says_where
            ;;
        started)
            if grep -q 'Forced node shutdown' "$BOX/node1.out"; then
                returned=$((returned + 1))
                says_where
            else
                started=$((started + 1))
                echo "$name, byte $at, bit $bit: not needed any more, or mended by the other copy"
            fi
            want 0 "$BIN/kill_client" verify "$BOX/kill"
            want 0 "$BIN/ndb_select_all" -d test --csv awkward
            LC_ALL=C sort "$BOX/out" >"$BOX/actual"
            cmp -s "$BOX/expected" "$BOX/actual" || fail "rows have changed by the flipped bit"
            ;;
        *) fail "$name, byte $at, bit $bit: neither started nor stopped" ;;
        esac
        kill_nodes
        [ "$FAILED" -eq 0 ] || exit 1
    done
done
echo "$count flipped bits: $stopped times the node stopped and said why, $returned times it said so and came back from the other one, $started times all rows were there"
[ $((stopped + returned)) -gt 0 ] || fail "no flipped bit was noticed"
