#!/bin/bash
# sandbox.sh -- what ../../sandbox.sh says and does when something is in the way: wrong words, another user, a disk that is too
# small, data nodes that do not come up, a management server that is lost, whose port is taken, or that hangs, a node that hangs.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: sandbox.sh BIN_DIR SOURCE_DIR
#
# The script runs in a directory of its own, with the programs that are built already: a cmake that does nothing stands before
# the real one.
SOURCE=$(readlink -f "${2:?usage: sandbox.sh BIN_DIR SOURCE_DIR}")
source "$(dirname "$0")/cluster.sh"
HOME_OF="$BOX/a path with blanks"
SANDBOX=$HOME_OF/sandbox

mkdir -p "$HOME_OF/build/bin" "$BOX/path"
chmod 755 "$BOX"
cp "$SOURCE/sandbox.sh" "$HOME_OF/"
ln -s "$BIN"/* "$HOME_OF/build/bin/"
: >"$HOME_OF/build/compile_commands.json"
printf '#!/bin/sh\nexit 0\n' >"$BOX/path/cmake"
chmod +x "$BOX/path/cmake"
export PATH=$BOX/path:$PATH

box() { # CODE COMMAND [WORD...]: of the sandbox; what it prints is in $BOX/out and $BOX/err.
    local code=$1 file
    shift
    want "$code" "$HOME_OF/sandbox.sh" "$@"
    for file in "$SANDBOX"/mgm/ndb_*.pid "$SANDBOX"/node*/ndb_*.pid; do # What is in the background ends with the test.
        if [ -s "$file" ]; then PIDS+=("$(cat "$file")"); fi
    done
}

pid_of() { cat "$SANDBOX/$1"; }
ended() { # PID
    for _ in $(seq 600); do
        [ -n "$(ours "$1")" ] || return 0
        sleep 0.1
    done
    fail "process $1 does not end"
}

say "Wrong words"
box 0 --help
want_text out '^usage: '
box 0 -h
box 2
want_text err '^usage: '
box 2 frob
want_text err '^There is no command frob; ./sandbox.sh --help lists them'
box 2 start now
want_text err 'start takes nothing more: now'
NDB_SANDBOX_WAIT=soon box 2 start
want_text err "^NDB_SANDBOX_WAIT is 'soon', which is no number of seconds"
want 0 sh "$HOME_OF/sandbox.sh" --help # Not everybody's shell has what the script needs.
want_text out '^usage: '
[ ! -e "$SANDBOX" ] || fail "something was started"
box 0 stop
want_text out 'not running'

say "It knows how many LDM threads a data node has"
eval "$(grep -E '^ldm_threads\(\)' "$SOURCE/sandbox.sh")"
awk '/by_cpus\[\] = \{/ { on = 1 } /^};/ { on = 0 } on' "$SOURCE/ndbmtd/layout.c" | grep -oE '\{[0-9]+, [0-9]+' | tr -d '{,' >"$BOX/layout"
[ "$(wc -l <"$BOX/layout")" -ge 20 ] || die "no table of layouts in ndbmtd/layout.c"
for cpus in 1 2 3 4 5 6 7 8; do
    expected=$(awk -v cpus="$cpus" 'BEGIN { ldm = 1 } $1 <= cpus { ldm = $2 } END { print ldm }' "$BOX/layout")
    [ "$(ldm_threads "$cpus")" = "$expected" ] || fail "$cpus CPUs: $(ldm_threads "$cpus") LDM threads instead of $expected"
done

say "It sees whether a process of many threads works"
eval "$(grep -E '^works\(\)' "$SOURCE/sandbox.sh")"
python3 -c 'import threading, time
for _ in range(60): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("ready", flush=True)
time.sleep(600)' >"$BOX/threads" &
many=$!
PIDS+=("$many")
until grep -q ready "$BOX/threads"; do sleep 0.05; done
set -o pipefail # As in the script.
for _ in $(seq 20); do works "$many" || fail "it takes a process of 61 threads for one that has ended"; done
kill -9 "$many"
wait "$many" 2>/dev/null
works "$many" && fail "it takes a process that has ended for one that works"
set +o pipefail

say "A disk that is too small, at the first start and at the next"
said=()
for try in 1 2; do
    printf '#!/bin/sh\necho Avail; echo 97\n' >"$BOX/path/df"
    chmod +x "$BOX/path/df"
    box 1 start
    want_text err "^$SANDBOX has 97 MB of room, and the cluster takes [0-9]+ MB more: make room there first"
    [ ! -e "$SANDBOX/node1/ndb_1.pid" ] || fail "something was started"
    said[try]=$(sed -nE 's/.* takes ([0-9]+) MB more.*/\1/p' "$BOX/err")
    mkdir -p "$SANDBOX/node1/ndb_1_fs/REDO"
    dd if=/dev/zero of="$SANDBOX/node1/ndb_1_fs/REDO/part" bs=1M count=20 2>/dev/null
