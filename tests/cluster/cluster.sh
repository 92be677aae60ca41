# cluster.sh -- starts a cluster of real processes for one test, and ends it; sourced by the tests.
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A test is called with the directory of the programs. Everything it makes is in $BOX, which is its current directory too:
# what programs leave where they are does not meet what those of another test leave. The processes that it starts are
# ended by their pids when it exits, whatever happens. Every call of a program is bounded by `run`, the whole test by
# TEST_DEADLINE seconds. Both, and the deadlines of whatever is waited for, are far beyond what a test takes on a machine
# that has six times as much to do as it can: they end what hangs, nothing else.
set -uo pipefail

BIN=$(readlink -f "${1:?usage: TEST BIN_DIR}")
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BOX=$(mktemp -d)
cd "$BOX" || exit 1
DEADLINE=${TEST_DEADLINE:-600}
PIDS=()      # All processes that were started.
SERVICE_MANAGER= # be_service_manager() sets it.
NODE_PIDS=() # By node id: the data nodes that run now.
MGM_PID=
CS=
FAILED=0

# Whoever is started by this test has it, and so has what is started by him.
export TEST_BOX=$BOX

# ours PID...: prints those that still run one of the cluster's programs, of the previous version ($OLD) too, and were started
# by this test. The number of a process that has ended may be another's by now: that of another test, too, which runs the same
# programs beside this one.
ours() {
    local pid
    for pid in "$@"; do
        grep -qzFx "TEST_BOX=$BOX" "/proc/$pid/environ" || continue
        case "$(readlink "/proc/$pid/exe")" in
        "$BIN"/* | "$BOX"/* | "${OLD:-$BIN}"/*) echo "$pid" ;;
        esac
    done 2>/dev/null
}

cleanup() {
    local code=$? pid
    trap - EXIT
    exec 2>/dev/null
    kill "$GUARD" "${SERVICE_MANAGER:-$GUARD}"
    for pid in "${PIDS[@]:-}"; do # With its child, if it is an angel.
        [ -n "$(ours "$pid")" ] && kill -9 "$pid" $(ours $(pgrep -P "$pid"))
    done
    wait
    [ "$FAILED" -eq 0 ] || [ "$code" -ne 0 ] || code=1
    if [ "$code" -ne 0 ]; then
        echo "--- logs ---"
        for file in "$BOX"/node*.out "$BOX"/node*/ndb_*_out.log "$BOX"/mgm.out "$BOX"/mgm/*cluster.log "$BOX"/node*/*error.log; do
            [ -s "$file" ] && echo "[$file]" && tail -n 25 "$file"
        done
        echo "FAILED"
    fi
    [ -n "${KEEP_BOX:-}" ] || rm -rf "$BOX"
    exit "$code"
}
(
    sleep "$DEADLINE" &
    trap 'kill $!' TERM
    wait $! && kill -TERM $$
) 2>/dev/null &
GUARD=$!
trap cleanup EXIT
trap 'echo "deadline of $DEADLINE s passed"; exit 1' TERM INT

say() { printf '== %s\n' "$*"; }

fail() {
    echo "FAIL: $*"
    FAILED=1
}

die() {
    fail "$@"
    exit 1
}

# run COMMAND...: bounded; output and exit code are the command's.
run() { timeout -k 5 150 "$@"; }

# want CODE COMMAND...: runs it with the output in $BOX/out and $BOX/err, and checks the exit code.
want() {
    local code=$1 got
    shift
    run "$@" >"$BOX/out" 2>"$BOX/err"
    got=$?
    if [ "$got" -ne "$code" ]; then
        fail "exit code $got instead of $code: $*"
        head -n 20 "$BOX/out" "$BOX/err"
    fi
    return 0
}

# want_text FILE PATTERN: an extended regular expression must match a line of $BOX/out or $BOX/err.
want_text() {
    grep -Eq -- "$2" "$BOX/$1" && return 0
    fail "no line matches '$2' in:"
    head -n 40 "$BOX/$1"
    return 0
}

# JSON in $BOX/out becomes one line, for want_text.
one_line() { tr -d '\t\n' <"$BOX/out" >"$BOX/line" && mv "$BOX/line" "$BOX/out"; }

