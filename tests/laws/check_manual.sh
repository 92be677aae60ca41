#!/bin/bash
# check_manual.sh -- the client library's manual: every function that the library shows has a page, which no formatter warns of; and a
# function without a comment has none, which ends the build.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: check_manual.sh PAGES HEADERS BIN_DIR LIBRARY
PAGES=${1:?usage: check_manual.sh PAGES HEADERS BIN_DIR LIBRARY}
HEADERS=${2:?usage: check_manual.sh PAGES HEADERS BIN_DIR LIBRARY}
GENERATOR=${3:?usage: check_manual.sh PAGES HEADERS BIN_DIR LIBRARY}/client_pages
LIBRARY=${4:?usage: check_manual.sh PAGES HEADERS BIN_DIR LIBRARY}
FAILED=0
fail() {
    echo "FAIL: $*"
    FAILED=1
}
BOX=$(mktemp -d)
trap 'rm -rf "$BOX"' EXIT

functions=0
while read -r name; do
    functions=$((functions + 1))
    page=$PAGES/$name.3
    [ -f "$page" ] || { fail "$name has no page"; continue; }
    to=$(sed -nE 's|^\.so man3/(.*)$|\1|p' "$page")
    [ -f "$PAGES/$to" ] || { fail "$page leads to '$to'"; continue; }
    sed '/^\.SH SYNOPSIS/q' "$PAGES/$to" | grep -qE "^$name( |,|$)" || fail "$to does not name $name"
    grep -qE "^\.SS \"(.*, )?$name\(\)" "$PAGES/$to" || fail "$to says nothing of $name"
done < <(nm -D --defined-only "$LIBRARY" | awk '$2 == "T" { print $3 }')
[ "$functions" -ge 190 ] || fail "only $functions functions are known"

# Formatters: each page, but those that only lead to another one.
pages=0
export MANWIDTH=80 LC_ALL=C.UTF-8
for page in "$PAGES"/*.3; do
    ! grep -q '^\.so ' "$page" || continue
    pages=$((pages + 1))
    for section in NAME SYNOPSIS DESCRIPTION 'SEE ALSO'; do
        grep -qE "^\.SH \"?$section\"?$" "$page" || fail "$page has no section $section"
    done
    grep -qF 'SPDX-License-Identifier: MIT' <(head -n 3 "$page") || fail "$page does not say its licence"
    while read -r name; do
        [ -f "$PAGES/$name.3" ] || fail "$page refers to $name(3)"
    done < <(grep -oE 'fB[A-Za-z_0-9]+\\fP\(3\)' "$page" | sed -E 's/^fB(.*)\\fP.*/\1/')
    if command -v groff >/dev/null; then
        warnings=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
        [ -z "$warnings" ] || fail "$page: $warnings"
    fi
    if command -v man >/dev/null; then
        warnings=$(man --warnings -l "$page" 2>&1 >"$BOX/text")
        [ -z "$warnings" ] || fail "$page: $warnings"
        grep -nE '\\f|`' "$BOX/text" && fail "$page shows what is meant for the formatter"
    fi
    if command -v lexgrog >/dev/null; then
        lexgrog "$page" >/dev/null || fail "$page: its name cannot be searched for"
    fi
done
[ "$pages" -ge 20 ] || fail "only $pages pages"

# What the generator refuses.
refuses() { # refuses TEXT: with the headers as they were changed in $BOX/headers.
    rm -rf "$BOX/out"
    mkdir "$BOX/out"
    "$GENERATOR" "$BOX/headers" "$BOX/out" >"$BOX/told" 2>&1 && fail "not refused: $1"
    grep -qF -- "$1" "$BOX/told" || fail "'$1' is not said, but: $(cat "$BOX/told")"
}
changed() { # changed SED-SCRIPT
    rm -rf "$BOX/headers"
    mkdir "$BOX/headers"
    cp "$HEADERS"/*.h "$BOX/headers"
    sed -i "$1" "$BOX/headers"/*.h
}
changed 's|^/\* ---- Short forms ---- \*/$|&\n\nNDB_API int ndb_silent(void);|'
refuses 'ndb_silent: a public function without a comment'
changed 's|^/\* ---- Short forms ---- \*/$|/* ---- Shorter forms ---- */|'
refuses 'Shorter forms: this section of a header has no page'
rm "$BOX/headers/program.h"
refuses 'program.h: cannot be read'
exit "$FAILED"