done
difference=$((said[1] - said[2])) # du rounds up.
[ "$difference" -ge 20 ] && [ "$difference" -le 22 ] || fail "what is made of the log is asked for again: ${said[*]}"
rm -r "$BOX/path/df" "$SANDBOX/node1/ndb_1_fs"

say "As long as there are files the number of threads stays"
mkdir "$SANDBOX/node1/ndb_1_fs"
sed -i 's/^NumCPUs=.*/NumCPUs=5/' "$SANDBOX/config.ini"
printf '#!/bin/sh\necho Avail; echo 97\n' >"$BOX/path/df"
chmod +x "$BOX/path/df"
box 1 start
grep -qx 'NumCPUs=5' "$SANDBOX/config.ini" || fail "another number: $(grep NumCPUs "$SANDBOX/config.ini")"
rm -r "$BOX/path/df" "$SANDBOX/node1/ndb_1_fs"

say "Data nodes that do not come up: no file may have more than 12 MB"
echo 'an error of long ago' >"$SANDBOX/node1/ndb_1_error.log"
touch -d '2 days ago' "$SANDBOX/node1/ndb_1_error.log"
(
    ulimit -f 12288
    NDB_SANDBOX_WAIT=15 box 1 start
    exit "$FAILED"
) || FAILED=1
want_text out '^The last failure in .*/sandbox/node[12]/ndb_[12]_error\.log:'
want_text out '^Message: '
want_text out '^The end of .*/sandbox/node[12]/ndb_[12]_out\.log:'
want_text out 'D1/|REDO|LCP'
! grep -q 'of long ago' "$BOX/out" || fail "what another start has said is told: $(cat "$BOX/out")"
box 0 stop
want_text out 'The cluster is (down|not running)'
rm -rf "$SANDBOX"

say "It runs: only what is for users is in sandbox/bin, and status connects once"
box 0 start
for program in ndb_mgm ndb_mgmd ndbmtd ndb_memcached example_batch; do
    [ -x "$SANDBOX/bin/$program" ] || fail "sandbox/bin has no $program"
done
for program in "$SANDBOX"/bin/*; do
    [[ ${program##*/} =~ ^(ndb|example_) ]] || fail "sandbox/bin has ${program##*/}"
done
box 0 status
[ "$(grep -c 'Connected to' "$BOX/out")" -le 1 ] || fail "status connects more than once: $(cat "$BOX/out")"
want_text out 'Node 1: started'
want_text out 'Data usage'
box 0 start
want_text out 'running already'

say "Loading was cut off: the next start loads, also when all three run"
: >"$SANDBOX/loading"
box 1 demo
want_text out '^Not all of sandbox.package is there: ./sandbox.sh start loads it'
box 0 start
want_text out 'Loading the package database'
want_text out '^sandbox.package: .* imported, 0 rejected'
[ ! -e "$SANDBOX/loading" ] || fail "it is still to be loaded"

say "Two at once"
flock "$HOME_OF" sleep 600 &
holder=$!
PIDS+=("$holder")
while flock --nonblock "$HOME_OF" true; do sleep 0.05; done
for command in start stop clean demo; do
    box 1 $command
    want_text err '^Another ./sandbox.sh is at work here'
done
pkill -P "$holder" || true
wait "$holder" 2>/dev/null
box 0 status

say "All three are there, and a worker hangs: start does not say that all is well"
worker=$(pgrep -P "$(pid_of node1/ndb_1.pid)")
kill -STOP "$worker"
until run "$SANDBOX/bin/ndb_mgm" -e '1 STATUS' | grep -q 'does not answer'; do sleep 0.1; done
for i in $(seq 25); do # As many as are kept.
    printf 'Time: 2026-01-01 00:00:%02d\nStatus: temporary error\nMessage: failure %d\nError: 2305\nError data: of a test\n' "$i" "$i"
    printf 'Trace file name: %0200d\n***EOM***\n' "$i"
done >"$SANDBOX/node1/ndb_1_error.log"
NDB_SANDBOX_WAIT=1 box 1 start
want_text out '^Message: failure 25$'
! grep -q 'failure 24' "$BOX/out" || fail "more than the last failure is told: $(cat "$BOX/out")"
want_text err '^Not all nodes are STARTED after 1 s: node 1 is NO_ANSWER'
want_text out '^A process that hangs is ended by ./sandbox.sh stop'
want_text out '^The end of .*ndb_1_out.log:'
! grep -q ndb_2 "$BOX/out" || fail "what a node says that is well: $(cat "$BOX/out")"
NDB_SANDBOX_WAIT=1 box 1 demo # Which would kill the only one that works.
want_text err '^Not all nodes are STARTED after 1 s: node 1 is NO_ANSWER'
kill -CONT "$worker"
box 0 start
want_text out 'running already'

