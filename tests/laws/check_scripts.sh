#!/bin/bash
# check_scripts.sh -- shellcheck finds nothing in the scripts of the tree, which are a third of the tests.
# SPDX-License-Identifier: GPL-2.0-only
# usage: check_scripts.sh ROOT; exit code 77 without shellcheck
set -u
cd "${1:?usage: check_scripts.sh ROOT}" || exit 2
command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
mapfile -t scripts < <(grep -rlE '^#!/bin/(ba)?sh' --exclude-dir=.git --exclude-dir='build*' --exclude-dir=sandbox . | sort)
[ ${#scripts[@]} -ge 80 ] || { echo "only ${#scripts[@]} scripts: the list is not complete"; exit 1; }
printf '%s\0' "${scripts[@]}" | xargs -0 -P 2 -n 16 shellcheck -x -P SCRIPTDIR -S warning -f gcc || exit 1
echo "shellcheck finds nothing in ${#scripts[@]} scripts"
