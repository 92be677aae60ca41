#!/bin/bash
# check_licences.sh -- each file has one licence, whose text is there; what goes into the client library is MIT: docs/decisions/011-licences.md.
# SPDX-License-Identifier: GPL-2.0-only
# usage: check_licences.sh ROOT SOURCES (a file with the sources of libndbclient, one a line)
set -u
sources=$(readlink -f "${2:?usage: check_licences.sh ROOT SOURCES}")
cd "$1" || exit 2
broken=0
law() { printf 'licence: %s\n' "$1"; broken=1; }

files=$(git ls-files 2>/dev/null) && [ -n "$files" ] ||
    files=$(find . -type f -not -path './.git/*' -not -path './build*' -not -path './sandbox/*' -printf '%P\n')

# What each file says in its first lines; several, if it does.
declare -A tags=()
while read -r file tag; do
    tags[$file]="${tags[$file]:-}${tags[$file]:+ }$tag"
done < <(tr '\n' '\0' <<<"$files" | xargs -0 awk 'FNR <= 10 && /SPDX-License-Identifier: / {
    sub(/.*SPDX-License-Identifier: /, "")
    print FILENAME, $1 }' 2>/dev/null)

known=0
while read -r file; do
    case "$file" in LICENSES/*) continue ;; esac
    [ -f "$file" ] || continue
    tag=${tags[$file]:-}
    case "$tag" in
    '')
        case "$file" in
        *.md | *.plan | *.in | *.toml | *.yml | *.yaml | *.example | .clang-format | .gitignore | Containerfile) ;; # REUSE.toml has it.
        *) law "$file does not say it" ;;
        esac
        continue
        ;;
    *' '*) law "$file says several: $tag" ;;
    esac
    [ -f "LICENSES/$tag.txt" ] || law "$file has $tag, whose text is not in LICENSES/"
    known=$((known + 1))
done <<<"$files"
[ "$known" -ge 900 ] || law "only $known files say one: the list of files is not complete"

# The rooms that are MIT as a whole, as the page has them.
for room in include api values signals transporters kernel/base examples; do
    grep -qF "\`$room/\`" docs/decisions/011-licences.md || law "the decision does not name $room"
    while read -r file; do
        [ "${tags[$file]:-}" = MIT ] || law "$file is in a room for applications, and not MIT"
    done < <(grep -E "^$room/.*\.(c|h|def)$" <<<"$files")
done

# The library: its sources, and all that they include.
[ -s "$sources" ] || law "the list of the library's sources is empty"
declare -A seen=()
queue=()
while read -r file; do queue+=("${file#"$PWD"/}"); done < <(sed 's,/[^/]*/\.\./,/,g' "$sources")
while [ ${#queue[@]} -gt 0 ]; do
    file=${queue[0]}
    queue=("${queue[@]:1}")
    [ -z "${seen[$file]:-}" ] || continue
    seen[$file]=1
    [ "${tags[$file]:-}" = MIT ] || law "$file goes into libndbclient, and is not MIT"
    while read -r include; do
        if [ -f "$include" ]; then
            queue+=("$include")
        elif [ -f "include/$include" ]; then
            queue+=("include/$include")
        elif [ -f "$(dirname "$file")/$include" ]; then
            queue+=("$(dirname "$file")/$include")
        else
            law "$file includes $include, which cannot be found"
        fi
    done < <(sed -nE 's/^ *# *include +"([^"]+)".*/\1/p; s/^ *# *include +<(ndb\/[^>]+)>.*/\1/p' "$file")
done
[ "${#seen[@]}" -ge 150 ] || law "only ${#seen[@]} files go into the library: the list is not complete"

[ "$broken" = 0 ] && echo "$known files say their licence, ${#seen[@]} go into the client library"
exit "$broken"
