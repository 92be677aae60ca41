#!/bin/bash
# lost_files.sh -- a lone node without one of its files, in turn: removed, cut in half, or the same file of an earlier day.
# It stops and names the file and a code, or all rows are there. Then its whole directories of an earlier day, in turn.
# SPDX-License-Identifier: GPL-2.0-only
FILES_MAX=${FILES_MAX:-14}
TEST_DEADLINE=${TEST_DEADLINE:-800}
source "$(dirname "$0")/cluster.sh"

FS=$BOX/node1/ndb_1_fs

start_and_wait() {
    start_node 1
    want 0 "$BIN/ndb_waiter" --timeout=100
}

# Until both system files say the same GCI: then either may be lost.
both_sysfiles() {
    local gcis
    for _ in $(seq 900); do
        gcis=$("$BIN/ndb_print_sys_file" "$FS"/D1/sysfile.[01] 2>&1 | grep -oE 'restorable up to GCI [0-9]+' | uniq -c)
        [[ $gcis =~ ^\ *2\ [^$'\n']*$ ]] && return 0
        sleep 0.05
    done
    fail "the system files differ: ${gcis:-not to be read}"
}

# keep NAME: what the node has now, when it has been killed.
keep() {
    kill_nodes
    cp -a "$FS" "$BOX/$1"
}

# look TEXT NAME: starts the node and looks at what becomes of it. Files of NAME are what was damaged.
look() {
    local line
    : >"$BOX/node1.out"
    start_node 1
    for _ in $(seq 900); do
        kill -0 "${NODE_PIDS[1]}" 2>/dev/null || break
        "$BIN/ndb_mgm" -e 'ALL STATUS' 2>/dev/null | grep -q 'Node 1: started' && break
        sleep 0.05
    done
    count=$((count + 1))
    if kill -0 "${NODE_PIDS[1]}" 2>/dev/null; then
        started=$((started + 1))
        echo "$1: all rows are there"
        want 0 "$BIN/kill_client" verify "$BOX/kill"
        want 0 "$BIN/ndb_select_all" -d test --csv awkward
        LC_ALL=C sort "$BOX/out" >"$BOX/actual"
        cmp -s "$BOX/expected" "$BOX/actual" || fail "$1: rows have changed"
    else
        stopped=$((stopped + 1))
        line=$(grep 'Forced node shutdown' "$BOX/node1.out" | tail -n 1)
        echo "$1: ${line#*Caused by }" | cut -c1-220
        grep -q 'Caused by error 23[0-9][0-9]' <<<"$line" || fail "$1: no code that says why: $line"
        grep -qE -- "$2" "$BOX/node1.out" || fail "$1: $2 is not named: $(tail -n 5 "$BOX/node1.out")"
    fi
    kill_nodes
    [ "$FAILED" -eq 0 ] || exit 1
}

restore() {
    rm -rf "$FS"
    cp -a "$BOX/good" "$FS"
}

start_cluster 1 1
mkdir "$BOX/kill"
load_and_compare 2000
timeout 30 "$BIN/kill_client" run "$BOX/kill" 4 2 >"$BOX/out" 2>&1 || fail "the load does not run"
make_checkpoint
keep old
start_and_wait
want 0 "$BIN/kill_client" verify "$BOX/kill"
timeout 30 "$BIN/kill_client" run "$BOX/kill" 4 3 >"$BOX/out" 2>&1 || fail "the load does not run"
make_checkpoint
timeout 30 "$BIN/kill_client" run "$BOX/kill" 4 1 >"$BOX/out" 2>&1 || fail "the load does not run"
make_durable
both_sysfiles
keep good
start_and_wait
want 0 "$BIN/kill_client" verify "$BOX/kill" # From now on the record says exactly what must be there.
rm -rf "$BOX/good"
make_durable
both_sysfiles
keep good

count=0
started=0
stopped=0
mapfile -t files < <(cd "$BOX/good" && find . -type f -size +0 | sort | sed 's#^\./##')
step=$(((${#files[@]} + FILES_MAX - 1) / FILES_MAX))
say "${#files[@]} files, one of $step"
for ((i = 0; i < ${#files[@]}; i++)); do
    name=${files[i]}
    [[ $name == D1/* ]] || [ $((i % step)) -eq 0 ] || continue
    restore
    rm "$FS/$name"
    look "$name removed" "${name##*/}"
    restore
    truncate -s $(($(stat -c %s "$FS/$name") / 2)) "$FS/$name"
    look "$name cut in half" "${name##*/}"
    cmp -s "$BOX/old/$name" "$BOX/good/$name" && continue
    [ -e "$BOX/old/$name" ] || continue
    restore
    cp "$BOX/old/$name" "$FS/$name"
    where=${name##*/}
    [[ $name != REDO/* ]] || where='REDO/part[0-9]+/file' # It may be whole, and not fit what is behind it.
    look "$name of an earlier day" "$where"
done
for name in D1 LCP REDO REDO/part0 D1/sysfile; do
    restore
    if [ -d "$FS/$name" ]; then rm -r "${FS:?}/$name"; else rm "$FS/$name".?; fi
    look "$name removed" 'D1/|LCP|REDO/'
    restore
    if [ -d "$FS/$name" ]; then rm -r "${FS:?}/$name"; else rm "$FS/$name".?; fi
    cp -a "$BOX/old/$name"* "$(dirname "$FS/$name")"
    look "$name of an earlier day" 'offset|byte|older|D1/|LCP/|REDO/'
done

say "the system files of an earlier time, and no checkpoint since"
for try in $(seq 10); do # A checkpoint that happens to come between would be newer than those system files: then again.
    restore
    start_and_wait
    make_checkpoint # The next one is not due for long; the system files know of this one.
    make_durable
    both_sysfiles
    rm -rf "$BOX/old_d1" "$BOX/old_lcp"
    cp -a "$FS/LCP" "$BOX/old_lcp"
    cp -a "$FS/D1" "$BOX/old_d1"
    for n in 1 2 3 4; do
        make_durable
        awkward_rows 10 "$((100000 + n * 100))" >"$BOX/awkward.csv"
        want 0 "$BIN/ndb_import" --rejects-file="$BOX/awkward.rej" test "$BOX/awkward.csv"
    done
    make_durable
    kill_nodes
    diff -rq "$BOX/old_lcp" "$FS/LCP" >/dev/null && break
    [ "$try" -lt 10 ] || die "there is always a checkpoint between"
done
rm -r "$FS/D1"
cp -a "$BOX/old_d1" "$FS/D1"
look "D1 of a moment ago" 'D1/sysfile'
grep -q 'Caused by error 2371' "$BOX/node1.out" || fail "the age of the system files is not noticed"

echo "$count times: $stopped times the node stopped and said why, $started times all rows were there"
[ "$stopped" -gt 0 ] || fail "nothing was noticed"
