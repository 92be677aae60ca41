#!/bin/bash
# console.sh -- ndb_mgm against a running cluster: what it prints, and its exit codes.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

mgm() { want "$1" "$BIN/ndb_mgm" -e "$2"; }

say "SHOW, STATUS, REPORT"
mgm 0 SHOW
want_text out '^Cluster Configuration$'
want_text out '^\[ndbd\(NDB\)\]	2 node\(s\)$'
want_text out '^id=1	@127\.0\.0\.1  \(.*, Nodegroup: 0(, \*)?\)$'
want_text out '^id=2	@127\.0\.0\.1  \(.*, Nodegroup: 0(, \*)?\)$'
[ "$(grep -c ', \*)' "$BOX/out")" = 1 ] || fail "exactly one node must be marked as president"
want_text out '^\[ndb_mgmd\(MGM\)\]	1 node\(s\)$'
want_text out '^id=49	@127\.0\.0\.1  \('
want_text out '^\[mysqld\(API\)\]	6 node\(s\)$'
mgm 0 'ALL STATUS'
want_text out '^Node 1: started'
want_text out '^Node 2: started'
mgm 0 '2 STATUS'
want_text out '^Node 2: started'
mgm 0 'ALL REPORT MEMORY'
want_text out '^Node 1: Data usage is [0-9]+%\([0-9]+ 32K pages of total [0-9]+\)$'
want_text out '^Node 2: Index usage is '
before=$(sed -n 's/^Node 1: Data usage is [0-9]*%(\([0-9]*\) .*/\1/p' "$BOX/out")
load_and_compare 20000
mgm 0 '1 REPORT MemoryUsage'
after=$(sed -n 's/^Node 1: Data usage is [0-9]*%(\([0-9]*\) .*/\1/p' "$BOX/out")
[ "${after:-0}" -gt "${before:-0}" ] || fail "20000 rows, but data usage goes from '$before' to '$after' pages"
drop_awkward

mgm 0 'ALL REPORT'
want_text out '<id> REPORT RedoLog'
mgm 0 'ALL REPORT REDO'
want_text out '^Node 2: (no redo log, the node is diskless|Redo log part 1 is running)'
mgm 0 '2 REPORT CheckpointStatus'
want_text out '^Node 2: (no checkpoints, the node is diskless|Global checkpoint [0-9]+ is durable)'
mgm 1 'ALL REPORT WEATHER'
want_text out 'allowed: MemoryUsage, RedoLog, CheckpointStatus, EventLog'
want 0 "$BIN/ndb_mgm" --format=json -e 'ALL REPORT REDO'
want_text out '"diskless":	(true|false)'

mgm 0 'ALL REPORT EventLog'
for id in 1 2; do want_text out "^20[0-9-]+ [0-9:]+ Node $id: Started \\(version 1\.0\.0\\)$"; done
cut -c 1-19 "$BOX/out" | grep '^20' | LC_ALL=C sort -c || fail "the events are not in the order of their times"
mgm 0 '2 REPORT EVENT'
grep -q 'Node 1:' "$BOX/out" && fail "events of node 1 were not asked for"
want 0 "$BIN/ndb_mgm" --format=json -e '1 REPORT EventLog'
want_text out '"text":	"Started \(version'
mgm 255 '9 REPORT EventLog'

say "ndb_top"
want 0 "$BIN/ndb_top" --count=2 -n 2 -m
want_text out '^ndb_top: node 2, [0-9:]+, [0-9.]+ % of one CPU in all$'
want_text out '^thr name +user% +sys% +idle% +work% +spin% sleep%$'
want_text out '^  0 [a-z]+( +[0-9.]+){6}$'
want_text out '^  - others +[0-9.]+ +[0-9.]+$'
[ "$(grep -c '^ndb_top' "$BOX/out")" = 2 ] || fail "ndb_top does not look twice"
want 0 "$BIN/ndb_top" --count=1 --format=json
want_text out '^\{"node":[12],"time":[0-9]+,"elapsed_us":[0-9]+,"cpu":[0-9.]+,"threads":\[\{"thread":0,"name":"[a-z]+","user":'
# A second of the thread is work, spinning and sleep, but for what was counted a moment earlier or later.
sed -E 's/.*"work":([0-9.e-]+),"spin":([0-9.e-]+),"sleep":([0-9.e-]+).*/\1 \2 \3/' "$BOX/out" |
    awk '{ sum = $1 + $2 + $3 } END { exit !(sum > 90 && sum < 110) }' || fail "work, spinning and sleep are not all: $(cat "$BOX/out")"