say "Single user mode is on: nobody waits for its end in silence"
client=$(run "$SANDBOX/bin/ndb_mgm" -e SHOW | sed -n '/API/,$s/^id=\([0-9]*\).*/\1/p' | head -n 1)
want 0 "$SANDBOX/bin/ndb_mgm" -e "ENTER SINGLE USER MODE $client"
for command in start demo; do
    box 1 $command
    want_text err '^Single user mode is on, for one client alone\. To end it: '
done
want 0 "$SANDBOX/bin/ndb_mgm" -e 'EXIT SINGLE USER MODE'
until run "$SANDBOX/bin/ndb_mgm" -e 'ALL STATUS' | grep -c ': started' | grep -qx 2; do sleep 0.1; done

if [ "$(id -u)" = 0 ]; then
    say "Another user may look, and do nothing"
    for command in start stop demo clean test; do
        want 1 setpriv --reuid=nobody --regid=nogroup --clear-groups "$HOME_OF/sandbox.sh" "$command"
        want_text err 'cannot be written by you .* it belongs to root'
    done
    want 0 setpriv --reuid=nobody --regid=nogroup --clear-groups "$HOME_OF/sandbox.sh" status
    [ -n "$(ours "$(pid_of mgm/ndb_49.pid)")" ] || fail "another user has stopped the cluster"
fi

say "The management server is killed, and a stranger takes its port"
port=$(sed 's/.*://' "$SANDBOX/connectstring")
pid=$(pid_of mgm/ndb_49.pid)
kill -9 "$pid"
ended "$pid"
box 1 status
want_text out '^The management server is not running, two data nodes are: ./sandbox.sh start'
python3 - "$port" >"$BOX/stranger" 2>&1 <<'END' &
import socket, sys, time
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(64)
time.sleep(600)
END
stranger=$!
PIDS+=("$stranger")
until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    kill -0 "$stranger" 2>/dev/null || die "port $port: $(cat "$BOX/stranger")"
    sleep 0.1
done
# No program of the sandbox comes to him, as after a reboot.
for program in 'ndb_mgm -e SHUTDOWN' 'ndb_drop_table -d sandbox package'; do
    # shellcheck disable=SC2086 # Words.
    want 1 "$SANDBOX/bin/"$program
    want_text err '^The cluster of the sandbox does not run: ./sandbox.sh start'
done
box 1 start
want_text err "taken the management server's port, $port\."
want_text err 'sandbox.sh stop, then ./sandbox.sh start, which takes another port'
box 0 stop
want_text out 'The cluster is down'
box 0 start
want_text out 'The package database is there'
[ "$(sed 's/.*://' "$SANDBOX/connectstring")" != "$port" ] || fail "the stranger's port again"
port=$(sed 's/.*://' "$SANDBOX/connectstring")
kill "$stranger"

say "The file with the cluster's address is lost: the default one, which may be a stranger's, does not count"
for text in '' localhost 127.0.0.1: $'127.0.0.1:1\n127.0.0.1:2'; do
    printf '%s' "$text" >"$SANDBOX/connectstring"
    want 1 "$SANDBOX/bin/ndb_mgm" -e SHUTDOWN
    want_text err '^The cluster of the sandbox does not run: ./sandbox.sh start'
    box 0 env
    want_text out "^export NDB_CONNECTSTRING=127.0.0.1:$port\$"
    want 0 "$SANDBOX/bin/ndb_mgm" -e SHOW
    printf '%s' "$text" >"$SANDBOX/connectstring"
    box 0 status
    box 0 start
    want_text out 'The cluster is running already'
    [ "$(cat "$SANDBOX/connectstring")" = "127.0.0.1:$port" ] || fail "the address is not put back"
done
rm "$SANDBOX/connectstring"
mv "$SANDBOX/config.ini" "$BOX/away.ini"
for command in start status env demo; do
    box 1 $command
    want_text err 'their address is lost .*: ./sandbox.sh stop, then start'
done
box 0 stop
want_text out 'The cluster is down'
box 0 start
want_text out 'The package database is there'
[ "$(grep '^NumCPUs=' "$SANDBOX/config.ini")" = "$(grep '^NumCPUs=' "$BOX/away.ini")" ] ||
    fail "other threads: $(grep '^NumCPUs=' "$SANDBOX/config.ini")"
port=$(sed 's/.*://' "$SANDBOX/connectstring")

say "The management server hangs"
pid=$(pid_of mgm/ndb_49.pid)
kill -STOP "$pid"
box 1 status
want_text err 'the management server has not answered yet'
want_text out "^The management server \(pid $pid\) runs and does not answer: "
for command in start demo; do
    box 1 $command
    want_text out "^The management server \(pid $pid\) runs and does not answer: "
