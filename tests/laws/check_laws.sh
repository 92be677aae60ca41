#!/bin/bash
# check_laws.sh -- the few laws, as a test: include direction, banned calls, consistent registers.
# SPDX-License-Identifier: GPL-2.0-only
# usage: check_laws.sh ROOT
set -u
cd "$1" || exit 2
broken=0
law() { printf 'law broken: %s\n' "$1"; broken=1; }

# --- Who may include whom: tests/laws/rooms.txt. Its picture is docs/pictures/rooms.svg. ---
sources() { find . \( -path ./.git -o -path './build*' -o -path ./sandbox \) -prune -o -name '*.[ch]' -printf '%P\n'; }
found=$({ sources | sed 's/$/:/'; sources | xargs grep -oH '^#include "[^"]*' | sed 's/#include "//'; } |
    awk -f tests/laws/who_may_include.awk tests/laws/rooms.txt -)
[ "${found##*$'\n'}" = "that is all" ] || law "who_may_include.awk did not come to its end"
while read -r complaint; do law "$complaint"; done < <(sed '$d' <<<"$found")

# Of another block only these headers: its *_state.h is its own, and so are the headers of its stories.
public="lcpwriter/lcpw.h cmvmi/event.h dbacc/acc.h dblqh/lqh.h dblqh/lqh_frags.h dblqh/failure/copy_pace.h dbtup/tup.h
    dbtup/tup_frag.h dbtup/tup_read.h dbtup/tup_change.h dbtup/tup_row.h dbtup/tup_index.h dbtup/tup_restore.h dbtup/tup_copy.h dbtux/tux.h
    ndbfs/fs_client.h lcpreader/lcpr.h"
for header in $public; do
    [ -e "blocks/$header" ] || law "blocks/$header is public and not there"
done
while IFS=: read -r file line include; do
    IFS=/ read -r room block _ <<<"$file"
    header=${include#*\"} header=${header%%\"*}
    case "$header" in
    "$room/$block/"*) continue ;;
    esac
    case " ${public//$'\n'/ } " in
    *" ${header#blocks/} "*) ;;
    *) law "$file:$line includes $header, another block's private header" ;;
    esac
done < <(grep -rn '#include "blocks/' blocks 2>/dev/null)

# --- What a block, a signal or the kernel may never call. ---
banned='\b(time|clock|clock_gettime|gettimeofday|rand|random|srand|sleep|usleep|malloc|calloc|realloc|free|fopen|open|read|write|printf|fprintf|strcpy|strcat|sprintf|qsort|getenv)\('
while read -r file; do
    case "$file" in kernel/host_* | kernel/base/arena.c | kernel/sim/*) continue ;; esac
    bad=$(grep -nE "$banned" "$file" | grep -vE '^[0-9]+: *(/?\*|//)' | grep -vE '(->|\.)[a-z_]+\(' | grep -vE '"[^"]*'"$banned" | head -3)
    [ -z "$bad" ] || law "$file calls what it may not: $bad"
    bad=$(grep -nE '\b(pthread_|uv_)[a-z]' "$file" | head -3)
    [ -z "$bad" ] || law "$file knows threads or sockets: $bad"
    bad=$(grep -nE '__DATE__|__TIME__' "$file" | head -3)
    [ -z "$bad" ] || law "$file depends on when it was built: $bad"
done < <(find blocks values signals formats kernel -name '*.[ch]' 2>/dev/null)

# No mutable file-scope state in blocks, signals and kernel (jam's spare ring, this_thread and this_jam are the exception).
while read -r file; do
    bad=$(grep -nE '^static [a-z_]+[a-z0-9_ \*]* [a-z_0-9]+(\[[^]]*\])*( = .*)?;' "$file" | grep -vE 'const |_Thread_local|spare_jam' | head -3)
    [ -z "$bad" ] || law "$file keeps mutable state outside of a node: $bad"
done < <(find blocks values signals formats kernel -path kernel/sim -prune -o -name '*.[ch]' -print 2>/dev/null)

# --- Registers. ---
duplicates=$(grep -ohE '^GSN(_KERNEL)?\([0-9]+' signals/gsn.def | grep -oE '[0-9]+' | sort -n | uniq -d)
[ -z "$duplicates" ] || law "signals/gsn.def uses numbers twice: $duplicates"
names=$(grep -ohE '^GSN(_KERNEL)?\([0-9]+, [A-Z_0-9]+' signals/gsn.def | sed 's/.*, //' | sort | uniq -d)
[ -z "$names" ] || law "signals/gsn.def uses names twice: $names"
for list in include/ndb/errors.def kernel/exit_codes.def kernel/error_inserts.def; do
    duplicates=$(grep -ohE '^[A-Z_]+\([0-9]+' $list | grep -oE '[0-9]+' | sort -n | uniq -d)
    [ -z "$duplicates" ] || law "$list uses numbers twice: $duplicates"
done

# An error insert is used in exactly one place in code and named by at least one test.
for number in $(grep -ohE '^ERROR_INSERT\([0-9]+' kernel/error_inserts.def | grep -oE '[0-9]+'); do
    uses=$(grep -rnE "ERROR_INSERTED\([^,]*, *$number\)" blocks kernel | wc -l)
    [ "$uses" -eq 1 ] || law "error insert $number is used in $uses places"
    grep -rqw "$number" tests || law "error insert $number is named by no test"
done
for number in $(grep -rohE 'ERROR_INSERTED\([^,]*, *[0-9]+\)' blocks kernel 2>/dev/null | grep -oE '[0-9]+\)' | tr -d ')'); do
    grep -qE "^ERROR_INSERT\($number," kernel/error_inserts.def || law "error insert $number is not in the register"
done

# Every pool of a block stands in its table of pools: a test can have it refuse.
for pool in $(grep -rohE '^    struct pool [a-z_]+;' blocks | sed -E 's/.* ([a-z_]+);/\1/' | sort -u); do
    members=$(grep -rhE "^    struct pool $pool;" blocks | wc -l)
    listed=$(grep -rhE "BLOCK_POOL\([a-z]+, $pool\)" blocks | wc -l)
    [ "$members" -eq "$listed" ] || law "$listed of $members pools called $pool stand in their block's table of pools"
done

# The management server and its console write the names of errors, not their numbers.
while read -r place; do law "an error has a name in include/ndb/errors.def: $place"; done < <(
    grep -nE '\b50[0-9]{2}\b' mgmd/*.[ch] tools/ndb_mgm*.[ch] | grep -vE '#define [A-Z_]+_MS ')

# REQ, CONF, REF: a request has its confirmation.
for request in $(grep -ohE '^GSN\([0-9]+, [A-Z_0-9]+REQ, .*, REQ\)' signals/gsn.def | sed -E 's/^GSN\([0-9]+, ([A-Z_0-9]+)REQ,.*/\1/'); do
    grep -qE "^GSN\([0-9]+, ${request}CONF," signals/gsn.def || law "${request}REQ has no ${request}CONF"
done

# A comment names its subject: it does not hang on the name of its field.
while read -r comment; do law "a comment begins with Of: $comment"; done < <(sources | xargs grep -nE '/\*+<? ?Of ')

# The first line of each file says what it is.
while read -r file; do
    name=$(basename "$file")
    head -1 "$file" | grep -qF "/* $name -- " || law "$file: first line is not '/* $name -- ... */'"
done < <(find kernel formats values signals config transporters blocks mgmd api ndbmtd service tools servers examples bench tests include -name '*.[ch]' 2>/dev/null)

[ $broken -eq 0 ] && echo "all laws hold"
exit $broken
