#!/bin/bash
# same_mgmd.sh -- a management server that is started twice, one after the other or at the same moment: one runs, the other changes nothing.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
umask 022

DIR=$BOX/mgm
MGMD=$BIN/ndb_mgmd

make_files() { # a.ini and b.ini, which differ, for a new port
    PORT=$(free_port)
    printf '[ndbd default]\nNoOfReplicas=1\n[ndb_mgmd]\nNodeId=49\nHostName=127.0.0.1\nPortNumber=%s\nDataDir=%s\n[ndbd]\nNodeId=1\nHostName=127.0.0.1\n[api]\n' \
        "$PORT" "$DIR" >"$BOX/a.ini"
    sed 's/^NoOfReplicas=1/&\nDataMemory=64M/' "$BOX/a.ini" >"$BOX/b.ini"
}

# start NAME FILE OPTION...: into NAME.out, its process is PID.
start() {
    local name=$1 file=$2
    shift 2
    : >"$BOX/$name.out" # Before the first look at it: the server's shell may be late.
    "$MGMD" -f "$BOX/$file" --ndb-nodeid=49 --nodaemon "$@" >"$BOX/$name.out" 2>&1 &
    PID=$!
    PIDS+=("$PID")
}

# All files of the directory, logs too, and what is in them.
all_of() { (cd "$1" && find . -type f -exec sha256sum {} + | sort -k 2); }

# refused WHAT PROCESS FILE OPTION...: it changes nothing, and says who has the directory.
refused() {
    local what=$1 process=$2 file=$3 before
    shift 3
    before=$(all_of "$DIR")
    want 1 "$MGMD" -f "$BOX/$file" --ndb-nodeid=49 --config-dir="$DIR" --nodaemon "$@"
    want_text err "^ndb_mgmd: $DIR/ is in use by another management server with the node id 49$process; stop that one first, or name another directory with --config-dir$"
    [ "$(wc -l <"$BOX/err")" -eq 1 ] || fail "$what: it says more: $(cat "$BOX/err")"
    [ "$(all_of "$DIR")" = "$before" ] || fail "$what: files have changed: $before; now $(all_of "$DIR")"
}

refused_all() { # PROCESS
    refused "the same file" "$1" a.ini
    refused "a changed file" "$1" b.ini
    refused "--initial" "$1" b.ini --initial
    refused "the cache" "$1" none.ini
}

say "who comes second while the first one runs changes nothing"
mkdir "$DIR"
make_files
start 1 a.ini
wait_text 1.out 'listens on port'
refused_all " \\(process $PID\\)"
sed "s/^PortNumber=.*/PortNumber=$(free_port)/" "$BOX/a.ini" >"$BOX/c.ini"
refused "another port" " \\(process $PID\\)" c.ini

say "a killed server leaves no lock, one that ends is waited for"
kill -9 "$PID"
ended "$PID" 2>/dev/null
start 2 a.ini
wait_text 2.out 'listens on port'
kill "$PID"
wait_text mgm/ndb_49_cluster.log 'Management server shuts down'
start 3 a.ini
wait_text 3.out 'listens on port'
kill "$PID"
ended "$PID" || fail "the server ends with exit code $?"
[ ! -e "$DIR/ndb_49_lock" ] || fail "the file of the lock is left behind"

say "the lock alone keeps a server out, whoever has it"
exec 9>>"$DIR/ndb_49_lock"
flock -n 9 || die "the lock is not free"
refused "a lock without a process" "" a.ini # It may be a server that ends.
echo 4711 >"$DIR/ndb_49_lock"
refused_all " \\(process 4711\\)"
exec 9>&-
start 4 a.ini
wait_text 4.out 'listens on port'
kill "$PID"
ended "$PID"

say "a server in the background has the lock"
want 0 "$MGMD" -f "$BOX/a.ini" --ndb-nodeid=49
PID=$(cat "$DIR/ndb_49.pid")
PIDS+=("$PID")
refused_all " \\(process $PID\\)"
before=$(all_of "$DIR")
want 1 "$MGMD" -f "$BOX/b.ini" --ndb-nodeid=49 # In the background, too.
want_text err 'is in use by another management server'
[ "$(all_of "$DIR")" = "$before" ] || fail "files have changed: $before; now $(all_of "$DIR")"
kill "$PID"
for _ in $(seq 1200); do [ -e "$DIR/ndb_49_lock" ] || break; sleep 0.05; done