done
box 0 stop
want_text out '^No management server answers: the data nodes are stopped without it'
want_text out 'The cluster is down'
ended "$pid"

say "A data node hangs"
box 0 start
want_text out 'The package database is there'
[ "$(sed 's/.*://' "$SANDBOX/connectstring")" = "$port" ] || fail "another port than the last one, which is free"
pid=$(pid_of node1/ndb_1.pid)
worker=$(pgrep -P "$pid")
# shellcheck disable=SC2086
kill -STOP "$pid" $worker
box 0 stop
want_text out '^Data node 1 does not answer: it has 10 s to go on'
want_text out "^pid $pid did not go on, or stop, in 10 s; it is killed"
want_text out 'The cluster is down'
for pid in "$pid" $worker; do ended "$pid"; done

say "The management server's files are gone while it runs: it is found none the less"
box 0 start
pid=$(pid_of mgm/ndb_49.pid)
mv "$SANDBOX/mgm" "$BOX/moved"
box 1 status
want_text out "^The management server runs \(pid $pid\), and its files are gone: ./sandbox.sh stop"
box 0 stop
want_text out "^pid $pid is a management server whose files are gone: ending it"
want_text out 'The cluster is down'
ended "$pid"

say "The pid file of a data node is gone, or empty, while it runs: it has it again"
box 0 start
for node in 1 2; do
    pid=$(pid_of "node$node/ndb_$node.pid")
    if [ "$node" = 1 ]; then rm "$SANDBOX/node1/ndb_1.pid"; else : >"$SANDBOX/node2/ndb_2.pid"; fi
    box 0 start
    want_text out "^pid $pid is data node $node without its pid file: it was written anew"
    want_text out 'The cluster is running already'
    [ "$(pid_of "node$node/ndb_$node.pid")" = "$pid" ] || fail "the pid file of node $node has $(pid_of "node$node/ndb_$node.pid"), not $pid"
done

say "All that the management server keeps is damaged: there is a way, and all data"
box 0 stop
for file in "$SANDBOX"/mgm/ndb_49_config.bin.*; do : >"$file"; done
box 1 start
want_text err "^Move sandbox/mgm away, and start again: the data nodes have all data, and the cluster's id"
rm -rf "$BOX/moved"
mv "$SANDBOX/mgm" "$BOX/moved"
box 0 start
want_text out 'The package database is there, as it was when the cluster stopped'

say "The same while the data nodes run; their status is true without a pid file, too"
pid=$(pid_of mgm/ndb_49.pid)
kill -9 "$pid"
ended "$pid"
mv "$SANDBOX/node1/ndb_1.pid" "$BOX/ndb_1.pid"
box 1 status
want_text out 'The management server is not running, two data nodes are: ./sandbox.sh start'
mv "$SANDBOX/node2/ndb_2.pid" "$BOX/ndb_2.pid"
box 1 status
want_text out 'The management server is not running, two data nodes are: ./sandbox.sh start'
mv "$BOX/ndb_1.pid" "$SANDBOX/node1/ndb_1.pid"
mv "$BOX/ndb_2.pid" "$SANDBOX/node2/ndb_2.pid"
for file in "$SANDBOX"/mgm/ndb_49_config.bin.*; do : >"$file"; done
box 1 start
want_text err "^Move sandbox/mgm away, and start again"
rm -rf "$BOX/moved"
mv "$SANDBOX/mgm" "$BOX/moved"
box 0 start
want_text out 'Starting what is not running any more'
box 0 status
box 0 stop

say "A worker without its angel is waited for; a data node of somebody else is left alone"
box 0 start
pid=$(pid_of node1/ndb_1.pid)
worker=$(pgrep -P "$pid")
(cd "$BOX" && exec "$HOME_OF/build/bin/ndbmtd" --foreground --ndb-connectstring=127.0.0.1:1 --connect-retries=-1) >"$BOX/stranger" 2>&1 &
stranger=$!
PIDS+=("$stranger")
until [ "$(cat "/proc/$stranger/comm")" = ndbmtd ]; do sleep 0.02; done
kill -STOP "$worker"
kill -9 "$pid"
ended "$pid"
(sleep 3 && kill -CONT "$worker") & # It stops when it finds its angel gone.
box 0 stop
want_text out "^pid $worker is a data node without its angel: waiting for its end"
ended "$worker"
kill -0 "$stranger" || fail "somebody else's data node was stopped"
kill "$stranger"
box 0 clean
[ ! -e "$SANDBOX" ] && [ ! -e "$HOME_OF/build" ] || fail "clean leaves $(ls "$HOME_OF")"
