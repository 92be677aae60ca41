#!/bin/bash
# compare.sh -- a page that is made from tables is what its program makes of them now.
# SPDX-License-Identifier: GPL-2.0-only
# usage: compare.sh PROGRAM PAGE
set -u
program=${1:?usage: compare.sh PROGRAM PAGE} page=${2:?usage: compare.sh PROGRAM PAGE}
[ -x "$program" ] || { echo "$program is not there: build it first"; exit 2; }
difference=$(diff -u "$page" <("$program")) && { echo "$(basename "$page") is what its tables say"; exit 0; }
printf '%s\n' "$difference" | head -n 40
printf '\n%s is not what its tables say now. Make it anew with\n    %s >%s\n' "$page" "$program" "$page"
exit 1
