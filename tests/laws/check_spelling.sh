#!/bin/bash
# check_spelling.sh -- documents, manual pages, messages and comments have no word that is a known misspelling.
# SPDX-License-Identifier: GPL-2.0-only
# usage: check_spelling.sh ROOT; exit code 77 without codespell. Tests are left out: they type wrong words on purpose.
set -u
cd "${1:?usage: check_spelling.sh ROOT}" || exit 2
command -v codespell >/dev/null || { echo "codespell is not installed"; exit 77; }
# Class codes of errors, letters of options, names of variables; "Occured" is the text of an event that the field's tools look
# for, and nNumber is a line's end before a word.
IGNORED=nd,ue,fro,fo,te,statics,occured,nnumber
mapfile -t files < <(find . -type f \( -name '*.md' -o -name '*.[chy]' -o -name '*.def' -o -name '*.sh' -o -name '*.in' -o -name '*.[18]' \
    -o -name '*.ini*' -o -name '*.yaml' -o -name '*.service*' \) -not -path './.git/*' -not -path './build*' -not -path './sandbox/*' \
    -not -path './tests/*' | sort)
[ ${#files[@]} -ge 500 ] || { echo "only ${#files[@]} files: the list is not complete"; exit 1; }
printf 'A wrnog word, teh example.\n' | codespell -q 3 - >/dev/null && { echo "codespell finds nothing"; exit 1; }
codespell -q 3 -L "$IGNORED" "${files[@]}" || exit 1
echo "${#files[@]} files are spelt right"
