#!/bin/bash
# check_format.sh -- all C files are as the committed .clang-format makes them.
# SPDX-License-Identifier: GPL-2.0-only
# usage: check_format.sh ROOT; exit code 77 without clang-format 14, which others disagree with
set -u
cd "${1:?usage: check_format.sh ROOT}" || exit 2
clang-format --version 2>/dev/null | grep -q 'version 14\.' || { echo "clang-format 14 is not installed"; exit 77; }
mapfile -t files < <(find . -name '*.[ch]' -not -path './.git/*' -not -path './build*' -not -path './sandbox/*' | sort)
[ ${#files[@]} -ge 800 ] || { echo "only ${#files[@]} files: the list is not complete"; exit 1; }
printf '%s\0' "${files[@]}" | xargs -0 -P 2 -n 60 clang-format --dry-run -Werror || exit 1
echo "${#files[@]} files have their format"
