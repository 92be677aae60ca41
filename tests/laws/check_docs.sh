#!/bin/bash
# check_docs.sh -- pages cannot rot unseen: what they name in `...` is there, each invariant that is cited is listed, lines are short.
# SPDX-License-Identifier: GPL-2.0-only
# usage: check_docs.sh ROOT BUILD
set -u
build=$(readlink -f "${2:?usage: check_docs.sh ROOT BUILD}")
cd "$1" || exit 2
broken=0
rot() { printf 'page out of date: %s\n' "$1"; broken=1; }

code="service packaging kernel formats values signals config transporters blocks mgmd api ndbmtd tools servers examples bench tests include"
[ -d servers ] || code=${code/ servers/}
files=$(find $code docs *.md *.sh *.example -type f 2>/dev/null)

# Files by path or by name, functions, tests: whatever is written so that it could be searched for.
while IFS=: read -r page name; do
    case "$name" in
    *[*\<\>{}\$]* | config.ini) ;;
    *.c | *.h | *.sh | *.def | *.md | *.py)
        printf '%s\n' "$files" | grep -qE "(^|/)$(printf '%s' "$name" | sed 's/\./\\./g')\$" || rot "$page names the file $name" ;;
    test_* | fuzz_* | scenario_*)
        grep -rqw -- "$name" tests || rot "$page names the test $name" ;;
    *\(\))
        grep -rqw -- "${name%()}" $code || rot "$page names the function $name" ;;
    blocks/* | kernel/* | transporters/* | tests/* | signals/* | docs/*)
        [ -e "$name" ] || rot "$page names $name" ;;
    esac
done < <(grep -oHE '`[A-Za-z_./0-9*]+(\(\))?`' README.md docs/*.md docs/protocols/*.md | tr -d '`')

# Links from page to page.
while IFS=: read -r page link; do
    target="$(dirname "$page")/${link%%#*}"
    case "$link" in http* | \#*) ;; *) [ -e "$target" ] || rot "$page links to $link" ;; esac
done < <(grep -oHE '\]\([^) ]+\)' docs/*.md docs/protocols/*.md docs/decisions/*.md README.md | sed -E 's/\]\(([^)]*)\)/\1/')

# Lines: at most 120 columns, so that a page can be read beside its code, and a change of it too. What cannot be broken may be
# longer: a heading, a row of a table, code (between fences, or 4 blanks behind a blank line), a line of one word or one link.
mapfile -t pages < <(find . -name '*.md' -not -path './.git/*' -not -path './build*' -not -path './sandbox/*' -printf '%P\n' | sort)
[ ${#pages[@]} -ge 60 ] || rot "only ${#pages[@]} pages: the list is not complete"
while IFS= read -r line; do rot "$line"; done < <(LC_ALL=C awk '
    FNR == 1 { fence = code = words = 0; blank = 1 }
    /^ *(```|~~~)/ { fence = !fence }
    !fence && blank && /^[^ ]/ { words = 0 } # A list ends here.
    { match($0, /^ */); code = /^ *$/ ? code : (blank || code) && RLENGTH >= words + 4; blank = /^ *$/ }
    fence || code { next }
    match($0, /^ *([-*+]|[0-9]+[.)]) +/) { words = RLENGTH } # Where the words of an item begin.
    /^#+ / || /^ *\|/ || /^ *([-*+] +)?(\[[^]]*\]\()?[^ ]+$/ { next }
    { columns = gsub(/[^\200-\277]/, "&") } # Characters, not bytes.
    columns > 120 { print FILENAME ":" FNR " has " columns " columns, not at most 120" }' "${pages[@]}")

# Signals: CAPITALS_WITH_A_SUFFIX that end like one. A page may name both answers as X_CONF / REF.
for gsn in $(grep -ohE '\b[A-Z][A-Z_0-9]*(REQ|CONF|REF|REP|ORD)\b' docs/protocols/*.md | sort -u); do
    case "$gsn" in REQ | CONF | REF | REP | ORD | IO_DONE_REP) continue ;; esac
    grep -qE "^GSN(_KERNEL)?\([0-9]+, $gsn," signals/gsn.def || rot "no signal is called $gsn: $(grep -lw "$gsn" docs/protocols/*.md | head -1)"
done

# Invariants.
for number in $(grep -rohE '\bI-[A-Z]+-[0-9]+' --include=*.c --include=*.h $code docs/protocols | sort -u); do
    case "$number" in I-FS-*) continue ;; esac # One line for all.
    grep -q "^| $number |" docs/INVARIANTS.md || rot "$number is not in docs/INVARIANTS.md"
done

# Each page is in the walk, or is linked from one that is.
for page in docs/protocols/*.md; do
    grep -q "$(basename "$page")" docs/READING.md || rot "docs/READING.md does not lead to $page"
done

# Each file of a block is in its README, once if that has a table of them.
for file in blocks/*/*.c blocks/*/*/*.c; do
    readme=$(cut -d / -f 1-2 <<<"$file")/README.md name=$(basename "$file")
    grep -qF "\`$name\`" "$readme" || rot "$readme does not name $name"
    [ "$(grep -E '^\| `' "$readme" | cut -d '|' -f 2 | grep -cF "\`$name\`")" -le 1 ] || rot "$readme names $name twice"
done

# The walk names what is built, and runs what is there.
for program in $(grep -oE '`build/bin/[a-z_]+' docs/READING.md | sed 's/.*\///' | sort -u); do
    grep -rqE "(ndb_program|sim_scenario|add_executable)\($program\b" --include=CMakeLists.txt tests tools ndbmtd mgmd examples || rot "docs/READING.md runs $program"
done
for plan in $(grep -oE 'plan=[a-z_/.]+' docs/READING.md | cut -d = -f 2); do
    [ -e "$plan" ] || rot "docs/READING.md runs the plan $plan"
done

# What survives what: each promise has tests, and ctest knows them.
known=$(ctest --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p')
[ -n "$known" ] || rot "$build has no list of tests"
while IFS='|' read -r _ what fault _ tests _; do
    names=$(grep -oE '`[a-z_0-9]+`' <<<"$tests" | tr -d '`')
    [ -n "$names" ] || rot "docs/what_survives.md shows by no test: $what,$fault"
    for name in $names; do grep -qx "$name" <<<"$known" || rot "docs/what_survives.md names the test $name, which ctest does not know"; done
done < <(grep -E '^\| (process|power|disk|file|memory|network|host|operator) \|' docs/what_survives.md)
for what in process power disk file memory network host; do
    grep -q "^| $what |" docs/what_survives.md || rot "docs/what_survives.md says nothing of $what"
done

[ $broken -eq 0 ] && echo "the pages name what is there"
exit $broken
