#!/bin/bash
# check_laws.sh -- the few laws, as a test: include direction, banned calls, consistent registers.
# SPDX-License-Identifier: GPL-2.0-only
# usage: check_laws.sh ROOT
set -u
cd "$1" || exit 2
broken=0
law() { printf 'law broken: %s\n' "$1"; broken=1; }

# --- Who may include whom: room, then the rooms that it may name. Its own folder is always allowed. ---
allowed() {
    case "$1" in
    kernel/base/*) echo "kernel/base" ;;
    kernel/sim/*) echo "kernel transporters" ;;
    kernel/*) echo "kernel/base kernel/[a-z_]*\.\(h\|def\)" ;;
    formats/*) echo "formats kernel/base/bitmask\.h kernel/base/block_ref\.h kernel/base/u64\.h" ;;
    values/*) echo "values include/ndb ndb" ;;
    signals/*) echo "signals values kernel/base include/ndb ndb" ;;
    config/*) echo "config include/ndb ndb" ;;
    transporters/*) echo "transporters kernel/base" ;;
    blocks/*) echo "blocks signals values kernel formats include/ndb" ;;
    mgmd/*) echo "mgmd config service include/ndb ndb signals transporters kernel/base" ;;
    api/sql/*) echo "api/sql values include/ndb ndb" ;;
    api/core/*) echo "api/core api/sql signals values kernel/base include/ndb ndb" ;;
    api/ndb/*) echo "api include/ndb ndb signals values config transporters kernel/base" ;;
    ndbmtd/*) echo "ndbmtd service blocks kernel signals values transporters config include/ndb ndb" ;;
    tools/*) echo "tools service formats config include/ndb ndb kernel/exit_codes\.def" ;;
    servers/*) echo "servers service include/ndb ndb" ;;
    service/*) echo "service" ;;
    *) echo "" ;;
    esac
}
while read -r file; do
    rooms=$(allowed "$file")
    [ -n "$rooms" ] || continue
    pattern=$(printf '%s' "$rooms" | sed 's/ /\\|/g')
    bad=$(grep -n '^#include "' "$file" | grep -v "#include \"\($pattern\)" | head -3)
    [ -z "$bad" ] || law "$file includes what its room may not know: $bad"
done < <(find kernel formats values signals config transporters blocks mgmd api ndbmtd tools servers service -name '*.[ch]' 2>/dev/null)

# Of another block only its one public header: blocks/<block>/<short>.h, never a *_state.h.
while IFS=: read -r file line include; do
    own=$(dirname "$file")
    case "$include" in
    *"\"$own/"*) ;;
    *_state.h*) law "$file:$line includes another block's private header" ;;
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

# REQ, CONF, REF: a request has its confirmation.
for request in $(grep -ohE '^GSN\([0-9]+, [A-Z_0-9]+REQ, .*, REQ\)' signals/gsn.def | sed -E 's/^GSN\([0-9]+, ([A-Z_0-9]+)REQ,.*/\1/'); do
    grep -qE "^GSN\([0-9]+, ${request}CONF," signals/gsn.def || law "${request}REQ has no ${request}CONF"
done

# The first line of each file says what it is.
while read -r file; do
    name=$(basename "$file")
    head -1 "$file" | grep -qF "/* $name -- " || law "$file: first line is not '/* $name -- ... */'"
done < <(find kernel formats values signals config transporters blocks mgmd api ndbmtd tools servers examples bench tests include -name '*.[ch]' 2>/dev/null)

[ $broken -eq 0 ] && echo "all laws hold"
exit $broken