free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}

# For [ndbd default]: a redo log with little room, so that it goes round and checkpoints run often.
SMALL_LOG='NoOfFragmentLogFiles=4
FragmentLogFileSize=4M
RedoBuffer=2M'

# A busy machine shall not look like a hang. Tests of nodes that hang and links that are stalled have their own.
HEARTBEAT=HeartbeatIntervalDbDb=500

# The same threads, fragments and log parts wherever the tests run; some look at one file or thread of several.
CPUS=NumCPUs=2

# write_config NODES REPLICAS [LINES]: LINES go into [ndbd default].
write_config() {
    local nodes=$1 replicas=$2 lines=${3:-} id port
    [[ $lines == *FragmentLog* ]] || lines=$SMALL_LOG$'\n'$lines
    [[ $lines == *NumCPUs* || $lines == *Thread* ]] || lines=$CPUS$'\n'$lines
    lines=$HEARTBEAT$'\n'$lines
    kill -0 "${MGM_PID:-0 0}" 2>/dev/null || rm -rf "$BOX"/node*/ndb_*_fs # A new cluster begins with nothing.
    port=$(free_port)
    CS=127.0.0.1:$port
    export NDB_CONNECTSTRING=$CS
    mkdir -p "$BOX/mgm"
    {
        printf '[ndbd default]\nNoOfReplicas=%s\nDataMemory=%s\nHostName=127.0.0.1\n%s\n' \
            "$replicas" "${DATA_MEMORY:-80M}" "$lines"
        printf '[ndb_mgmd]\nNodeId=49\nHostName=127.0.0.1\nPortNumber=%s\nDataDir=%s\n' "$port" "$BOX/mgm"
        for ((id = 1; id <= nodes; id++)); do
            mkdir -p "$BOX/node$id"
            printf '[ndbd]\nNodeId=%s\nDataDir=%s\n' "$id" "$BOX/node$id"
        done
        for ((id = 0; id < 6; id++)); do printf '[api]\nHostName=127.0.0.1\n'; done
    } >"$BOX/config.ini"
}

# The management server reads its config.ini again.
reload() {
    exec 4<>"/dev/tcp/${CS/://}"
    printf 'reload config\n\n' >&4
    timeout 20 sed '/^$/q' <&4 >"$BOX/out"
    exec 4>&-
    want_text out 'generation: [0-9]+'
}

start_mgm() {
    "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --config-dir="$BOX/mgm" --nodaemon "$@" \
        >>"$BOX/mgm.out" 2>&1 &
    MGM_PID=$!
    PIDS+=("$MGM_PID")
}

start_node() { # id [options]
    local id=$1
    shift
    "$BIN/ndbmtd" --ndb-connectstring="$CS" --ndb-nodeid="$id" --foreground --connect-delay=1 "$@" \
        >>"$BOX/node$id.out" 2>&1 &
    NODE_PIDS[id]=$!
    PIDS+=("$!")
}

# The same as a daemon with its angel, whose pid is noted.
start_daemon() { # id [options]
    local id=$1
    shift
    want 0 "$BIN/ndbmtd" --ndb-connectstring="$CS" --ndb-nodeid="$id" --connect-delay=1 "$@"
    for _ in $(seq 900); do
        [ -s "$BOX/node$id/ndb_$id.pid" ] && break
        sleep 0.1
    done
    PIDS+=("$(cat "$BOX/node$id/ndb_$id.pid")")
}

# What programs that are started from now on tell the service manager goes to $BOX/told.
be_service_manager() {
    export NOTIFY_SOCKET=$BOX/notify
    python3 - "$NOTIFY_SOCKET" "$BOX/told" <<'END' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
with open(sys.argv[2], "a", buffering=1) as out:
    while True:
        out.write(s.recv(65536).decode() + "\n")
END
    SERVICE_MANAGER=$!
    for _ in $(seq 900); do [ -S "$NOTIFY_SOCKET" ] && return; sleep 0.1; done
    die "the service manager does not listen"
}

