#!/bin/bash
# sandbox.sh -- builds the system and runs a small cluster on this machine: one management node, two data nodes.
# SPDX-License-Identifier: GPL-2.0-only
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@" # As in: sh sandbox.sh start
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"

BOX=$PWD/sandbox
BIN=$PWD/build/bin
PACKAGES="procps build-essential cmake pkg-config libuv1-dev libxxhash-dev libzstd-dev libinih-dev libedit-dev libcjson-dev libssl-dev"
TEST_PACKAGES="libcmocka-dev clang libclang-rt-14-dev valgrind libsqlite3-dev memcached libmemcached-tools python3-pymemcache python3-pylibmc python3-binary-memcached libcache-memcached-fast-perl php-cli php-memcached openssl shellcheck clang-format codespell python3 file lintian systemd logrotate systemd-container mmdebstrap locales"

usage() {
    cat <<END
usage: ./sandbox.sh COMMAND

  start    install what is missing, build the programs, start the cluster; load the package database of this machine the
           first time, later what was there is there again
  status   what runs, and how full it is
  env      what to put into a shell so that programs find the cluster: eval "\$(./sandbox.sh env)"
  demo     look up, count, update in a transaction, see it through the other node; make an index while the table is
           used, read a range of it, increment one row from several threads; kill one data node after the other under
           load: the longest time without a transfer, and how the node comes back; increments by memcached's protocol
  stop     shut the cluster down in good order
  test     build and run all tests
  clean    stop, and remove sandbox/ (with the data) and build/

All programs of the tour are in sandbox/bin: they talk to this cluster and to no other one. NDB_SANDBOX_WAIT: how many
seconds the data nodes have to come up (60).
END
}

say() { printf '\n== %s\n' "$*"; }

# at_work: one start, demo, stop or clean at a time, so that none sees what another one has half done. What is started here in
# the background must not keep the lock: {LOCK}<&-. Children of a script that was cut off may hold it for a moment.
at_work() {
    exec {LOCK}<.
    flock --wait 5 "$LOCK" && return 0
    echo "Another ./sandbox.sh is at work here (start, demo, stop or clean): try again when it has ended." >&2
    exit 1
}