say "what has the name of the lock and is none is somebody else's"
before=$(all_of "$DIR")
echo precious >"$BOX/target"
for kind in link file; do
    if [ $kind = link ]; then ln -s "$BOX/target" "$DIR/ndb_49_lock"; else cp "$BOX/target" "$DIR/ndb_49_lock"; fi
    want 1 "$MGMD" -f "$BOX/a.ini" --ndb-nodeid=49
    want_text err '/ndb_49_lock is in the way: it is not the lock file of a management server; remove it'
    [ "$(cat "$DIR/ndb_49_lock" "$BOX/target")" = $'precious\nprecious' ] || fail "the $kind is written over"
    rm "$DIR/ndb_49_lock"
done
[ "$(all_of "$DIR")" = "$before" ] || fail "files have changed: $before; now $(all_of "$DIR")"

say "a process id that cannot be written is told"
rm -f "$DIR/ndb_49.pid"
mkdir "$DIR/ndb_49.pid"
want 1 "$MGMD" -f "$BOX/a.ini" --ndb-nodeid=49
want_text err '^ndb_mgmd: .*/ndb_49\.pid cannot be written: Is a directory$'
rmdir "$DIR/ndb_49.pid"

say "a link or a pipe with the name of a file of the server"
names=(ndb_49.pid ndb_49_config.bin.1.tmp ndb_49.pid.tmp ndb_49_ports ndb_49_ports.tmp ndb_49_new_cluster)
for kind in link pipe; do
    rm -rf "$DIR"
    mkdir "$DIR"
    echo precious >"$BOX/target"
    for name in "${names[@]}"; do
        if [ "$kind" = link ]; then ln -s ../target "$DIR/$name"; else mkfifo "$DIR/$name"; fi
    done
    start "$kind" a.ini
    wait_text "$kind.out" 'listens on port'
    until [ "$(cat "$DIR/ndb_49.pid" 2>/dev/null)" = "$PID" ]; do kill -0 "$PID" || die "the server ends: $(cat "$BOX/$kind.out")"; done
    [ "$(stat -c %a "$DIR/ndb_49.pid")" = 644 ] || fail "not every user may read the process id: $(ls -l "$DIR/ndb_49.pid")"
    [ "$(cat "$BOX/target")" = precious ] || fail "what a $kind leads to is written over: $(cat "$BOX/target")"
    kill "$PID"
    ended "$PID" || fail "the server ends with exit code $?"
done
for name in ndb_49_config.bin.1 ndb_49_ports ndb_49_new_cluster; do # The cache says which cluster it is.
    rm -f "$DIR/$name"
    mkfifo "$DIR/$name"
done
want 1 "$MGMD" -f "$BOX/a.ini" --ndb-nodeid=49
want_text err 'ndb_49_config\.bin\.1 is not used: it cannot be read: Invalid argument$'
want_text err 'no configuration in .* can be read, and the cluster.s id is in it'
rm "$DIR"/ndb_49_*
mkfifo "$DIR/ndb_49_out.log"
want 0 "$MGMD" -f "$BOX/a.ini" --ndb-nodeid=49
PID=$(cat "$DIR/ndb_49.pid")
wait_text mgm/ndb_49_cluster.log 'ndb_49_out\.log cannot be opened: No such device or address; what the server says'
sleep 2.5 # It looks once a second whether the log is still there, and must not wait for a reader then.
want 0 timeout 60 "$BIN/ndb_mgm" -c "127.0.0.1:$PORT" -e show
rm "$DIR/ndb_49_out.log" # Then there is a file instead, of the mode that it always has.
until [ -f "$DIR/ndb_49_out.log" ]; do kill -0 "$PID" || die "the server ends"; done
[ "$(stat -c %a "$DIR/ndb_49_out.log")" = 640 ] || fail "the log is for everybody: $(ls -l "$DIR/ndb_49_out.log")"
until [ "/proc/$PID/fd/1" -ef "$DIR/ndb_49_out.log" ]; do kill -0 "$PID" || die "the server does not write to it"; done
kill -HUP "$PID" # Whoever has moved its log may think that it has to be told.
want 0 timeout 60 "$BIN/ndb_mgm" -c "127.0.0.1:$PORT" -e show
kill "$PID"
wait_text mgm/ndb_49_cluster.log 'Management server shuts down'
while kill -0 "$PID" 2>/dev/null; do sleep 0.05; done
want 0 "$MGMD" -f "$BOX/a.ini" --ndb-nodeid=49
PID=$(cat "$DIR/ndb_49.pid")
prlimit --pid "$PID" --fsize=1: # Its log has no room for the signal, and it ends in good order all the same.
kill "$PID"
while kill -0 "$PID" 2>/dev/null; do sleep 0.05; done
[ ! -e "$DIR/ndb_49.pid" ] || fail "a limit of file sizes has ended it"