# Until the management server listens, or has ended.
wait_mgm() {
    for _ in $(seq 900); do
        (exec 3<>"/dev/tcp/${CS/://}") 2>/dev/null && return 0
        kill -0 "$MGM_PID" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# wait_text NAME REGEX: until the file in the box has it, 90 s at most.
wait_text() {
    for _ in $(seq 900); do
        grep -qE -- "$2" "$BOX/$1" && return 0
        sleep 0.1
    done
    fail "$1 does not get $2: $(tail -n 5 "$BOX/$1")"
}

# start_cluster NODES REPLICAS [LINES]; another port is tried when somebody else was faster.
start_cluster() {
    local id try
    for try in 1 2 3; do
        write_config "$@"
        start_mgm --initial
        wait_mgm && break
        [ "$try" -lt 3 ] || die "the management server does not start"
    done
    for ((id = 1; id <= $1; id++)); do start_node "$id"; done
    sleep 0.2
    for id in "${NODE_PIDS[@]}"; do kill -0 "$id" 2>/dev/null || die "a data node does not start"; done
    want 0 "$BIN/ndb_waiter" --timeout=100
    want_text out "Node $1: STARTED"
    [ "$FAILED" -eq 0 ] || exit 1
}

# ended PID: waits for the process's end (90 s at most) and gives its exit code.
ended() {
    local pid=$1
    for _ in $(seq 900); do
        if ! kill -0 "$pid" 2>/dev/null; then
            wait "$pid"
            return $?
        fi
        sleep 0.1
    done
    fail "process $pid does not end"
    return 255
}

# SHUTDOWN in good order: everything ends by itself, with exit code 0.
stop_cluster() {
    local id
    want 0 "$BIN/ndb_mgm" -e SHUTDOWN
    for id in "${!NODE_PIDS[@]}"; do
        ended "${NODE_PIDS[id]}" || fail "node $id ends with exit code $?"
        unset "NODE_PIDS[id]"
    done
    ended "$MGM_PID" || fail "the management server ends with exit code $?"
}

# --- Clusters with files. ---

# The number of a node's last local checkpoint: of the node that is behind.
last_checkpoint() {
    "$BIN/ndb_mgm" -e 'ALL REPORT CHECKPOINT' |
        sed -nE 's/.*Local checkpoint ([0-9]+) completed.*/\1/p; s/.*No local checkpoint.*/0/p' | sort -n | head -n 1
}

# Wants a local checkpoint, and waits until another one than before counts on all nodes.
make_checkpoint() {
    local before
    before=$(last_checkpoint)
    want 0 "$BIN/ndb_mgm" -e 'ALL DUMP 7099'
    for _ in $(seq 900); do
        [ "$(last_checkpoint)" -gt "${before:?}" ] && return 0
        sleep 0.1
    done
    fail "local checkpoint $before is not followed by another one"
}

# Waits until all that has been committed so far would survive the loss of all nodes.
make_durable() {
    local report gci
    gci=$("$BIN/ndb_mgm" -e 'ALL REPORT CHECKPOINT' | sed -nE 's/.* is durable, ([0-9]+) runs$/\1/p' | sort -n | tail -n 1)
    want 0 "$BIN/ndb_mgm" -e 'ALL DUMP 7111'
    for _ in $(seq 900); do
        report=$("$BIN/ndb_mgm" -e 'ALL REPORT CHECKPOINT' | sed -nE 's/.*Global checkpoint ([0-9]+) is durable.*/\1/p' | sort -n | head -n 1)
        [ "${report:-0}" -ge "${gci:?}" ] && return 0
        sleep 0.1
    done
    fail "global checkpoint $gci does not become durable"
}

# kill -9 of all data nodes that run.
kill_nodes() {
    local id
    # At one moment: else, on a busy machine, those that live longer go on without the first, whose files are stale then.
    for id in "${!NODE_PIDS[@]}"; do kill -STOP "${NODE_PIDS[id]}" 2>/dev/null; done
    for id in "${!NODE_PIDS[@]}"; do kill -9 "${NODE_PIDS[id]}" 2>/dev/null; done
    for id in "${!NODE_PIDS[@]}"; do
        wait "${NODE_PIDS[id]}" 2>/dev/null
        unset "NODE_PIDS[id]"
    done
}

# load_and_kill THREADS SECONDS [MORE]: kill_client works, and after so long (and MORE seconds) all data nodes are killed.
load_and_kill() {
    local load
    : >"$BOX/load.out" # The process in the background empties it later than the first look at it.
    timeout -k 5 120 "$BIN/kill_client" run "$BOX/kill" "$1" >"$BOX/load.out" 2>&1 &
    load=$!
    PIDS+=("$load")
    for _ in $(seq 900); do
        grep -q running "$BOX/load.out" && break
        sleep 0.1
    done
    sleep "$2"
    sleep "${3:-0}"
    kill_nodes
    kill -TERM "$(pgrep -P "$load")" 2>/dev/null # What it waits for is answered or runs out of time.
    wait "$load"
    cat "$BOX/load.out"
    grep -q '^run: commits=[1-9]' "$BOX/load.out" || fail "the load has not committed anything"
}

# --- An index that comes and goes. ---

# settle create|drop CODE: what is refused is refused for a moment only, or it is the index that is, or may be, there or not.
# $there is what is known of it: yes, no, or unsure, when nobody could say what has become of a change.
settle() {
    local error
    if [ "$2" -eq 0 ]; then
        there=no
        [ "$1" = drop ] || there=yes
        return
    fi
    error=$(sed -nE 's/^([0-9]+): .*/\1/p' "$BOX/err")
    case $1:$there:$error in
    create:yes:4244 | create:unsure:4244 | drop:unsure:4243) return ;;
    esac
    case $("$BIN/ndb_perror" "${error:-none}") in
    *': Temporary error: '*) ;;
    *': Unknown result: '*) there=unsure ;;
    *) fail "exit code $2 of $1, index there: $there: $(cat "$BOX/err")" ;;
    esac
}