# Who may not write here is told so before anything happens: it is somebody else's cluster.
may_write() {
    local directory
    for directory in "$PWD" "$BOX" "$BOX/mgm" "$PWD/build"; do
        if [ -e "$directory" ] && [ ! -w "$directory" ]; then
            echo "$directory cannot be written by you ($(id -un)); it belongs to $(stat -c %U "$directory"). Clone the project for yourself." >&2
            exit 1
        fi
    done
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

install_packages() {
    local missing=""
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    say "Installing:$missing"
    as_root apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# progress: turns what make ([ 12%]) or ninja ([34/567]) say into one line that changes, on a terminal.
progress() {
    local begin=$SECONDS line
    while read -r line; do
        [ -t 1 ] && [[ "$line" =~ ^\[\ *([0-9]+%|[0-9]+/[0-9]+)\] ]] || continue
        printf '\r%s, %d s  ' "${BASH_REMATCH[1]}" $((SECONDS - begin))
    done
    [ ! -t 1 ] || printf '\r%30s\r' ''
}

# build [TARGET...]: without one all that the last configure() named. What the compiler says is shown when it fails.
build() {
    local begin=$SECONDS files log=$PWD/build/build.log targets=()
    [ $# = 0 ] || targets=(--target "$@")
    files=$(($(grep -c '"file"' build/compile_commands.json) - $(find build -name '*.o' | wc -l)))
    [ $# = 0 ] || files=0
    if [ "$files" -gt 20 ]; then # A file takes about half a second of one CPU.
        say "Building $files files, about $((files / 2 / $(nproc) + 1)) s (what the compiler says: build/build.log)"
    fi
    if ! cmake --build build -j "$(nproc)" "${targets[@]}" 2>"$log.errors" | tee "$log" | progress; then
        { grep -h -E -A 20 'FAILED|error:|undefined reference' "$log" "$log.errors" || tail -n 20 "$log" "$log.errors"; } | head -n 60 || true
        echo "The build has failed; all of it is in $log and $log.errors"
        exit 1
    fi
    [ "$files" -le 20 ] || echo "Built in $((SECONDS - begin)) s: build/bin"
}

# configure ON|OFF: with tests or without.
configure() {
    local home
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' build/CMakeCache.txt 2>/dev/null) || true
    if [ -n "$home" ] && [ ! "$home" -ef . ]; then
        echo "build/ was copied from $home: it is made anew"
        rm -rf build
    fi
    mkdir -p build
    cmake -S . -B build -DNDB_TESTS="$1" >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
}

build_programs() {
    # shellcheck disable=SC2086
    install_packages $PACKAGES
    configure OFF
    build
}

free_port() { # The first port from $1 on that nobody listens on.
    local port=$1
    while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
    echo "$port"
}

# --- Processes, by the pid files that they write. ---

# A number in an old file may belong to somebody else by now, so the program is compared too; by its command line, which
# everybody may read.
alive() {
    local pid program
    pid=$(cat "$1" 2>/dev/null) && [ -r "/proc/$pid/cmdline" ] || return 1
    IFS= read -r -d '' program <"/proc/$pid/cmdline" || return 1
    [[ "$program" == "$BIN"/* ]]
}

# An empty connect string is the default one: whoever listens there. What is no address of the sandbox counts as lost, and
# config.ini has the port, too.
connect_string() {
    local text
    text=$(cat "$BOX/connectstring" 2>/dev/null) || true
    if [[ ! "$text" =~ ^127\.0\.0\.1:[0-9]+$ ]]; then
        text=127.0.0.1:$(sed -n 's/^PortNumber=\([0-9][0-9]*\)$/\1/p' "$BOX/config.ini" 2>/dev/null) || true
    fi
    [ "$text" != 127.0.0.1: ] && echo "$text"
}

has_connect_string() { connect_string >/dev/null; }

# The programs in sandbox/bin read it.
keep_address() {
    local text
    text=$(connect_string)
    [ "$(cat "$BOX/connectstring" 2>/dev/null)" = "$text" ] || echo "$text" >"$BOX/connectstring"
}

PID_FILES=("$BOX/mgm/ndb_49.pid" "$BOX/node1/ndb_1.pid" "$BOX/node2/ndb_2.pid")

# living: how many of the three processes run.
living() {
    local count=0 pid_file
    for pid_file in "${PID_FILES[@]}"; do
        if alive "$pid_file"; then count=$((count + 1)); fi
    done
    echo "$count"
}

# unmarked_nodes: "PID NODE" of each data node that has lost its pid file; it runs as before. Of its processes it is the angel,
# the only one without other threads. Workers that are just being made are the angel's children.
unmarked_nodes() {
    local pid parent words threads node
    for pid in $(pgrep -x ndbmtd 2>/dev/null || true); do
        mapfile -d '' -t words 2>/dev/null <"/proc/$pid/cmdline" || continue
        threads=("/proc/$pid/task"/*)
        if [ "${words[0]:-}" != "$BIN/ndbmtd" ] || [ ${#threads[@]} != 1 ] || ! of_the_box "$pid"; then continue; fi
        parent=$(ps -o ppid= -p "$pid" | tr -d ' ') || continue # It has ended meanwhile.
        if [ "$(ps -o comm= -p "$parent")" = ndbmtd ]; then continue; fi
        for node in 1 2; do
            if [[ " ${words[*]:1} " != *" --ndb-nodeid=$node "* ]] || alive "${PID_FILES[$node]}"; then continue; fi
            echo "$pid $node"
        done
    done
}

# They have it again.
keep_pid_files() {
    local pid node
    while read -r pid node; do
        mkdir -p "$BOX/node$node"
        echo "$pid" >"${PID_FILES[$node]}" || continue
        echo "pid $pid is data node $node without its pid file: it was written anew"
    done < <(unmarked_nodes)
}

# Management servers of this directory whose pid file was removed or moved away while they run.
lost_servers() {
    local pid words
    for pid in $(pgrep -x ndb_mgmd 2>/dev/null || true); do
        mapfile -d '' -t words 2>/dev/null <"/proc/$pid/cmdline" || continue
        if [[ "${words[0]:-}" != "$BIN/ndb_mgmd" || " ${words[*]:1} " != *" --config-dir=$BOX/mgm "* ]]; then continue; fi
        if [ "$(cat "${PID_FILES[0]}" 2>/dev/null)" != "$pid" ]; then echo "$pid"; fi
    done
}

running() { has_connect_string && alive "${PID_FILES[0]}"; }

# Ends the script when processes run and nobody can know where.
need_address() {
    if [ "$(living)" = 0 ] || has_connect_string; then return 0; fi
    echo "Its processes run, and their address is lost (sandbox/connectstring, sandbox/config.ini): ./sandbox.sh stop, then start" >&2
    exit 1
}

need_running() {
    running && return 0
    need_address
    echo "The cluster is not running: ./sandbox.sh start" >&2
    exit 1
}

# sandbox/bin: each program by its name, which talks to this cluster.
write_programs() {
    local program
    mkdir -p "$BOX/bin"
    cat >"$BOX/bin/.run" <<END
#!/bin/sh
# Runs the program of this name with the sandbox's connect string. When its management server has ended, by a kill or with
# the machine, the port may be that of another cluster by now.
is_there() {
    NDB_CONNECTSTRING=\$(cat "$BOX/connectstring" 2>/dev/null) && pid=\$(cat "${PID_FILES[0]}" 2>/dev/null) || return 1
    case \$NDB_CONNECTSTRING in *[!0-9.:]*) return 1 ;; 127.0.0.1:[0-9]*) ;; *) return 1 ;; esac
    words=\$(tr '\\0' '\\n' 2>/dev/null <"/proc/\$pid/cmdline")
    case \$words in "$BIN/ndb_mgmd"*"--config-dir=$BOX/mgm"*) ;; *) false ;; esac
}
if ! is_there; then
    echo "The cluster of the sandbox does not run: ./sandbox.sh start" >&2
    exit 1
fi
export NDB_CONNECTSTRING
exec "$BIN/\$(basename "\$0")" "\$@"
END
    chmod +x "$BOX/bin/.run"
    find "$BOX/bin" -type l -lname .run -delete
    for program in "$BIN"/ndb* "$BIN"/example_*; do # The others are of the demo, the tests and the documents.
        ln -sf .run "$BOX/bin/$(basename "$program")"
    done
}

# Files of a node are of so many LDM threads: as long as there are any, their number stays. If config.ini is lost it is
# what the first start of this machine has written.
threads_line() {
    local count
    if [ -s "$BOX/config.ini" ] && { [ -d "$BOX/node1/ndb_1_fs" ] || [ -d "$BOX/node2/ndb_2_fs" ]; }; then
        grep '^NumCPUs=' "$BOX/config.ini" || true
    else
        count=$(nproc)
        echo "NumCPUs=$((count > 8 ? 8 : count))"
    fi
}

write_config() {
    mkdir -p "$BOX/mgm" "$BOX/node1" "$BOX/node2"
    local wanted port threads
    threads=$(threads_line)
    wanted=$(sed -n 's/^PortNumber=//p' "$BOX/config.ini" 2>/dev/null || true)
    wanted=${wanted:-1186} # The last one again, if it is free: users' shells and programs have it.
    port=$(free_port "$wanted")
    [ "$port" = "$wanted" ] || echo "Port $wanted is taken: the management server listens on $port"
    echo "127.0.0.1:$port" >"$BOX/connectstring"
    cat >"$BOX/config.ini" <<END
# Two data nodes with two copies of every row, on one machine. config.ini.example explains a real set-up.
[ndbd default]
NoOfReplicas=2
DataMemory=512M
HostName=127.0.0.1
# A node that fails is started again by itself.
StopOnError=0
# A log of 64 MB for each LDM thread, so that a laptop's disk does not notice. The default is 256 MB.
NoOfFragmentLogFiles=4
# The nodes share this machine: each has threads for so many CPUs at most.
$threads

[ndb_mgmd]
NodeId=49
HostName=127.0.0.1
PortNumber=$port
DataDir=$BOX/mgm

[ndbd]
NodeId=1
DataDir=$BOX/node1

[ndbd]
NodeId=2
DataDir=$BOX/node2

[api]
HostName=127.0.0.1
[api]
HostName=127.0.0.1
[api]
HostName=127.0.0.1
[api]
HostName=127.0.0.1
END
}

# ldm_threads CPUS: how many of the threads for so many CPUs are LDM threads (ndbmtd/layout.c).
ldm_threads() { echo $(($1 < 4 ? 1 : $1 < 6 ? 2 : 4)); }

# A log of 64 MB for each LDM thread of both nodes, and the rest; less what a former start has made of the logs.
check_room() {
    local cpus needed have free
    cpus=$(sed -n 's/^NumCPUs=//p' "$BOX/config.ini")
    needed=$((2 * (64 * $(ldm_threads "${cpus:-$(nproc)}") + 50)))
    have=$({ du -smc "$BOX"/node?/ndb_?_fs/REDO 2>/dev/null || true; } | sed -n '$s/\t.*//p')
    free=$(df --output=avail -m "$BOX" | tail -n 1 | tr -d ' ')
    [ $((free + ${have:-0})) -ge "$needed" ] || {
        echo "$BOX has $free MB of room, and the cluster takes $((needed - ${have:-0})) MB more: make room there first." >&2
        exit 1
    }
}

# last_failure ERROR_LOG: when and why, without the paths that follow.
last_failure() {
    awk '/^Time: / { text = "" } /^(Time|Message|Error|Error data): / { text = text $0 "\n" } END { printf "%s", text }' "$1"
}

# What the nodes that are not up have said last, in this start.
last_words() {
    local node log status
    status=$(timeout --foreground 10 "$BIN/ndb_mgm" --ndb-connectstring="$(connect_string)" -e "ALL STATUS" 2>/dev/null) || true
    for node in 1 2; do
        if grep -q "^Node $node: started" <<<"$status"; then continue; fi
        log=$BOX/node$node/ndb_${node}_error.log
        if [ -s "$log" ] && [ ! "$log" -ot "$BOX/config.ini" ]; then
            printf '\nThe last failure in %s:\n' "$log"
            last_failure "$log"
        fi
        log=$BOX/node$node/ndb_${node}_out.log
        if [ -s "$log" ] && [ ! "$log" -ot "$BOX/config.ini" ]; then
            printf '\nThe end of %s:\n' "$log"
            tail -n 6 "$log"
        fi
    done
}

# Its directory is not needed: a new one has everything from config.ini and the data nodes.
management_fails() {
    cat "$BOX/mgm.err"
    if grep -q 'no configuration in .* can be read' "$BOX/mgm.err"; then
        echo "Move sandbox/mgm away, and start again: the data nodes have all data, and the cluster's id" >&2
    fi
    exit 1
}

# Starts what does not run: all three, or those that were killed.
start_cluster() {
    local port
    end_lost_servers
    need_address
    if [ "$(living)" = 0 ]; then
        mkdir -p "$BOX"
        if [ "$(df --output=avail -k "$BOX" | tail -n 1)" -lt 64 ]; then # Files would be cut.
            echo "$BOX has no room: make room there first." >&2
            exit 1
        fi
        write_config
        check_room
        say "Starting one management node and two data nodes"
    else
        say "Starting what is not running any more of one management node and two data nodes"
        touch "$BOX/config.ini" # The files of this start are newer.
        keep_address
        port=$(connect_string)
        port=${port#*:}
        if ! alive "${PID_FILES[0]}" && ! grep -q '^PortNumber=' "$BOX/config.ini"; then
            echo "The management server is gone, and its configuration is lost (sandbox/config.ini): ./sandbox.sh stop, then start" >&2
            exit 1
        fi
        if ! alive "${PID_FILES[0]}" && [ "$(free_port "$port")" != "$port" ]; then
            echo "Another program has taken the management server's port, $port. The data nodes run without it:" >&2
            echo "./sandbox.sh stop, then ./sandbox.sh start, which takes another port and has all data again." >&2
            exit 1
        fi
    fi
    mkdir -p "$BOX/mgm" # It may have been moved away.
    # The first management server of a directory says that a new cluster begins, which it does here.
    alive "${PID_FILES[0]}" || "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --config-dir="$BOX/mgm" \
        2>"$BOX/mgm.err" {LOCK}<&- || management_fails
    local node
    for node in 1 2; do
        alive "${PID_FILES[$node]}" ||
            "$BIN/ndbmtd" --ndb-connectstring="$(connect_string)" --ndb-nodeid="$node" {LOCK}<&-
    done
    need_nodes
}

# need_nodes [OPTION...]: both data nodes are started, or the script ends.
need_nodes() {
    if [[ "$(timeout --foreground 10 "$BIN/ndb_mgm" --ndb-connectstring="$(connect_string)" -e "ALL STATUS" 2>/dev/null)" == *"single user mode"* ]]; then
        echo "Single user mode is on, for one client alone. To end it: sandbox/bin/ndb_mgm -e 'EXIT SINGLE USER MODE'" >&2
        exit 1
    fi
    "$BIN/ndb_waiter" --ndb-connectstring="$(connect_string)" --timeout="$WAIT" "$@" && return 0
    last_words
    printf '\nA process that hangs is ended by ./sandbox.sh stop; ./sandbox.sh start has all data again.\n'
    exit 1
}

# gone PID_FILE SECONDS: waits until its process has ended, and says so when that takes long.
gone() {
    local tenth
    for tenth in $(seq $(($2 * 10))); do
        alive "$1" || return 0
        [ $((tenth % 50)) -ne 0 ] || echo "pid $(cat "$1") has not ended yet"
        sleep 0.1
    done
    return 1
}

# One that hangs is as good as none. Somebody is waiting, so that is told before it is certain.
answers() {
    local told result=0
    { sleep 2 >/dev/null 2>&1 && echo "... the management server has not answered yet" >&2; } &
    told=$!
    timeout --foreground 10 "$BIN/ndb_mgm" --ndb-connectstring="$(connect_string)" -e SHOW >/dev/null 2>&1 || result=1
    kill "$told" 2>/dev/null || true
    wait "$told" 2>/dev/null || true
    return "$result"
}

need_answer() {
    answers && return 0
    echo "The management server (pid $(cat "${PID_FILES[0]}")) runs and does not answer: ./sandbox.sh stop ends it, and start has all data again."
    exit 1
}

# works PID: a thread of it is there, and not only its remains. All of what is asked for is read: who writes into a pipe that
# nobody reads any more has failed.
works() { { cat "/proc/$1"/task/*/stat 2>/dev/null || true; } | sed 's/.*) //' | grep -v '^[ZX]' >/dev/null; }

# of_the_box PID: it has a file of this directory open. A test's, or a developer's own, data node has not.
of_the_box() {
    local file
    for file in "/proc/$1/fd"/*; do
        if [[ "$(readlink "$file" 2>/dev/null)" == "$BOX"/* ]]; then return 0; fi
    done
    return 1
}

# wait_for_end PID SECONDS: ends the script when it does not come, before anything is removed.
wait_for_end() {
    for _ in $(seq $(($2 * 10))); do
        works "$1" || return 0
        sleep 0.1
    done
    echo "pid $1 does not end; nothing is removed" >&2
    exit 1
}

# end_by_force PID_FILE SECONDS: the process and its children; what a data node works in is the child of its angel.
end_by_force() {
    local pid pids
    pids="$(cat "$1") $(pgrep -P "$(cat "$1")" | tr '\n' ' ' || true)"
    echo "pid $(cat "$1") did not go on, or stop, in $2 s; it is killed"
    # shellcheck disable=SC2086
    kill -KILL $pids 2>/dev/null || true
    for pid in $pids; do wait_for_end "$pid" 10; done
}

# A data node whose angel was killed by somebody else stops by itself, in good order; nothing is removed before.
end_orphans() {
    local pid parent program
    for pid in $(pgrep -x ndbmtd || true); do
        IFS= read -r -d '' program 2>/dev/null <"/proc/$pid/cmdline" || continue
        if [ "$program" != "$BIN/ndbmtd" ] || ! of_the_box "$pid"; then continue; fi
        parent=$(ps -o ppid= -p "$pid" | tr -d ' ') || continue
        if grep -qxE "$pid|$parent" "$BOX"/node?/ndb_?.pid 2>/dev/null; then continue; fi
        echo "pid $pid is a data node without its angel: waiting for its end"
        kill "$pid" 2>/dev/null || true
        wait_for_end "$pid" 60
    done
}

end_lost_servers() {
    local pid
    for pid in $(lost_servers); do
        echo "pid $pid is a management server whose files are gone: ending it"
        kill "$pid" 2>/dev/null || true
        for _ in $(seq 600); do works "$pid" || break; sleep 0.1; done
        if works "$pid"; then kill -KILL "$pid" 2>/dev/null || true; fi # It hangs.
        wait_for_end "$pid" 10
    done
}

# hanging: the numbers of the data nodes that are there and do not answer the management server.
hanging() {
    timeout --foreground 40 "$BIN/ndb_mgm" --ndb-connectstring="$(connect_string)" -e "ALL REPORT MEMORY" 2>/dev/null |
        sed -n 's/^Node \([12]\) does not answer$/\1/p'
}

# A data node that hangs is ended before the order to shut down, which would wait half a minute for its answer.
end_hanging() {
    local node nodes end=$((SECONDS + 10))
    nodes=$(hanging) || true
    case $nodes in
    '') return 0 ;;
    *$'\n'*) echo "Data nodes ${nodes//$'\n'/ and } do not answer: they have 10 s to go on" ;;
    *) echo "Data node $nodes does not answer: it has 10 s to go on" ;;
    esac
    while [ "$SECONDS" -lt "$end" ]; do
        sleep 0.5
        nodes=$(hanging) || true
        [ -n "$nodes" ] || return 0
    done
    for node in $nodes; do
        if alive "${PID_FILES[$node]}"; then end_by_force "${PID_FILES[$node]}" 10; fi
        rm -f "${PID_FILES[$node]}"
    done
}

# Ends the script when a process cannot be ended: it is still found by its pid file, and its files stay.
stop_cluster() {
    local pid_file
    end_orphans
    end_lost_servers
    if [ "$(living)" = 0 ]; then
        echo "The cluster is not running."
        return
    fi
    if running && answers; then
        end_hanging
        # Whom the order does not reach is ended below, or was just now.
        timeout --foreground 120 "$BIN/ndb_mgm" --ndb-connectstring="$(connect_string)" -e "SHUTDOWN" |
            sed '/^Not connected to the management server/d' ||
            for pid_file in "${PID_FILES[@]}"; do # A node that hangs ends below.
                if alive "$pid_file"; then kill "$(cat "$pid_file")" 2>/dev/null || true; fi
            done
    else # The data nodes stop in good order by themselves.
        echo "No management server answers: the data nodes are stopped without it."
        if alive "${PID_FILES[0]}"; then kill -KILL "$(cat "${PID_FILES[0]}")"; fi
        for pid_file in "${PID_FILES[@]}"; do
            if alive "$pid_file"; then kill "$(cat "$pid_file")"; fi
        done
    fi
    for pid_file in "${PID_FILES[@]}"; do
        if ! gone "$pid_file" 60; then
            end_by_force "$pid_file" 60
        fi
        rm -f "$pid_file"
    done
    rm -f "$BOX/connectstring"
    echo "The cluster is down."
}

# --- Real data: the package database of this machine. ---

export_packages() {
    # One line a package, seven fields. All of them are single-line in the package database.
    dpkg-query -W -f='${Package}\t${Version}\t${Architecture}\t${Section}\t${Installed-Size}\t${Depends}\t${binary:Summary}\n' |
        awk -F'\t' -v OFS='\t' 'NF == 7 && $2 != "" {
            if ($4 == "") $4 = "unknown"
            if ($5 == "") $5 = "0"
            print }' >"$BOX/package.tsv"
}

# The data of the last time is there again, and what the user has made of it, unless loading was cut off. What cannot be
# known is no reason to load anew, which would cost the user's data.
has_packages() {
    local said
    [ ! -e "$BOX/loading" ] || return 1
    said=$("$BIN/ndb_desc" --ndb-connectstring="$(connect_string)" -d sandbox package 2>&1) && return 0
    grep -q '^No such object: package$' <<<"$said" && return 1
    printf '%s\nWhether sandbox.package is there cannot be asked: nothing is loaded. Try again: ./sandbox.sh start\n' "$said" >&2
    exit 1
}

load_packages() {
    local connect
    connect=$(connect_string)
    say "Loading the package database of this machine into sandbox.package"
    export_packages
    if [ -e "$BOX/loading" ]; then # What is there of it, if anything.
        "$BIN/ndb_drop_table" --ndb-connectstring="$connect" -d sandbox package >/dev/null 2>&1 || true
    fi
    : >"$BOX/loading"
    "$BIN/ndb_create_table" --ndb-connectstring="$connect" --execute="CREATE TABLE sandbox.package (
        name VARCHAR(120) NOT NULL, version VARCHAR(120) NOT NULL, architecture VARCHAR(20) NOT NULL,
        section VARCHAR(60) NOT NULL, installed_kb INT UNSIGNED NOT NULL, depends VARCHAR(4000), summary VARCHAR(500),
        PRIMARY KEY (name, architecture))"
    # No escapes are in the file; the column list says which field goes where; no dependencies are NULL.
    (cd "$BOX" && "$BIN/ndb_import" --ndb-connectstring="$connect" --input-type=tsv --fields-escaped-by='' --null='' \
        --columns=name,version,architecture,section,installed_kb,depends,summary sandbox package.tsv)
    "$BIN/ndb_create_index" --ndb-connectstring="$connect" -e "CREATE INDEX by_size ON sandbox.package (installed_kb)"
    local rows
    rows=$("$BIN/ndb_select_count" --ndb-connectstring="$connect" -d sandbox package | cut -d' ' -f1)
    if [ "$rows" != "$(wc -l <"$BOX/package.tsv")" ]; then
        echo "The table has $rows rows, sandbox/package.tsv has $(wc -l <"$BOX/package.tsv")"
        exit 1
    fi
    rm "$BOX/loading"
}

# The working process of a data node: the child of the angel whose number is in the pid file.
worker_of() {
    local pid
    for pid in $(pgrep -P "$(cat "$BOX/node$1/ndb_$1.pid")"); do
        [[ "$(readlink "/proc/$pid/exe")" == "$BIN/ndbmtd" ]] && echo "$pid"
    done
}

# What the bank says of itself at its end; $1: the seconds that it worked, $2: when the node was killed.
bank_report() {
    local gap_at
    gap_at=$(sed -nE 's/.*gap at ([0-9.]+) s.*/\1/p' "$BOX/bank.out")
    awk -v seconds="$1" -v killed="$2" -v at="${gap_at:-0}" '/^failover:/ {
        for (i = 2; i <= NF; i++) { split($i, pair, "="); is[pair[1]] = pair[2] }
        near = at - killed < 1 && killed - at < 1
        printf "Longest time without a transfer: %s ms%s\n", is["gap_ms"],
            near ? ", when the node was killed" : sprintf(", %.1f s after the bank opened (the node was killed at %.1f s)", at, killed)
        printf "%d transfers, %d a second: %d failed, %d of unknown outcome, %d tried again by the client library\n",
            is["commits"], is["commits"] / seconds, is["failed"], is["unknown"], is["retries"]
    }' "$BOX/bank.out"
}

# demo_failover NODE: a bank with four tellers; the data node is killed under it, and comes back.
demo_failover() {
    local node=$1 connect bank begin opened killed old status last=started
    connect=$(connect_string)
    say "Node $node is killed while a bank of 1000 accounts makes transfers"
    : >"$BOX/bank.out" # Before the first look at it.
    NDB_CONNECTSTRING=$connect "$BIN/failover_client" --database=sandbox_demo --threads=4 --seconds=6 --strict >"$BOX/bank.out" 2>&1 {LOCK}<&- &
    bank=$!
    until grep -q running "$BOX/bank.out"; do
        kill -0 "$bank" 2>/dev/null || { cat "$BOX/bank.out"; echo "the bank does not open"; exit 1; }
        sleep 0.02
    done
    opened=$(date +%s%N)
    sleep 2
    old=$(worker_of "$node")
    kill -9 "$old"
    begin=$(date +%s%N)
    killed=$((begin - opened))
    echo "      0 ms  kill -9 of process $old"
    while :; do
        status=$("$BIN/ndb_mgm" --ndb-connectstring="$connect" -e "$node STATUS" |
            sed -nE "s/^Node $node: //; s/ \\(ndb-.*//; s/ \\([0-9]+% .*//; \$p")
        if [ "$status" != "$last" ]; then
            printf '%7d ms  node %s: %s\n' $((($(date +%s%N) - begin) / 1000000)) "$node" "$status"
            [ "$status" != started ] || break
        fi
        last=$status
        [ $(($(date +%s%N) - begin)) -lt 60000000000 ] || { echo "node $node does not come back"; exit 1; }
        sleep 0.02
    done
    echo "It was started again by its angel process, has all rows and takes part in every write"
    wait "$bank" || {
        cat "$BOX/bank.out"
        if grep -q '^wrong: ' "$BOX/bank.out"; then echo "the bank has lost money"; else echo "the bank could not go on"; fi
        exit 1
    }
    bank_report 6 "$(awk -v ns="$killed" 'BEGIN { print ns / 1e9 }')"
    echo "All balances are what the journal of the transfers makes of them"
}

# demo_memcached: eight programs increment one number by memcached's protocol while a data node is killed.
demo_memcached() {
    local connect port server node pid begin sum unknown value counters=()
    connect=$(connect_string)
    say "The cluster as a memcached server: eight programs \"incr seq:docId 1\" for ten seconds, and a data node is killed meanwhile"
    "$BIN/ndb_memcached" --bootstrap -e "connectstring=$connect" >"$BOX/memcached.log" 2>&1 || { cat "$BOX/memcached.log"; exit 1; }
    port=$(free_port 21211)
    "$BIN/ndb_memcached" -u "$(id -un)" -l 127.0.0.1 -p "$port" -t 2 -e "connectstring=$connect" >>"$BOX/memcached.log" 2>&1 {LOCK}<&- &
    server=$!
    until grep -q 'ready: role' "$BOX/memcached.log"; do
        kill -0 "$server" 2>/dev/null || { cat "$BOX/memcached.log"; exit 1; }
        sleep 0.05
    done
    ask() { printf '%s\r\n' "$@" quit | "$BIN/mc_client" send "$port" | tr -d '\r'; }
    ask "set seq:docId 0 0 1" 0 >/dev/null
    : >"$BOX/counters"
    for _ in 1 2 3 4 5 6 7 8; do
        "$BIN/mc_client" count 10 seq:docId "$port" >>"$BOX/counters" {LOCK}<&- &
        counters+=($!)
    done
    sleep 4
    pid=$(worker_of 2)
    kill -9 "$pid"
    echo "kill -9 of process $pid, data node 2"
    for pid in "${counters[@]}"; do wait "$pid" || { cat "$BOX/counters"; echo "a program could not count"; exit 1; }; done
    read -r sum unknown < <(awk '{ sum += $1; unknown += $2 } END { print sum, unknown + 0 }' "$BOX/counters")
    value=$(ask "get seq:docId" | sed -n 2p)
    echo "answered: $sum increments, $((sum / 10)) a second; not known: $unknown; seq:docId is $value"
    kill "$server"
    wait "$server" || true
    [ "$value" -ge "$sum" ] && [ "$value" -le $((sum + unknown)) ] || { echo "increments are lost"; exit 1; }
    "$BIN/ndb_select_all" -c "$connect" -d ndbmemcache demo_table | grep -E 'mkey|seq:docId'
    "$BIN/ndb_waiter" -c "$connect" --timeout=60 >/dev/null
}

demo() {
    need_running
    need_answer
    need_nodes --verbose=0 # The one that is left has to be there when the other one is killed.
    trap end_background EXIT
    has_packages || { echo "Not all of sandbox.package is there: ./sandbox.sh start loads it"; exit 1; }
    build failover_client mc_client # They are no programs for users.
    local connect
    connect=$(connect_string)
    say "A lookup by key, a count by a scan, an update of several rows in one transaction, and the same through each node"
    "$BIN/example_packages" "$connect"
    say "An index is made while the table is used, a range of it, and increments of one row by several threads"
    "$BIN/example_index" "$connect"
    demo_failover 2
    demo_failover 1 # The one that leads, if it has not been killed before.
    demo_memcached
}

# What the demo has left when it was cut off: a bank that does not get the Ctrl-C, a server, programs that count.
end_background() {
    local pid
    for pid in $(jobs -p | tac); do kill "$pid" 2>/dev/null || true; done # Those who use the server first.
}

what_to_try() {
    cat <<END

The cluster runs at $(connect_string). Try:
  sandbox/bin/ndb_mgm                     then: SHOW, ALL STATUS, ALL REPORT MEMORY, HELP
  sandbox/bin/ndb_desc -d sandbox package
  sandbox/bin/ndb_select_all -d sandbox --limit 5 package
  ./sandbox.sh demo                       kills one data node after the other under a bank, and proves that nothing was lost
  ./sandbox.sh stop; ./sandbox.sh start   the data is there again
END
}

if [ $# -gt 1 ]; then
    echo "./sandbox.sh $1 takes nothing more: $2" >&2
    exit 2
fi
WAIT=${NDB_SANDBOX_WAIT:-60}
[[ "$WAIT" =~ ^[0-9]{1,6}$ ]] || {
    echo "NDB_SANDBOX_WAIT is '$WAIT', which is no number of seconds." >&2
    exit 2
}
case "${1:-}" in
start | demo | stop | test | clean) may_write ;;
esac
case "${1:-}" in
start | demo | stop | clean)
    at_work
    keep_pid_files
    ;;
esac
case "${1:-}" in
start)
    build_programs
    write_programs
    if running; then need_answer; fi
    if running && [ "$(living)" = 3 ]; then
        keep_address
        need_nodes --verbose=0
        said="The cluster is running already"
    else
        start_cluster
        said="The package database is there, as it was when the cluster stopped"
    fi
    if has_packages; then say "$said"; else load_packages; fi
    what_to_try
    ;;
env)
    need_running
    keep_address
    printf 'export NDB_CONNECTSTRING=%s\nexport PATH=%q:"$PATH"\n' "$(connect_string)" "$BOX/bin"
    ;;
status)
    if ! running; then
        for pid in $(lost_servers); do
            echo "The management server runs (pid $pid), and its files are gone: ./sandbox.sh stop"
            exit 1
        done
        need_address
        case $(($(living) + $(unmarked_nodes | wc -l))) in
        0) echo "The cluster is not running." ;;
        1) echo "The management server is not running, one data node is: ./sandbox.sh start" ;;
        *) echo "The management server is not running, two data nodes are: ./sandbox.sh start" ;;
        esac
        exit 1
    fi
    need_answer
    code=0
    state=$("$BIN/ndb_mgm" --ndb-connectstring="$(connect_string)" -e "SHOW; ALL STATUS; ALL REPORT MEMORY; ALL REPORT CHECKPOINT") || code=$?
    printf '%s\n' "$state"
    if grep -q '^Node [12]: not connected' <<<"$state"; then
        printf '\nNot all of it is running: ./sandbox.sh start\n'
        code=1
    fi
    exit "$code"
    ;;
demo) demo ;;
stop) stop_cluster ;;
test)
    # shellcheck disable=SC2086
    install_packages $TEST_PACKAGES
    command -v npm >/dev/null || install_packages nodejs npm # Of whichever source; memjs is tested with it.
    # shellcheck disable=SC2086
    install_packages $PACKAGES
    configure ON
    build
    say "Testing"
    ctest --test-dir build --output-on-failure -LE night -j "$(nproc)"
    ;;
clean)
    stop_cluster
    rm -rf "$BOX" build
    ;;
-h | --help | help) usage ;;
'')
    usage >&2
    exit 2
    ;;
*)
    echo "There is no command $1; ./sandbox.sh --help lists them." >&2
    exit 2
    ;;
esac
