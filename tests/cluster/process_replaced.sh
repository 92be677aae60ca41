#!/bin/bash
# process_replaced.sh -- another file lies under the path of a data node's program when it restarts, as after an upgrade: the
# node goes on with it, as the same process with the same angel; with the program that it has, when that file is no use.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
source "$HERE/failover.sh"
LINES='StopOnError=0'

# Two directories with the programs; the path leads to one of them by a link.
REAL=$BIN
for version in v1 v2; do
    mkdir "$BOX/$version"
    cp "$REAL/ndbmtd" "$REAL/ndb_mgmd" "$REAL/ndb_mgm" "$REAL/ndb_waiter" "$BOX/$version"
done
lead_to() { ln -sfn "$1" "$BOX/current"; }
replace() { cp "$REAL/ndbmtd" "$BOX/$1/new" && mv "$BOX/$1/new" "$BOX/$1/ndbmtd"; }
lead_to v1
out_log=$BOX/node1/ndb_1_out.log
pid_file=$BOX/node1/ndb_1.pid

# again COMMAND...: it makes the node begin another life; until that is started.
again() {
    local before
    said=$(wc -l <"$log")
    before=$(grep -c 'NDBCNTR: started' "$log")
    want 0 "$@"
    for _ in $(seq 900); do [ "$(grep -c 'NDBCNTR: started' "$log")" -gt "$before" ] && break; sleep 0.1; done
    wait_started 1
}
restart() { again "$REAL/ndb_mgm" -e 'ALL RESTART'; }
# runs PROGRAM: angel, which is the one that was started, and worker are of this file.
runs() {
    local pid
    [ "$(angel_of 1)" = "$angel" ] || fail "the pid file has $(angel_of 1), and $angel was started"
    for pid in "$angel" $(pgrep -P "$angel"); do
        [ "$(readlink "/proc/$pid/exe")" = "$1" ] || fail "process $pid runs $(readlink "/proc/$pid/exe") and not $1"
    done
    flock --nonblock "$pid_file" true && fail "nobody holds the pid file"
    want 0 "$REAL/ndb_select_count" -d test kept
    want_text out '^1 records'
}
# Since then.
says() { grep -qE -- "$1" < <(tail -n "+$((said + 1))" "$log") || fail "the log does not say '$1'"; }

say "by a relative path and with --initial: the next version behind the link, with rows that stay"
log=$out_log
write_config 1 1 "$LINES"
start_mgm --initial
wait_mgm || die "the management server does not start"
want 0 current/ndbmtd --initial --ndb-connectstring="$CS" --ndb-nodeid=1 --connect-delay=1
wait_text node1/ndb_1.pid .
angel=$(angel_of 1)
PIDS+=("$angel")
wait_started 1
want 0 "$REAL/ndb_create_table" --execute='CREATE TABLE test.kept (k INT NOT NULL PRIMARY KEY)'
echo 1 >kept.csv
want 0 "$REAL/ndb_import" test kept.csv
restart
runs "$BOX/v1/ndbmtd"
grep -q replaced "$log" && fail "a file that is the same was taken for another one"
lead_to v2
files=$(ls "/proc/$angel/fd" | wc -l)
restart
runs "$BOX/v2/ndbmtd"
says "the program has been replaced: the node goes on with $BOX/current/ndbmtd"

say "the file itself is replaced; the node is killed and comes back by the new one"
for _ in 1 2 3; do
    replace v2
    again kill -9 "$(worker_of 1)"
    runs "$BOX/v2/ndbmtd"
done
[ "$(ls "/proc/$angel/fd" | wc -l)" -le "$files" ] || fail "the angel has more open files than before: $(ls -l "/proc/$angel/fd")"

say "a file that is no program, cannot be executed, ends badly, hangs, or has gone: the node goes on with the one it has"
bad() { # WORDS: what the log says
    restart
    runs "$BOX/v2/ndbmtd (deleted)"
    says "$1"
    says 'the node goes on with the program that it was started from'
}
put() { # MODE TEXT
    printf '%s\n' "$2" >"$BOX/v2/new"
    chmod "$1" "$BOX/v2/new"
    mv "$BOX/v2/new" "$BOX/v2/ndbmtd"
}
put 755 'not a program'
bad 'current/ndbmtd: Exec format error'
put 644 'not to be executed'
bad 'current/ndbmtd: Permission denied'
put 755 $'#!/bin/sh\necho "no such option" >&2; exit 2'
bad 'was replaced, and cannot take over .*exit code 2 with --version'
says '^no such option'
put 755 $'#!/bin/sh\nexit 0'
bad 'exit code 0 with --version, where it does not say that it is ndbmtd'
put 755 $'#!/bin/sh\necho ndbmtd'
bad 'exit code 0 with --version, where it does not say that it is ndbmtd'
put 755 $'#!/bin/sh\nkill -SEGV $$'
bad 'signal 11 with --version'
put 755 $'#!/bin/sh\nexec sleep 1000'
bad 'signal 14 with --version'
rm "$BOX/v2/ndbmtd"
bad 'current/ndbmtd: No such file or directory'
lead_to v1
restart
runs "$BOX/v1/ndbmtd"

say "SIGTERM still means an orderly end"
kill -TERM "$angel"
for _ in $(seq 900); do [ -z "$(ours "$angel")" ] && break; sleep 0.1; done
[ -e "$pid_file" ] && fail "the pid file stays"
says 'Node shutdown completed'

say "no angel: the process itself goes on by the new file"
log=$BOX/node1.out
BIN=$BOX/current
start_node 1
angel=${NODE_PIDS[1]}
wait_started 1
restart
runs "$BOX/v1/ndbmtd"
lead_to v2
restart # There is none.
runs "$BOX/v1/ndbmtd"
says 'current/ndbmtd: No such file or directory'
replace v2
restart
runs "$BOX/v2/ndbmtd"
put 755 'not a program'
restart
runs "$BOX/v2/ndbmtd (deleted)"
replace v2
restart
runs "$BOX/v2/ndbmtd"
stop_cluster