# --- Rows with everything that text can contain, in the form that ndb_select_all --csv prints. ---

AWKWARD_TABLE="CREATE TABLE test.awkward (
    id INT UNSIGNED NOT NULL, kind VARCHAR(20) NOT NULL, name VARCHAR(80) NOT NULL, note VARCHAR(500),
    price DECIMAL(10,2), day DATE, big BIGINT, small SMALLINT NOT NULL, code CHAR(5), bits BIT(9),
    PRIMARY KEY (id, kind))"

awkward_rows() { # count [first id]
    awk -v n="$1" -v first="${2:-1}" 'BEGIN {
        kind[0] = "plain"; kind[1] = "comma"; kind[2] = "quote"; kind[3] = "unicode"; kind[4] = "tab"
        kind[5] = "newline"; kind[6] = "backslash"; kind[7] = "empty"; kind[8] = "long"; kind[9] = "blank"
        name[0] = "just text"; name[1] = "a, b,, c"; name[2] = "say \"\"hi\"\", \"\""
        name[3] = "Ünïcødé 漢字 🎉 Жук"; name[4] = "tab\there"; name[5] = "two\nlines,\nor three\n"
        name[6] = "C:\\\\dir\\\\N"; name[7] = ""; name[8] = "0123456789"; name[9] = "  blanks around  "
        for (i = 0; i < 8; i++) long = long "the quick brown fox, the \"\"lazy\"\" dog; "
        for (i = first; i < first + n; i++) {
            k = i % 10
            note = k == 8 ? "\"" long "\"" : (i % 3 == 0 ? "\\N" : "\"note " i "\"")
            price = i % 7 == 0 ? "\\N" : sprintf("%s%d.%02d", i % 2 ? "-" : "", i % 100000 + 1, i % 100)
            day = i % 11 == 0 ? "\\N" : sprintf("%04d-%02d-%02d", 1970 + i % 80, i % 12 + 1, i % 28 + 1)
            big = i % 5 == 0 ? "-9223372036854775808" : (i % 13 == 0 ? "\\N" : "90071992547" i)
            code = i % 4 == 0 ? "\\N" : "\"c" i % 1000 "\""
            bits = i % 6 == 0 ? "\\N" : sprintf("0x%X", i % 512)
            printf "%d,\"%s\",\"%s\",%s,%s,%s,%s,%d,%s,%s\n", i, kind[k], name[k], note, price, day, big,
                i % 65536 - 32768, code, bits
        }
    }'
}

