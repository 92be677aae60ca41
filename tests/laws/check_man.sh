#!/bin/bash
# check_man.sh -- man pages, --help and completion of every program name the same options.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: check_man.sh MAN_DIR BIN_DIR COMPLETION. Programs are those that the completion is for: all that are installed.
MAN=${1:?usage: check_man.sh MAN_DIR BIN_DIR COMPLETION}
BIN=${2:?usage: check_man.sh MAN_DIR BIN_DIR COMPLETION}
COMPLETION=${3:?usage: check_man.sh MAN_DIR BIN_DIR COMPLETION}
FAILED=0
unset ARGP_HELP_FMT
fail() {
    echo "FAIL: $*"
    FAILED=1
}

names() { grep -oE -- '(^|[ ,])--?[A-Za-z?][-_A-Za-z0-9]*' | tr -d ' ,' | LC_ALL=C sort -u; }
of_help() { "$BIN/$1" --help | sed -nE 's/^ {2,6}(-.*)/\1/p' | sed -E 's/ {2,}.*//' | names; }
of_page() { # The lines behind .TP under OPTIONS, without their fonts.
    awk '/^\.SH/ { on = ($2 == "OPTIONS") } tag { print; tag = 0 } on && /^\.TP/ { tag = 1 }' "$1" |
        sed -E 's/\\f[A-Z]//g; s/\\//g' | names
}

# shellcheck source=/dev/null
source "$COMPLETION"
programs=$(sed -nE 's/^complete .*_ndb_complete //p' "$COMPLETION")
[ "$(wc -w <<<"$programs")" -ge 19 ] || fail "only these programs are known: $programs"
for page in "$MAN"/*.[18]; do
    name=$(basename "${page%.*}")
    [[ " $programs " == *" $name "* ]] || fail "$page is the page of no program"
done
for program in $programs; do
    page=$(echo "$MAN/$program".[18])
    [ -x "$BIN/$program" ] || { fail "$program is not built"; continue; }
    [ -f "$page" ] || { fail "$program has no page"; continue; }
    of_help "$program" >"${TMPDIR:-/tmp}/check_man.$$.help"
    of_page "$page" >"${TMPDIR:-/tmp}/check_man.$$.page"
    [ -s "${TMPDIR:-/tmp}/check_man.$$.help" ] || fail "$program --help names no options"
    diff "${TMPDIR:-/tmp}/check_man.$$.help" "${TMPDIR:-/tmp}/check_man.$$.page" >"${TMPDIR:-/tmp}/check_man.$$.diff" ||
        fail "$program: only in --help (<), only in $page (>):
$(grep '^[<>]' "${TMPDIR:-/tmp}/check_man.$$.diff")"
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' 'SEE ALSO'; do
        grep -qE "^\.SH \"?$section\"?$" "$page" || fail "$page has no section $section"
    done
    if command -v groff >/dev/null; then
        warnings=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
        [ -z "$warnings" ] || fail "$page: $warnings"
    fi
    COMP_WORDS=("$BIN/$program" --)
    COMP_CWORD=1
    _ndb_complete "$BIN/$program" -- "$BIN/$program"
    printf '%s\n' "${COMPREPLY[@]}" | tr -d = | LC_ALL=C sort -u >"${TMPDIR:-/tmp}/check_man.$$.page"
    grep '^--' "${TMPDIR:-/tmp}/check_man.$$.help" | diff - "${TMPDIR:-/tmp}/check_man.$$.page" >/dev/null ||
        fail "$program: completion of -- gives ${COMPREPLY[*]}"
done
rm -f "${TMPDIR:-/tmp}/check_man.$$".*

COMP_WORDS=("$BIN/ndb_desc" --format '=' j)
COMP_CWORD=3
_ndb_complete "$BIN/ndb_desc" j =
[ "${COMPREPLY[*]}" = json ] || fail "--format=j is completed to '${COMPREPLY[*]}'"
COMP_WORDS=("$BIN/ndb_desc" --extra-n)
COMP_CWORD=1
_ndb_complete "$BIN/ndb_desc" --extra-n ndb_desc
[ "${COMPREPLY[*]}" = --extra-node-info ] || fail "--extra-n is completed to '${COMPREPLY[*]}'"
exit "$FAILED"
