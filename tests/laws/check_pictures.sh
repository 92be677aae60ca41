#!/bin/bash
# check_pictures.sh -- the pictures are what their texts say now, and the texts say what the code and the protocols' pages do.
# SPDX-License-Identifier: GPL-2.0-only
# usage: check_pictures.sh ROOT
set -u
cd "${1:?usage: check_pictures.sh ROOT}" || exit 2
broken=0
rot() { printf 'picture out of date: %s\n' "$1"; broken=1; }
same() { # same WHAT EXPECTED FOUND: two lists, neither of which may be empty.
    local difference
    [ -n "$2" ] || rot "$1: nothing to compare with"
    difference=$(diff <(printf '%s\n' "$2") <(printf '%s\n' "$3")) || rot "$1:"$'\n'"$difference"
}
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT

# Drawn anew. The rooms' text is the law itself (check_laws.sh), so the arrows are those that it allows.
docs/pictures/draw.sh "$box" || rot "docs/pictures/draw.sh failed"
for picture in rooms threads write; do
    cmp -s "$box/$picture.svg" "docs/pictures/$picture.svg" || rot "$picture.svg is not what its text says: run docs/pictures/draw.sh"
    grep -qF "(pictures/$picture.svg)" docs/ARCHITECTURE.md || rot "docs/ARCHITECTURE.md does not show $picture.svg"
done
for picture in docs/pictures/*.svg; do
    [ -e "$box/$(basename "$picture")" ] || rot "$picture is drawn by nobody"
done

# The way of a write: the messages that scenario_one_write compares with the blocks, and below them signals that there are.
page=$(sed -n '/^```one_write$/,/^```$/p' docs/protocols/transaction.md | grep -v '^```')
same "write.txt and transaction.md" "$page" "$(sed '/^= durable/,$d' docs/pictures/write.txt | grep -- ' -> ' | grep -v '^#')"
durable=$(sed -n '/^= durable/,$ s/.* -> .*: \([A-Z_]*\)$/\1/p' docs/pictures/write.txt | sort -u)
[ -n "$durable" ] || rot "write.txt has no signals that make a GCI durable"
for gsn in $durable; do
    grep -qE "^GSN\([0-9]+, $gsn," signals/gsn.def || rot "write.txt: no signal is called $gsn"
    grep -qw "$gsn" docs/protocols/gcp.md || rot "write.txt: docs/protocols/gcp.md does not know $gsn"
done

# Which block runs in which thread, and how many threads of a kind there may be.
code=$(awk '
    FILENAME ~ /node_blocks/ {
        while (match($0, /\{BLOCK_[A-Z]+/)) {
            thread[substr($0, RSTART + 7, RLENGTH - 7)] = "main"
            $0 = substr($0, RSTART + RLENGTH)
        }
        next
    }
    /^uint32_t layout_thread_of/ { inside = 1 }
    inside && /case BLOCK_/ { gsub(/.*case BLOCK_|:.*/, ""); here[$0] }
    inside && /return THREAD_/ {
        to = /THREAD_REP/ ? "rep" : /ldm_count/ ? "tc" : /THREAD_LDM_FIRST/ ? "ldm" : "main"
        for (block in here) thread[block] = to
        split("", here)
    }
    /^}/ { inside = 0 }
    END { for (block in thread) print thread[block], block }' ndbmtd/node_blocks.c ndbmtd/layout.c | sort)
same "blocks of threads.txt and ndbmtd/layout.c" "$code" "$(awk '/^thread / { thread = $2 } /^block / { print thread, $2 }' docs/pictures/threads.txt | sort)"
same "counts of threads.txt and ndbmtd/layout.h" \
    "$(sed -nE 's/^#define (LDM|TC|RECV|SEND)_COUNT_MAX +([0-9]+)u/\L\1 \2/p' ndbmtd/layout.h)" \
    "$(sed -nE 's/^thread ([a-z]+) \| [0-9]+\.\.([0-9]+) .*/\1 \2/p' docs/pictures/threads.txt)"

[ $broken -eq 0 ] && echo "the pictures show what is there"
exit $broken
