#!/bin/bash
# check_help.sh -- each error that a room raises has a cause and a cure, and each parameter an effect or a reason why it has none.
# SPDX-License-Identifier: GPL-2.0-only
# usage: check_help.sh ROOT
set -u
cd "$1" || exit 2
broken=0
law() { printf 'law broken: %s\n' "$1"; broken=1; }
rooms=(formats values signals config transporters kernel blocks mgmd api ndbmtd servers)

# --- Errors. A room writes ERR_ROW_NOT_FOUND, the lists have 626. ---
raised=$(grep -rohwE 'ERR_[A-Z0-9_]+' --include='*.c' "${rooms[@]}" | sort -u | sed 's/^ERR_//')
numbers=$(tr '\n' ' ' <include/ndb/errors.def | grep -oE 'NDB_ERROR\([0-9]+, [A-Z0-9_]+' | sed -E 's/NDB_ERROR\(([0-9]+), (.*)/\2 \1/' | sort)
ordered=$(grep -h error mgmd/mgmd_*.c | grep -oE '\b50[0-9]{2}\b') # The management server writes the numbers of its own answers.
must=$(join <(printf '%s\n' "$raised") <(printf '%s\n' "$numbers") | cut -d ' ' -f 2 | cat - <(printf '%s\n' "$ordered") | grep -vx 0 | sort -u)
have=$(grep -oE '^NDB_ERROR_HELP\([0-9]+' include/ndb/errors_help.def | grep -oE '[0-9]+')
[ -n "$must" ] || law "no room raises an error"
for number in $(comm -23 <(printf '%s\n' "$must") <(printf '%s\n' "$have" | sort)); do
    law "error $number is raised, and include/ndb/errors_help.def says neither cause nor cure"
done
for number in $(comm -13 <(printf '%s\n' "$must") <(printf '%s\n' "$have" | sort)); do
    law "include/ndb/errors_help.def explains error $number, which nothing raises"
done
[ "$have" = "$(printf '%s\n' "$have" | sort -nu)" ] || law "include/ndb/errors_help.def is not ascending"

# --- Parameters. Sections share numbers, so one that all have may be asked for by the name of another section. ---
asked=$(find "${rooms[@]}" -name '*.c' ! -path 'config/config_check*.c' -exec grep -ohE '\bCFG_[A-Z]+_[A-Za-z0-9_]+' {} + | sort -u)
while read -r section name; do
    if grep -q "^UNUSED($section, $name," config/params_unused.def; then
        grep -qx "CFG_${section}_$name" <<<"$asked" && law "config/params_unused.def says that nothing asks for $name of $section"
    elif ! grep -qE "^CFG_[A-Z]+_$name\$" <<<"$asked" && [ "$name" != NodeId ]; then
        law "nothing asks for the parameter $name of $section: config/params_unused.def must say why"
    fi
done < <(sed -nE 's/^PARAM\(([A-Z]+), [0-9]+, ([A-Za-z0-9_]+),.*/\1 \2/p' config/params.def)

[ $broken -eq 0 ] && echo "errors and parameters are explained"
exit $broken