want 1 "$BIN/ndb_top" --count=1 -n 9
want_text err 'Node 9|9'
want 2 "$BIN/ndb_top" --no-os-load
run "$BIN/ndb_top" -t >"$BOX/top.out" 2>&1 &
top=$!
wait_text top.out '^ndb_top: node'
kill -TERM $(pgrep -P "$top")
wait "$top" || fail "ndb_top ends with exit code $? when it is told to"
run "$BIN/ndb_top" -t -s 3600 >"$BOX/top.out" 2>&1 & # Not after an hour.
top=$!
sleep 1
kill -INT $(pgrep -P "$top")
wait "$top" || fail "ndb_top ends with exit code $? while it waits"
run "$BIN/ndb_top" -c 127.0.0.1:1 --connect-retries=-1 >"$BOX/top.out" 2>&1 & # Nobody is there.
top=$!
sleep 1
kill -TERM $(pgrep -P "$top")
wait "$top" && fail "ndb_top has shown nothing, and ends with exit code 0"
want 0 "$BIN/ndb_top" --no-os-load -m --count=1 --format=json
awk -F'"work":' '{ for (i = 2; i <= NF; i++) if (i > 2 && $i + 0 > last) exit 1; else last = $i + 0 }' "$BOX/out" ||
    fail "not those first that work most: $(cat "$BOX/out")"
if command -v script >/dev/null; then
    script -qec "stty rows 4; $BIN/ndb_top --count=1" /dev/null </dev/null >"$BOX/top.out" 2>&1 || fail "ndb_top does not work on a terminal"
    grep -qE '^  - others' "$BOX/top.out" && fail "4 lines are too few for: $(cat "$BOX/top.out")"
    want_text top.out '^[1-9][0-9]* more'
fi

