#!/bin/bash
# check_sizes.sh -- what can be taken in at a glance: files of at most 600 lines, headers of 250, functions of 70.
# SPDX-License-Identifier: GPL-2.0-only
# usage: check_sizes.sh ROOT
#
# A file that is longer and yet one story says why in its first comment, with the words "one story". Headers that applications include
# may be as long as their section is. A function may be longer when it is a flat switch: a case in at least each fifth line.
set -u
cd "${1:?usage: check_sizes.sh ROOT}" || exit 2
mapfile -t files < <(find . \( -path ./.git -o -path './build*' -o -path ./sandbox -o -path ./tests \) -prune -o -name '*.[ch]' -printf '%P\n' | sort)
[ ${#files[@]} -ge 400 ] || { echo "only ${#files[@]} files: the list is not complete"; exit 1; }
awk '
    function end_of_file() {
        limit = file ~ /\.h$/ ? 250 : 600
        if (lines > limit && !one_story && file !~ /^include\/ndb\//)
            complain(file " has " lines " lines, not at most " limit)
    }
    function complain(what) { print "too long: " what; broken = 1 }
    FNR == 1 { if (file != "") end_of_file(); file = FILENAME; one_story = 0; head = 1; last = ""; from = 0 }
    { lines = FNR }
    head && /one story/ { one_story = 1 }
    head && /^[^ \/]/ && !/^ ?\*/ { head = 0 } # The first comments are over.
    /^{$/ && last != "" { from = begin; name = last; cases = 0 }
    from && /^ *(case .*|default):/ { cases++ }
    /^}$/ && from {
        if (FNR - from + 1 > 70 && cases * 5 < FNR - from + 1)
            complain(file ":" from " has a function of " FNR - from + 1 " lines, not at most 70: " name)
        functions++
        from = 0
    }
    # The lines in front of a body: where the function begins.
    /^[a-zA-Z_].*\(/ && !/;$/ { begin = FNR; last = $0 }
    /;$|^$/ { if (!from) last = "" }
    END {
        end_of_file()
        if (functions < 4000) complain("only " functions " functions were seen")
        if (!broken) print functions " functions in " ARGC - 1 " files can be taken in at a glance"
        exit broken
    }' "${files[@]}"
