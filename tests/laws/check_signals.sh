#!/bin/bash
# check_signals.sh -- signals/README.md says what gsn.def, kernel/base/signal.h and the headers of the signals say.
# SPDX-License-Identifier: GPL-2.0-only
# usage: check_signals.sh ROOT [protocols] (protocols: prints that table as it has to be)
set -u
cd "${1:?usage: check_signals.sh ROOT [protocols]}" || exit 2
page=signals/README.md list=signals/gsn.def shape=kernel/base/signal.h
broken=0
rot() { printf '%s: %s\n' "$page" "$1"; broken=1; }

# --- Protocols: a row for each header with payloads, by their first number. What it is for stands in its first comment. ---
protocols() {
    awk -F '[(,] *' '
        function end_run() {
            if (run == "") return
            runs[run] = runs[run] (runs[run] == "" ? "" : ", ") first (last > first ? "-" last : "")
        }
        FNR == 1 { header = FILENAME; sub(/^signals\//, "", header); head = 1; about = "" }
        head { line = $0; sub(/^\/?[ *]+/, "", line); about = about (about == "" ? "" : " ") line }
        head && /\*\// {
            head = 0
            if (match(about, /docs\/protocols\/[a-z_]+\.md/)) {
                path = name = substr(about, RSTART, RLENGTH)
                gsub(/.*\/|\.md/, "", name)
                link[header] = "[" name "](../" path ")"
            }
            sub(/^[a-z_.]+ -- /, "", about)
            sub(/\.? *(See docs.*|\*\/)$/, "", about)
            what[header] = about
        }
        /^SIGNAL_STRUCT\(/ { home[$2] = header }
        /^GSN(_KERNEL)?\(/ {
            header = /^GSN_KERNEL/ ? "kernel/base/kernel_signals.h" : home[$4]
            if (!count[header]++) order[++headers] = header
            if (header != run) { end_run(); run = header; first = $2 }
            last = $2
        }
        END {
            end_run()
            print "| header | what it is for | signals | numbers | page |\n| --- | --- | --- | --- | --- |"
            for (i = 1; i <= headers; i++) {
                header = order[i]
                printf "| `%s` | %s | %d | %s | %s |\n", header, what[header], count[header], runs[header], link[header]
            }
        }' kernel/base/kernel_signals.h signals/*.h "$list"
}
[ "${2:-}" != protocols ] || { protocols; exit; }

# rows SECTION: of the tables of a section of the page
rows() { awk -v section="## $1" '/^## / { here = $0 == section } here && /^\|/' "$page"; }
# compare WHAT SAID MUST
compare() {
    local difference
    difference=$(diff <(printf '%s\n' "$2") <(printf '%s\n' "$3")) ||
        rot "$1 are others (< the page, > the code):"$'\n'"$(grep '^[<>]' <<<"$difference")"
}
compare "the protocols (tests/laws/check_signals.sh . protocols)" "$(rows Protocols)" "$(protocols)"

# --- Rules: the last word of each signal in gsn.def, whose own comment explains them too. ---
rules=$(sed -nE 's/^GSN.*, ([A-Z]+)\)$/\1/p' "$list" | sort -u)
[ "$(wc -l <<<"$rules")" -ge 5 ] || rot "no rules can be read from $list"
compare "the rules" "$(rows 'Names and answers' | cut -d '|' -f 2 | grep -oE '`[A-Z]+`' | tr -d '`' | sort -u)" "$rules"
for rule in $rules; do
    sed '/^GSN/,$d' "$list" | grep -qw "$rule" || rot "the comment of $list does not explain $rule"
done

# --- Who may send: enum sender_class, and what those that have several parts are made of. ---
classes=$(sed -nE '/^enum sender_class/,/^}/s/^ *(FROM_[A-Z]+) = ([^,]*),.*/\1 \2/p' "$shape" | sed -E 's/ [0-9]+$//; s/ \|//g' | sort)
[ "$(wc -l <<<"$classes")" -ge 4 ] || rot "no classes of senders can be read from $shape"
compare "the classes of senders" "$(rows 'Who may send what' | grep '^| `' | grep -oE '`FROM_[A-Z]+`|\|$' | tr -d '`\n' |
    sed 's/|/\n/g; s/FROM/ FROM/g' | sed 's/^ //' | sort)" "$classes"

# --- Sentences: a part of the code's words, whatever the lines of the page are. ---
says() { [[ " $(tr -s ' \n' '  ' <"$page")" == *"$1"* ]] || rot "it has to say: $1"; }
number() { sed -nE "s/^#define $1 +([0-9]+)u.*/\1/p" "$shape"; }
members=$(sed -n '/^struct signal_head/,/^}/s/^ *uint32_t \([a-z]*\);/\1/p' "$shape" | paste -sd , | sed 's/,/, /g')
says "head ($(number SIGNAL_HEAD_WORDS) words: $members)"
says "up to $(number SIGNAL_WORDS_MAX) payload words"
says "up to $(number SIGNAL_SECTIONS_MAX) sections of any length, up to $(number SIGNAL_EXTENT_MAX) words in all"
says "do not end as their rule does: $(sed -nE 's/^GSN[^,]*, ([A-Z_0-9]+),.*, ([A-Z]+)\)$/\1 \2/p' "$list" |
    awk '$2 != "TRAIN" && $1 !~ $2 "$" { printf "%s`%s` (%s)", n++ ? ", " : "", $1, $2 }')."

# --- What the page names is there. ---
while read -r file; do
    [ -e "$file" ] || [ -e "signals/$file" ] || rot "it names $file"
done < <(grep -oE '`[a-z_/]+\.(c|h|def|sh)`|\]\([^)]+\)' "$page" | sed -E 's/^\]\(|[`)]//g' | sort -u)

[ "$broken" = 0 ] && echo "$page says what $(grep -c '^GSN' "$list") signals are like"
exit "$broken"