say "two servers of one cluster may share a directory"
rm -rf "$DIR"
mkdir "$DIR"
sed "s/^\[ndbd\]/[ndb_mgmd]\nNodeId=50\nHostName=127.0.0.1\nPortNumber=$(free_port)\nDataDir=${DIR//\//\\/}\n&/" "$BOX/a.ini" >"$BOX/two.ini"
start 6 two.ini
first=$PID
"$MGMD" -f "$BOX/two.ini" --ndb-nodeid=50 --nodaemon >"$BOX/7.out" 2>&1 &
PIDS+=("$!")
wait_text 6.out 'listens on port'
wait_text 7.out 'listens on port'
kill "$first" "$!"
ended "$!" || fail "the second server ends with exit code $?"
ended "$first" || fail "the first server ends with exit code $?"

# started_id: the cluster's id by the name that the server began with last.
started_id() { sed -n 's/.* started: node .*, cluster MC_\([0-9a-f]*\),.*/\1/p' "$DIR/ndb_49_cluster.log" | tail -n 1; }

# one_wins OUT OUT: one of them listens, the other one is refused.
one_wins() {
    local runs refused deadline=$((SECONDS + 60))
    while :; do
        runs=$(grep -l 'listens on port' "$BOX/$1.out" "$BOX/$2.out" | wc -l)
        refused=$(grep -lE 'is in use by|cannot be used' "$BOX/$1.out" "$BOX/$2.out" | wc -l)
        [ "$runs" -eq 1 ] && [ "$refused" -eq 1 ] && return
        if [ "$runs" -gt 1 ] || [ "$refused" -gt 1 ] || [ "$SECONDS" -ge "$deadline" ]; then
            die "$runs servers run, $refused are refused: $(cat "$BOX/$1.out" "$BOX/$2.out")"
        fi
        sleep 0.02
    done
}

# race FILE FILE OPTION...: two start at the same moment. What the one that runs has is what is kept.
race() {
    local one=$1 two=$2 first second id kept lines
    shift 2
    lines=$(grep -cs 'becomes generation' "$DIR/ndb_49_cluster.log")
    start r1 "$one" "$@"
    first=$PID
    start r2 "$two" "$@"
    second=$PID
    one_wins r1 r2
    [ "$(grep -c 'becomes generation' "$DIR/ndb_49_cluster.log")" -eq $((${lines:-0} + 1)) ] || fail "both have become a generation: $(cat "$DIR/ndb_49_cluster.log")"
    id=$(started_id)
    kept=$(printf '%016x' "$(cat "$DIR/ndb_49_new_cluster")")
    [ "$id" = "$kept" ] || fail "the server has the id $id, kept is $kept"
    kill "$first" "$second" 2>/dev/null
    ended "$first"
    ended "$second"
    start again a.ini --config-dir="$DIR"
    wait_text again.out 'listens on port'
    [ "$(started_id)" = "$id" ] || fail "started again the server has the id $(started_id) instead of $id"
    kill "$PID"
    ended "$PID" || fail "the server ends with exit code $?"
}

say "two that start at the same moment: a new cluster"
for _ in $(seq 15); do
    make_files
    rm -rf "$DIR"
    mkdir "$DIR"
    race a.ini a.ini
done

say "two that start at the same moment, each with another file and --initial"
for _ in $(seq 15); do race a.ini b.ini --initial; done

say "two that start at the same moment for one port, each with a directory of its own"
for _ in $(seq 15); do
    make_files
    rm -rf "$DIR" "$BOX/other"
    mkdir "$DIR" "$BOX/other"
    sed "s|^DataDir=.*|DataDir=$BOX/other|" "$BOX/a.ini" >"$BOX/other.ini"
    start p1 a.ini
    first=$PID
    start p2 other.ini
    one_wins p1 p2
    lost=$BOX/other
    grep -q 'listens on port' "$BOX/p2.out" && lost=$DIR
    kill "$first" "$PID" 2>/dev/null
    ended "$first"
    ended "$PID"
    left=$(cd "$lost" && echo *)
    [ "$left" = ndb_49_cluster.log ] || fail "who has not got the port has left: $left"
done