say "HELP, CLUSTERLOG, DUMP, PROMPT, errors"
mgm 0 HELP
want_text out 'SHUTDOWN'
mgm 0 'HELP SHOW'
want_text out 'SHOW'
mgm 0 'CLUSTERLOG INFO'
want_text out 'INFO.*WARNING'
want 0 "$BIN/ndb_mgm" --format=json -e 'CLUSTERLOG INFO'
want_text out '"enabled":	true'
want_text out '"severities":	\["INFO", "WARNING"'
mgm 0 'CLUSTERLOG FILTER DEBUG'
want_text out 'DEBUG (enabled|disabled)'
mgm 0 'CLUSTERLOG FILTER' # Without a severity: the whole log, the other way.
want_text out '^Cluster logging is disabled\.$'
mgm 0 'CLUSTERLOG INFO'
want_text out '^Cluster logging is disabled\.$'
mgm 0 'CLUSTERLOG FILTER'
want_text out '^Cluster logging is enabled\.$'
mgm 0 'CLUSTERLOG OFF; CLUSTERLOG ON'
want_text out 'disabled'
want_text out 'enabled'
mgm 0 '1 DUMP 2555; 1 DUMP 2353; 1 DUMP 2500; 1 DUMP 2300'
mgm 0 '1 STATUS' # Its answer comes after the dump orders.
for text in 'DBTC.*pool operations: 0 in use' 'DBLQH.*pool operations: 0 in use' 'transactions shown' 'operations shown'; do
    grep -Eq "$text" "$BOX"/node1.out "$BOX"/node1/*.log 2>/dev/null || fail "no line '$text' in the log of node 1"
done
mgm 0 '1 DUMP 1000'
want_text out '^Sending dump signal with data:'
grep -q 'CMVMI: Data usage is' "$BOX"/node1.out && fail "node 1 writes down what nobody asked it to"
mgm 0 '1 LOGLEVEL STATISTICS=5 INFO = 7'
want_text out '^Executing LOGLEVEL STATISTICS=5 on node 1 OK!$'
want_text out '^Executing LOGLEVEL INFO=7 on node 1 OK!$'
mgm 0 'ALL DUMP 1000; 1 STATUS'
wait_text node1.out 'CMVMI: Data usage is [0-9]+%'
grep -q 'CMVMI: Data usage is' "$BOX"/node2.out && fail "node 2 was not asked to write it down"
mgm 0 'ALL LOGLEVEL STATISTICS=0'
want_text out '^Executing LOGLEVEL STATISTICS=0 on all nodes OK!$'
mgm 1 'ALL LOGLEVEL'
want_text out '^LOGLEVEL needs category=level'
mgm 255 '60 LOGLEVEL INFO=7'
mgm 0 'PURGE STALE SESSIONS'
want_text out '^No sessions purged$'
mgm 0 'HELP ENTER; HELP PURGE; HELP ROLLING'
want_text out '^ENTER SINGLE USER MODE <id>$'
mgm 1 NONSENSE
want_text out '^Invalid command: NONSENSE$'
want_text out '^Type HELP for help\.$'
mgm 1 'SHWO'
want_text out '^Invalid command: SHWO\. Did you mean SHOW\?$'
mgm 1 'RESTART 2'
want_text out 'Did you mean 2 RESTART\?$'
mgm 1 'START BACKUP NOWAIT'
want_text out '^Other versions of such systems have START BACKUP; this one does not have it yet'
mgm 1 'HELP START BACKUP'
want_text out '^Other versions of such systems have START BACKUP; this one does not have it yet'
mgm 1 'HELP BACKUP; HELP NODELOG; HELP NODEGROUP'
want_text out '^Other versions of such systems have CREATE NODEGROUP; this one does not have it yet'
want_text out '^Other versions of such systems have START BACKUP; this one does not have it yet'
want_text out '^Other versions of such systems have <id> NODELOG; this one does not have it yet'
mgm 1 'HELP FOO SHOW'
mgm 0 'HELP ALL STATUS'
mgm 1 'HELP WEATHER'
want_text out '^No help for WEATHER available \(allowed: SHOW, '
want 2 "$BIN/ndb_mgm" --try-reconnect=abc -e SHOW
want_text err '^ndb_mgm: --try-reconnect=abc is wrong \(allowed: a number from 0 to 100000, or -1: for ever\)$'
want_text err "^Try 'ndb_mgm --help'\$"
[ ! -s "$BOX/out" ] || fail "a wrong number prints: $(cat "$BOX/out")"
want 2 "$BIN/ndb_mgm" --promt=x
want_text err 'Did you mean --prompt\?$'
run "$BIN/ndb_mgm" -e '99 STATUS' >"$BOX/out" 2>&1 && fail "exit code 0 for a node that is not there"
want_text out '99: Node not found|Invalid node ID: 99'
run "$BIN/ndb_mgm" -c "127.0.0.1:$(free_port)" --connect-retries=0 -e SHOW >"$BOX/out" 2>&1 &&
    fail "exit code 0 without a management server"
for arguments in '-e SHOW' '--help' '--usage' '--version'; do
    # shellcheck disable=SC2086
    run "$BIN/ndb_mgm" $arguments >/dev/full 2>"$BOX/err"
    [ $? = 1 ] || fail "ndb_mgm $arguments to a full device does not end with 1"
    want_text err '^ndb_mgm: output: No space left on device$'
done
want 1 "$BIN/ndb_mgm" <"$BOX" # A directory cannot be read.
want_text err '^ndb_mgm: standard input: Is a directory; what follows is not carried out$'
want 1 python3 -c 'import os, subprocess, sys
end, begin = os.pipe()
os.set_blocking(end, False)
os.write(begin, b"PROMPT whole\nPROMPT a-part-of-a-line") # Reading fails behind it.
sys.exit(subprocess.run(sys.argv[1:], stdin=end).returncode)' "$BIN/ndb_mgm"
want_text err '^ndb_mgm: standard input: .*; what follows is not carried out$'
want_text out '^Prompt set to whole$'
grep -q 'a-part-of-a-line' "$BOX/out" && fail "a part of a line is carried out: $(cat "$BOX/out")"
want 0 "$BIN/ndb_mgm" --usage
want_text out '^Usage: ndb_mgm \[-'
want 0 "$BIN/ndb_mgm" --version
want_text out "^ndb_mgm $("$BIN/ndb_waiter" --version | cut -d ' ' -f 2)$"
want 0 "$BIN/ndb_mgm" < <(printf '49 status;;1 status ;\nquit\n') # As with -e.
want_text out '^Node 1: started'
# A comment is its whole line, whatever stands behind a semicolon.
want 0 "$BIN/ndb_mgm" < <(printf '# not yet: 1 stop; shutdown\n1 status; # first 1; then shutdown\n;# 2 stop;shutdown')
want_text out '^Node 1: started'
[ "$(grep -cv '^Connected' "$BOX/out")" -eq 1 ] || fail "a comment is carried out: $(cat "$BOX/out")"
want 0 "$BIN/ndb_mgm" -e $'# 1 stop; shutdown\n1 status; # shutdown; 2 stop'
want_text out '^Node 1: started'
[ "$(grep -cv '^Connected' "$BOX/out")" -eq 1 ] || fail "a comment of -e is carried out: $(cat "$BOX/out")"
for text in $'1 status\n# not yet: sleep; help stop' $'1 status # later; help stop\n' $'sleep 0\n1 status\t# help stop; help'; do
    want 0 "$BIN/ndb_mgm" -e "$text"
    [ "$(grep -cv '^Connected' "$BOX/out")" -eq 1 ] || fail "a comment of -e is carried out: $(cat "$BOX/out")"
    want 0 "$BIN/ndb_mgm" < <(printf '%s' "$text")
    [ "$(grep -cv '^Connected' "$BOX/out")" -eq 1 ] || fail "a comment is carried out: $(cat "$BOX/out")"
done
want 0 "$BIN/ndb_mgm" < <(printf '# %0*d' 5000 1; printf ' word%.0s' {1..400})
[ ! -s "$BOX/out" ] || fail "a long comment is told of: $(cat "$BOX/out")"
want 1 "$BIN/ndb_mgm" < <(printf 'PROMPT first\nHELP QUIT\0; PROMPT second\nPROMPT third\n')
want_text err '^A line with a zero byte is not carried out: HELP QUIT$'
want_text out '^Prompt set to third$'
grep -q second "$BOX/out" && fail "what is behind a zero byte is carried out: $(cat "$BOX/out")"
want 0 "$BIN/ndb_mgm" < <(printf 'show\nquit\n')
want_text out '^id=1	@'

say "at a terminal: Tab, Ctrl-C, the history of a console that is killed"
want 0 /usr/bin/python3 "$HERE/console_terminal.py" "$BIN/ndb_mgm" "$BOX/history"
want_text out '^the terminal works$'

say "a node hangs: it is shown as one that does, not as it was; the other one leads, and never do both"
kill -STOP "${NODE_PIDS[1]}"
"$BIN/ndb_top" --count=1 --format=json >"$BOX/top.out" 2>"$BOX/top.err" &
top=$!
until run "$BIN/ndb_mgm" -e SHOW | tee "$BOX/out" | grep -q 'does not answer'; do
    [ "$(grep -c ', \*)$' "$BOX/out")" -le 1 ] || fail "two nodes lead: $(<"$BOX/out")"
    sleep 0.05
done
wait "$top" || fail "ndb_top ends with $?"
want_text top.out '^\{"node":2,' # It has asked the next one.
want 1 "$BIN/ndb_waiter" --no-contact --wait-nodes=1 --timeout=1 # Its process is there.
want_text err '^Not all nodes are NO_CONTACT after 1 s: node 1 is NO_ANSWER$'
mgm 0 SHOW
want_text out '^id=1	@127\.0\.0\.1  \(does not answer\)$'
want_text out '^id=2	@.*, \*\)$'
mgm 0 'ALL STATUS'
want_text out '^Node 1: does not answer$'
want 0 "$BIN/ndb_mgm" --format=json -e '1 STATUS'
want_text out '"status":	"does not answer"'
want_text out '"address":	"127\.0\.0\.1"'
want_text out '"connected":	false'
mgm 255 'ALL REPORT MEMORY'
want_text out '^Node 1 does not answer$'
want_text out '^Node 2: Data usage is '
mgm 255 '2 STOP'
want_text out 'would stop the cluster: it is the last one of node group 0 that is started; node 1 does not answer\.'
want 1 "$BIN/ndb_waiter" --timeout=1
want_text out '^Node 1: NO_ANSWER \(waiting for STARTED\)$'
want_text err '^Not all nodes are STARTED after 1 s: node 1 is NO_ANSWER$'
grep -q 'WARNING  -- Node 1 does not answer: ' "$BOX"/mgm/ndb_49_cluster.log || fail "no word of it in the cluster log"
kill -9 "${NODE_PIDS[1]}"
unset "NODE_PIDS[1]"
# Until its link has ended the management server tells what the former life was, and would stop that one.
want 0 "$BIN/ndb_waiter" --no-contact --wait-nodes=1 --timeout=100
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100

say "one node of two may be stopped, then the other one not"
mgm 0 '1 STOP'
want_text out 'Node 1 has shutdown'
ended "${NODE_PIDS[1]}" || fail "node 1 ends with exit code $?"
run "$BIN/ndb_mgm" -e '2 STOP' >"$BOX/out" 2>&1 && fail "the last node was stopped: $(cat "$BOX/out")"
want_text out 'would stop the cluster'
mgm 0 'ALL STATUS'
want_text out '^Node 2: started'
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100
grep -Eq '^[0-9-]+ [0-9:]+ \[MgmtSrvr\] INFO     -- Node 1: ' "$BOX"/mgm/ndb_49_cluster.log || fail "no line of node 1 in the cluster log"

say "two data nodes hang: both are named"
kill -STOP "${NODE_PIDS[1]}" "${NODE_PIDS[2]}"
mgm 255 'ALL STOP'
want_text err '^ndb_mgm: waits for nodes 1 and 2 to stop$'
want_text out '^\*        Nodes 1, 2 do not answer\. They were told to stop, and do when they go on, unless the others have gone on without them: then they are restarted$'
kill -9 "${NODE_PIDS[1]}" "${NODE_PIDS[2]}"
NODE_PIDS=()
want 0 "$BIN/ndb_waiter" --no-contact --timeout=100
for id in 1 2; do start_node "$id"; done
want 0 "$BIN/ndb_waiter" --timeout=100

say "ALL STOP, SHUTDOWN"
cp "$BOX"/mgm/ndb_49_cluster.log "$BOX/before_stop"
mgm 0 'ALL STOP'
want_text out 'NDB Cluster has shutdown'
for id in 1 2; do ended "${NODE_PIDS[id]}" || fail "node $id ends with exit code $?"; done
NODE_PIDS=()
lines=$(wc -l <"$BOX/before_stop")
tail -n "+$((lines + 1))" "$BOX"/mgm/ndb_49_cluster.log | grep -E 'ALERT .*(rbitration|artitioning|may go on)' &&
    fail "an orderly stop of all nodes is told of as a divided cluster"
mgm 0 SHUTDOWN
ended "$MGM_PID" || fail "the management server ends with exit code $?"
