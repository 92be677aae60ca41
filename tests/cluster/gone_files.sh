#!/bin/bash
# gone_files.sh -- two nodes, one of which has its rows from the other: in no log of its own. All are killed, and its
# checkpoints are removed. It names what is missing and gets all rows from the other, and shows it when it is alone
# afterwards. The same with checkpoints of the other node. Then ROUNDS times for each of: a directory, file or all deleted, a file emptied, a file or directory of an earlier
# time, of one of the nodes or of both; each after a kill amid load: it says that something is damaged, or it has all rows. When both
# lack it they may also both say so; then the files are put back.
# SPDX-License-Identifier: GPL-2.0-only
ROUNDS=${ROUNDS:-0} # Of each way; 0: one round, in which the way is drawn.
TEST_DEADLINE=${TEST_DEADLINE:-$((900 + ROUNDS * 180))}
source "$(dirname "$0")/cluster.sh"
source "$HERE/failover.sh"
LINES='StopOnError=0'
LOG_OF=daemons
SEED=${SEED:-$$}
RANDOM=$SEED
DAMAGE=$(sed -nE 's/^EXIT_CODE\(([0-9]+), [A-Z_]+, "damage".*/\1/p' "$HERE/../../kernel/exit_codes.def" | paste -sd '|')
[ -n "$DAMAGE" ] || die "no exit codes of damage"

fs_of() { echo "$BOX/node$1/ndb_$1_fs"; }

# What load_and_kill kills: here the nodes have angels.
kill_nodes() { kill_daemons 1 2; }

waits() { grep -q 'waits until the others run' "$(log_of "$1")"; }

# Until both run, or neither can; false: neither.
start_both() {
    local status
    : >"$(log_of 1)"
    : >"$(log_of 2)"
    start_daemon 1
    start_daemon 2
    for _ in $(seq 1800); do
        status=$("$BIN/ndb_mgm" -e 'ALL STATUS' 2>/dev/null)
        [ "$(grep -cE '^Node [12]: started' <<<"$status")" -eq 2 ] && return 0
        waits 1 && waits 2 && return 1
        sleep 0.05
    done
    die "neither do the nodes start, nor do they say why: $status"
}

all_rows() { # what
    want 0 "$BIN/kill_client" verify "$BOX/kill"
    want 0 "$BIN/ndb_select_all" -d test --csv awkward
    LC_ALL=C sort "$BOX/out" >"$BOX/actual"
    cmp -s "$BOX/expected" "$BOX/actual" || fail "$1: $(wc -l <"$BOX/actual") rows of $(wc -l <"$BOX/expected")"
    want 0 "$BIN/ndb_show_tables" -d test
    [ "$(grep -oE '\bround_[0-9]+\b' "$BOX/out" | LC_ALL=C sort | paste -sd ' ')" = "$TABLES" ] ||
        fail "$1: other tables than $TABLES: $(cat "$BOX/out")"
    [ "$FAILED" -eq 0 ] || exit 1
}

# The codes with which a node has ended since it was started, or that it waits.
reasons_of() { # id
    grep -oE 'Caused by error [0-9]+|waits until the others run' "$(log_of "$1")" | sed 's/Caused by error //' | uniq | paste -sd ' '
}

# A spoilt node ends for damage, or because files are of no use (2395), and with it whoever starts beside it (2308).
reasons_fit() { # what victim...
    local id said code spoilt what=$1
    shift
    for id in 1 2; do
        spoilt=2308
        [[ " $* " != *" $id "* ]] || spoilt="$DAMAGE|2395|2308"
        for code in $(grep -oE 'Caused by error [0-9]+' "$(log_of "$id")" | grep -oE '[0-9]+'); do
            [[ $code =~ ^($spoilt)$ ]] || fail "$what: node $id has ended with $code: $(grep "$code" "$(log_of "$id")")"
        done
        said=$(reasons_of "$id")
        [ -z "$said" ] || echo "    node $id: $said"
    done
}