# load_and_compare ROWS: table, import, count, all rows back equal to the file, drop.
load_and_compare() {
    local rows=$1
    say "import $rows rows and read them back"
    run "$BIN/ndb_drop_table" -d test awkward >/dev/null 2>&1 # Of a former life of the cluster, if it is there.
    want 0 "$BIN/ndb_create_table" --execute="$AWKWARD_TABLE"
    awkward_rows "$rows" >"$BOX/awkward.csv"
    want 0 "$BIN/ndb_import" --state-dir="$BOX" test "$BOX/awkward.csv"
    cat "$BOX/out"
    want_text out "awkward: $rows rows imported, 0 rejected"
    want 0 "$BIN/ndb_select_count" -d test awkward
    want_text out "^$rows records in table awkward$"
    want 0 "$BIN/ndb_select_all" -d test --csv awkward
    LC_ALL=C sort "$BOX/awkward.csv" >"$BOX/expected"
    LC_ALL=C sort "$BOX/out" >"$BOX/actual"
    if ! cmp -s "$BOX/expected" "$BOX/actual"; then
        fail "the rows read back differ from those written"
        diff "$BOX/expected" "$BOX/actual" | head -n 10
    fi
    want 0 "$BIN/ndb_select_count" -d test --lock=1 awkward
    want_text out "^$rows records in table awkward$"
}

drop_awkward() {
    want 0 "$BIN/ndb_drop_table" -d test awkward
    want_text out '^Dropping table awkward\.\.\.OK$'
    want 1 "$BIN/ndb_select_count" -d test awkward
    want_text err '723: '
}

# The table of ./sandbox.sh with made-up packages, and the examples on it.
run_example() {
    say "example_packages"
    want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE sandbox.package (
        name VARCHAR(120) NOT NULL, version VARCHAR(120) NOT NULL, architecture VARCHAR(20) NOT NULL,
        section VARCHAR(60) NOT NULL, installed_kb INT UNSIGNED NOT NULL, depends VARCHAR(4000),
        summary VARCHAR(500), PRIMARY KEY (name, architecture))"
    awk 'BEGIN {
        print "libc6\t2.36\tamd64\tlibs\t12988\tlibgcc-s1\tGNU C Library: Shared libraries"
        for (i = 0; i < 400; i++)
            printf "pkg%d\t1.%d-2\t%s\tmisc\t%d\tlibc6 (>= 2.%d)\tpackage \"%d\"\n", i, i, i % 3 ? "amd64" : "all",
                i * 37 % 5000, i % 40, i
    }' >"$BOX/package.tsv"
    want 0 "$BIN/ndb_import" --fields-escaped-by= sandbox "$BOX/package.tsv"
    want_text out 'package: 401 rows imported, 0 rejected'
    want 0 "$BIN/example_packages" "$CS"
    want_text out '^Scan: 401 packages'
    want_text out '^Lookup: libc6/amd64 is version 2.36'
    want_text out '^All as it must be'
    cp "$BOX/out" "$BOX/packages"
    cat "$BOX/out"
    say "example_index"
    want 0 "$BIN/example_index" "$CS"
    want_text out '^Index by_section \(section, installed_kb\) made in [0-9]+ ms; another thread changed rows [0-9]+ times'
    want_text out 'index by_section fits, 1 column fixed and a range$'
    want_text out '^    libc6 +12988 kB$'
    want_text out '^    \.\.\. of 1, counted in the data nodes$'
    want_text out '^4 threads incremented one row 250 times each in [0-9]+ ms: it holds 1000$'
    want 0 "$BIN/example_index" "$CS" # Again, with what it has left.
    rows() { run "$BIN/ndb_select_all" -d sandbox package | LC_ALL=C sort | md5sum; }
    local before pause
    before=$(rows)
    for pause in 0.1 0.3 0.5; do # Whenever it is ended: the rows are as they were.
        timeout -s TERM "$pause" "$BIN/example_index" "$CS" >"$BOX/ended.out" 2>&1
        [ "$(rows)" = "$before" ] || fail "example_index was ended after $pause s, and has left other rows"
    done
    want 0 "$BIN/example_index" "$CS"
    cat "$BOX/out"
}
