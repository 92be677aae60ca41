#!/bin/bash
# modes.sh SIM PAGE -- the modes that sim runs together are those of its page, each is run, and all others are refused.
# SPDX-License-Identifier: GPL-2.0-only
set -eu
sim=$1
page=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$sim" --list-modes | sort >"$work/runs"
sed -n '/^## Modes/,/^## What/s/^| `\(sim[^`]*\)`.*/\1/p' "$page" | sort >"$work/page"
diff "$work/page" "$work/runs"
refused() { # options: a sentence, and nothing is run
    local status=0
    "$sim" "$@" --jobs=1 >"$work/out" 2>"$work/error" </dev/null || status=$?
    if [ "$status" -ne 2 ] || [ -s "$work/out" ] || ! grep -q '\.$' "$work/error"; then
        echo "not refused ($status): sim $*"
        cat "$work/error"
        exit 1
    fi
}
mapfile -t modes < <(sed -n 's/^MODE([A-Z_]*, \([a-z_]*\),.*/--\1/p' "${0%/*}/modes.def")
[ "${#modes[@]}" -ge 2 ]
for ((set = 0; set < 1 << ${#modes[@]}; set++)); do
    options=()
    for ((i = 0; i < ${#modes[@]}; i++)); do
        ((set >> i & 1)) && options+=("${modes[i]}")
    done
    run="sim${options[*]+ ${options[*]}}"
    if grep -qxF -e "$run" "$work/runs"; then
        "$sim" ${options[@]+"${options[@]}"} --seed=5 >"$work/out" 2>&1 || {
            cat "$work/out"
            exit 1
        }
        grep -q '^seed 5 ok' "$work/out"
    else
        refused "${options[@]}"
    fi
done
printf 'seed 5\ndisk\ndiskless\n' >"$work/both.plan"
refused --plan="$work/both.plan"
refused --seed=1 --seeds=1..2
refused --seeds=2..1
refused --seeds=1..2 --shrink
refused --seeds=1..2 --plan="$work/both.plan"
refused --seed=x
refused --jam-most=1
echo "$(wc -l <"$work/runs") sets of modes run, the others are refused"