# look WHAT VICTIM...: whatever becomes of the start, all rows are there, and a victim alone has them; or all are victims and say so.
look() {
    local id what=$1
    shift
    count=$((count + 1))
    echo "$what of node $*"
    if start_both; then
        reasons_fit "$what" "$@"
        [ "$(for id in "$@"; do reasons_of "$id"; done | wc -w)" -eq 0 ] || noticed=$((noticed + 1))
        all_rows "$what, both nodes"
    else
        [ $# -eq 2 ] || fail "$what: nobody starts, though one node has everything"
        stopped=$((stopped + 1))
        reasons_fit "$what" "$@"
        kill_daemons 1 2
        for id in 1 2; do
            rm -rf "$(fs_of "$id")"
            cp -a "$BOX/saved/$id" "$(fs_of "$id")"
        done
        start_both || fail "$what: the saved files do not start"
        all_rows "$what, from saved files"
    fi
    id=${1:-1}
    kill_daemons $((3 - id))
    all_rows "$what, node $id alone"
    start_daemon $((3 - id))
    wait_started $((3 - id)) >/dev/null
}

# What there is now, for a later round, and for when nobody can start.
save() {
    rm -rf "$BOX/older"
    [ ! -d "$BOX/saved" ] || mv "$BOX/saved" "$BOX/older"
    mkdir "$BOX/saved"
    cp -a "$(fs_of 1)" "$BOX/saved/1"
    cp -a "$(fs_of 2)" "$BOX/saved/2"
}

TABLES=
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
save

count=0
noticed=0
stopped=0
say "its checkpoints are gone"
rm -r "$(fs_of 2)/LCP"
look "LCP removed" 2
[ "$noticed" -eq 1 ] || fail "nothing was missed"

say "its checkpoints, beside its own lists, are those of node 1"
kill_daemons 1 2
save
# shellcheck disable=SC2010 # The node's own files have such names.
for file in $(cd "$(fs_of 2)/LCP" && ls | grep '^T'); do
    [ ! -e "$(fs_of 1)/LCP/$file" ] || cp "$(fs_of 1)/LCP/$file" "$(fs_of 2)/LCP/$file"
done
look "LCP/T* of node 1 in place" 2
[ "$noticed" -eq 2 ] || fail "nothing was noticed"

# Names in a node's directory, or below one of those in it; `?` for both copies of what there are two of.
names() { # id directory find-option...
    local where=$2
    cd "$(fs_of "$1")" && {
        find "$where" "${@:3}"
        find "$where" -type f | sed -nE 's/[01]$/?/p' | LC_ALL=C sort | uniq -d
    } | LC_ALL=C sort
}

# spoil WAY WHAT ID: false when that changes nothing.
spoil() {
    local way=$1 what=$2 fs old=$BOX/older/$3 name changed=1
    fs=$(fs_of "$3")
    if [ "$what" = . ]; then # Never emptied.
        diff -rq "$fs" "$old" >/dev/null && return 1
        rm -rf "$fs"
        if [ "$way" = older ]; then cp -a "$old" "$fs"; else mkdir "$fs"; fi
        return 0
    fi
    for name in $(cd "$fs" && compgen -G "$what" || true; [ "$way" != older ] || { cd "$old" && compgen -G "$what"; }); do
        case $way in
        deleted) rm -r "${fs:?}/$name" ;;
        emptied) : >"$fs/$name" ;;
        older)
            diff -rq "$fs/$name" "$old/$name" >/dev/null 2>&1 && continue
            rm -rf "${fs:?}/$name"
            mkdir -p "$(dirname "$fs/$name")"
            [ ! -e "$old/$name" ] || cp -a "$old/$name" "$fs/$name"
            ;;
        esac
        changed=0
    done
    return "$changed"
}

# round WAY: load, kill -9 of both in the midst of it, and something of a node, or of both, is deleted, emptied, or what it was
# before.
round() {
    local way=$1 what all where options victims
    round=$((round + 1))
    want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE test.round_$round (a INT UNSIGNED PRIMARY KEY)"
    [ "$round" -lt 3 ] || want 0 "$BIN/ndb_drop_table" -d test "round_$((round - 2))"
    TABLES=$(seq -f round_%.0f $((round > 1 ? round - 1 : 1)) "$round" | LC_ALL=C sort | paste -sd ' ')
    load_and_kill $((RANDOM % 4 + 1)) "0.$((RANDOM % 10))" >/dev/null
    save
    case $((RANDOM % 5)) in
    0) victims=(1 2) ;;
    1 | 2) victims=(1) ;;
    *) victims=(2) ;;
    esac
    where=(D1 LCP REDO)
    [ ${#victims[@]} -eq 2 ] || where+=(.) # If both lack everything nobody can say that it was there.
    for _ in $(seq 900); do
        options=()
        [ "$way" != emptied ] || options=(-type f -size +0)
        mapfile -t all < <(names "${victims[0]}" "${where[RANDOM % ${#where[@]}]}" "${options[@]}")
        what=${all[RANDOM % ${#all[@]}]}
        spoil "$way" "$what" "${victims[0]}" && break
        what=
    done
    [ -n "$what" ] || die "nothing can be $way"
    [ ${#victims[@]} -eq 1 ] || spoil "$way" "$what" 2
    look "$round: $what $way" "${victims[@]}"
    ways_count[$way]=$((${ways_count[$way]:-0} + 1))
}

say "seed $SEED, $ROUNDS rounds of each way"
round=0
declare -A ways_count
# shellcheck disable=SC2206 # Words.
ways=(${WAYS:-deleted emptied older})
[ "$ROUNDS" -gt 0 ] || round "${ways[RANDOM % ${#ways[@]}]}"
for ((number = 1; number <= ROUNDS; number++)); do
    for way in "${ways[@]}"; do round "$way"; done
done

for way in "${!ways_count[@]}"; do echo "$way: ${ways_count[$way]} rounds"; done
echo "$count times, $noticed of them something was noticed, $stopped of them no node could start"
