#!/bin/bash
# draw.sh -- makes the pictures of docs/ARCHITECTURE.md from their texts. Needs an awk and nothing else.
# SPDX-License-Identifier: GPL-2.0-only
# usage: draw.sh [DIRECTORY] (where the .svg files go; else beside their texts)
set -eu
here=$(dirname "$(readlink -f "$0")")
to=${1:-$here}
export LC_ALL=C
draw() { # draw NAME TEXT
    awk -f "$here/svg.awk" -f "$here/$1.awk" "$2" >"$to/$1.svg"
}
draw rooms "$here/../../tests/laws/rooms.txt"
draw threads "$here/threads.txt"
draw write "$here/write.txt"
