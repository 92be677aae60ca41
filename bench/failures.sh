# failures.sh -- the rows of the benchmark table about nodes that fail and come back; part of bench/run
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154

# --- Failures. Two data nodes, two replicas, no files; the angel starts again what was killed. ---

workers_of() { # node: the working process, not its angel
    local pid
    for pid in $(node_pids "$CONNECT"); do
        tr '\0' '\n' <"/proc/$pid/cmdline" | grep -qx -- "--ndb-nodeid=$1" || continue
        [ -n "$(pgrep -P "$pid")" ] || echo "$pid"
    done
}

wait_for_all() { "$BIN/ndb_waiter" --ndb-connectstring="$CONNECT" --timeout=120 >/dev/null; }

# The longest gap in milliseconds between two transfers of a bank at half load, while node $2 gets signal $1.
our_gap() {
    local bank pid
    pid=$(workers_of "$2")
    NDB_CONNECTSTRING=$CONNECT "$BIN/failover_client" --threads="${TELLERS:-2}" --seconds=3 --strict >"$WORK/bank" 2>&1 &
    bank=$!
    started $bank
    until grep -qs running "$WORK/bank"; do sleep 0.05; done
    sleep 1
    kill "-$1" "$pid"
    if [ "$1" = STOP ]; then # It finds out that it is dead when it wakes up.
        sleep 1
        kill -CONT "$pid"
    fi
    wait "$bank" || { cat "$WORK/bank" >&2; exit 1; }
    sed -nE 's/.* gap_ms=([0-9.]+).*/\1/p' "$WORK/bank"
    rm "$WORK/bank"
    sleep 0.5
    wait_for_all
}

# Redis with a replica and three Sentinels that suspect after 100 ms: one client that asks them for the new master.
start_sentinels() { # port of the master; the replica and the Sentinels follow it
    local i
    redis-server --port "$1" --bind 127.0.0.1 --save '' --appendonly no --dir "$WORK" >/dev/null &
    PIDS="$PIDS $!"
    started $!
    wait_for_port "$1"
    redis-server --port $(($1 + 1)) --bind 127.0.0.1 --save '' --appendonly no --dir "$WORK" --replicaof 127.0.0.1 "$1" >/dev/null &
    PIDS="$PIDS $!"
    started $!
    wait_for_port $(($1 + 1))
    for i in 2 3 4; do
        {
            printf 'port %s\nbind 127.0.0.1\nsentinel monitor m 127.0.0.1 %s 2\n' $(($1 + i)) "$1"
            printf 'sentinel down-after-milliseconds m 100\nsentinel failover-timeout m 2000\n'
        } >"$WORK/sentinel$i.conf"
        redis-server "$WORK/sentinel$i.conf" --sentinel --dir "$WORK" >/dev/null &
        PIDS="$PIDS $!"
        started $!
        wait_for_port $(($1 + i))
    done
    sleep 3 # They find each other and the replica.
}

master_port() { redis-cli -p "$1" SENTINEL get-master-addr-by-name m 2>/dev/null | tail -n 1; }

now_us() { echo "${EPOCHREALTIME/./}"; }

their_gap() { # signal; a new set of processes each time
    local base master answer last gap=0 now end pid
    base=$(free_port $((16000 + RANDOM % 2000)))
    PIDS=""
    start_sentinels "$base"
    pid=$(echo "$PIDS" | awk '{ print $1 }')
    (sleep 1.5; kill "-$1" "$pid"; [ "$1" != STOP ] || { sleep 4; kill -KILL "$pid"; }) &
    exec 3<>"/dev/tcp/127.0.0.1/$base"
    last=$(now_us)
    end=$((last + 6000000))
    while [ "$(now_us)" -lt "$end" ]; do
        if printf 'SET k %s\r\n' "$last" >&3 2>/dev/null && read -r -t 0.1 -u 3 answer && [ "${answer%$'\r'}" = +OK ]; then
            now=$(now_us)
            [ $((now - last)) -le "$gap" ] || gap=$((now - last))
            last=$now
        else
            master=$(master_port $((base + 2))) || true
            exec 3>&-
            { exec 3<>"/dev/tcp/127.0.0.1/$master"; } 2>/dev/null || { sleep 0.005; exec 3<>/dev/null; }
        fi
    done 2>/dev/null
    exec 3>&-
    for pid in $PIDS; do kill -9 "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    PIDS=""
    awk -v g="$gap" 'BEGIN { print g / 1000 }'
}

# So many tellers make about half of what sixteen make: TELLERS.
half_load() {
    local count all share best=
    bank_rate() {
        NDB_CONNECTSTRING=$CONNECT "$BIN/failover_client" --threads="$1" --seconds=1 --strict >"$WORK/bank" 2>&1 || exit 1
        sed -nE 's/.*commits=([0-9]+) .*/\1/p' "$WORK/bank"
    }
    all=$(bank_rate 16)
    for count in 1 2 3 4 6 8; do
        share=$((100 * $(bank_rate "$count") / all))
        if [ -z "$best" ] || [ $((share > 50 ? share - 50 : 50 - share)) -lt "$best" ]; then
            best=$((share > 50 ? share - 50 : 50 - share))
            TELLERS=$count SHARE=$share
        fi
    done
    log "  the load: $TELLERS clients, who make $SHARE % of the $all transfers a second of 16"
}

failover() { # row's name, signal, aim of the median, aim of the p99, rounds
    need redis-server redis-server
    local round a b
    start_ndb 2 2 256M a 'Diskless=1
StopOnError=0'
    : >"$WORK/ours"
    : >"$WORK/theirs"
    half_load
    for round in $(seq "${BENCH_FAILOVER_ROUNDS:-$5}"); do
        a=$(our_gap "$2" $((round % 2 + 1)))
        b=-
        if [ "$round" -le "${BENCH_SENTINEL_ROUNDS:-3}" ]; then
            b=$(their_gap "$2")
            echo "$b" >>"$WORK/theirs"
        fi
        log "  round $round: longest gap ours $a ms, Redis with Sentinel $b ms"
        echo "$a" >>"$WORK/ours"
    done
    stop_ndb
    read -r b _ < <(stats <"$WORK/theirs")
    awk -v b="$b" '{ print b / $1 }' "$WORK/ours" | ratio_line "$1_peer" 1.0
    sort -g "$WORK/ours" | awk '{ v[NR] = $1 } END { i = int(NR * 0.99 + 0.999999); print v[i < 1 ? 1 : i] }' | value_line "$1_p99" ms "$4" max
    value_line "$1" ms "$3" max <"$WORK/ours"
}

row_failover_kill() { failover failover_kill KILL 30 100 50; }
row_failover_hang() { failover failover_hang STOP 450 500 20; }

# 10,000 open transactions of one coordinator, half of them being committed, when it is killed: the survivor's log says how
# long it took from the first sign of the failure until all were decided. Each one's outcome is compared with its row.
row_takeover() {
    local round survivor victim
    start_ndb 2 2 256M a 'Diskless=1
StopOnError=0
MaxNoOfConcurrentTransactions=16384'
    for round in $(seq "${BENCH_TAKEOVER_ROUNDS:-10}"); do
        victim=$((round % 2 + 1)) survivor=$((2 - round % 2))
        wc -l <"$WORK/a/node$survivor/ndb_${survivor}_out.log" >"$WORK/lines"
        taskset -c "$CLIENT_CPU" "$BIN/bench_takeover" "$CONNECT" "$victim" "$(workers_of "$victim")" \
            "${BENCH_TAKEOVER_TRANSACTIONS:-10000}" >"$WORK/takeover" || exit 1
        tail -n "+$(($(cat "$WORK/lines") + 1))" "$WORK/a/node$survivor/ndb_${survivor}_out.log" |
            sed -nE 's/.*failure [0-9]+: (agreed on|what it left under way has ended), after ([0-9]+) ms$/\2/p' | head -n 2 |
            awk '{ sum += $1 } END { if (NR != 2) exit 1; print sum }' >"$WORK/ms" || { log "the log does not say how long it took"; exit 1; }
        log "  round $round: $(cat "$WORK/ms") ms; $(tr '\n' ' ' <"$WORK/takeover")"
        cat "$WORK/ms" >&3
        sleep 0.5
        wait_for_all
    done 3>"$WORK/values"
    stop_ndb
    value_line takeover ms 100 max <"$WORK/values"
}

# --- A node of two comes back. ---

seconds_since() { awk -v a="$1" -v b="$(date +%s%N)" 'BEGIN { print (b - a) / 1e9 }'; }

node_status() { "$BIN/ndb_mgm" --ndb-connectstring="$CONNECT" -e "$1 STATUS"; }

# One process that looks, not three for each look: those took a sixth of two cores, and so were part of what they measured.
wait_until_started() { "$BIN/ndb_waiter" --ndb-connectstring="$CONNECT" --wait-nodes="$1" --timeout=600 >/dev/null; }

kill_worker() { # node: with its angel, and the others know it
    # shellcheck disable=SC2046
    kill -9 $(node_pids "$CONNECT" | while read -r pid; do
        tr '\0' '\n' <"/proc/$pid/cmdline" | grep -qx -- "--ndb-nodeid=$1" && echo "$pid"
    done)
    while node_status "$1" | grep -q ': started'; do sleep 0.02; done
}

# With files, and 1 million rows of 16 + 84 bytes: from its process's start after a kill, and from "n RESTART", to full member.
row_small_restart() {
    local saved=$ROWS round begin
    ROWS=${BENCH_SMALL_ROWS:-1000000} VALUE=84 NOISE=--noise
    start_ndb 2 2 1G a 'Diskless=0
InitFragmentLogFiles=sparse'
    load_ndb
    wait_for_checkpoint
    : >"$WORK/graceful"
    for round in $(seq "$RESTART_ROUNDS"); do
        kill_worker 2
        sleep 0.5
        begin=$(date +%s%N)
        start_node "$ALL_CPUS" 2
        wait_until_started 2
        seconds_since "$begin"
        sleep 1
        begin=$(date +%s%N)
        "$BIN/ndb_mgm" --ndb-connectstring="$CONNECT" -e '2 RESTART' >/dev/null
        wait_until_started 2
        seconds_since "$begin" >>"$WORK/graceful"
        log "  round $round: n RESTART $(tail -n 1 "$WORK/graceful") s"
        sleep 1
    done >"$WORK/values"
    ndb "$CLIENT_CPU" scan --seconds=1 >/dev/null # All rows are there.
    stop_ndb
    ROWS=$saved VALUE=32 NOISE=
    value_line small_restart_graceful s 4 max <"$WORK/graceful"
    value_line small_restart s 3 max <"$WORK/values"
}

# Updates of two threads until stop_updates: what was done in each 100 ms goes to $WORK/windows.
start_updates() { # command
    "$@" --window=100 --seconds=600 >"$WORK/windows" &
    UPDATES=$!
    started $UPDATES
    until [ -s "$WORK/windows" ] || ! kill -0 "$UPDATES" 2>/dev/null; do sleep 0.02; done
}
stop_updates() {
    pkill -TERM -P "$UPDATES" 2>/dev/null || kill -TERM "$UPDATES"
    wait "$UPDATES"
}

now_ms() { echo "$((${EPOCHREALTIME/./} / 1000))"; }

# The updates per second with both nodes, the least in a second and in 100 ms while one comes back, and the longest time in a
# row without any, in ms. Arguments: windows with both nodes, windows of the return, its begin and end (ms of the day's clock).
dip() {
    awk -v begin="$3" -v end="$4" '
        $1 != "window" { next }
        FNR == NR { if (FNR > 2) { whole += $3; n++ } next }
        $2 > end + 500 { whole += $3; n++; next }
        $2 < begin || $2 > end + 100 { next }
        { w[++m] = $3; quiet = $3 ? 0 : quiet + 100; if (quiet > longest) longest = quiet }
        END {
            for (i = 1; i <= m; i++) {
                sum += w[i] - (i > 10 ? w[i - 10] : 0)
                if (i == 1 || w[i] < least) least = w[i]
                if ((i >= 10 || i == m) && (worst == "" || sum < worst)) worst = sum
            }
            if (m < 10) worst = worst * 10 / m
            printf "%.0f %.0f %.0f %d\n", whole / n * 10, worst, least * 10, longest
        }' "$1" "$2"
}

# Takes the time of a return under updates, and keeps 3 s before and behind it. Prints its seconds and what dip says.
under_updates() { # how to begin it, how to wait for its end, the load
    local start=$1 finish=$2 begin end
    shift 2
    start_updates "$@"
    sleep 0.5
    begin=$(now_ms)
    $start
    $finish
    end=$(now_ms)
    sleep 3
    stop_updates
    echo "$(((end - begin) / 1000)).$(printf %03d $(((end - begin) % 1000))) $(dip "$WORK/whole" "$WORK/windows" "$begin" "$end")"
}

updates_alone() { # the load, with both nodes: to $WORK/whole
    start_updates "$@"
    sleep 3
    stop_updates
    mv "$WORK/windows" "$WORK/whole"
}

# Our node 2 is killed, 10 % of the rows change, it comes back; with an argument (--initial) it has nothing. With RATE set the
# clients make so many updates a second, else as many as they can.
our_return() {
    local -a load=(ndb "$CLIENT_CPU" write --threads=2 ${RATE:+--rate="$RATE"})
    updates_alone "${load[@]}"
    kill_worker 2
    ndb "$CLIENT_CPU" change >/dev/null
    begin_ours() { start_node "$ALL_CPUS" 2 "$@"; }
    under_updates "begin_ours $*" "wait_until_started 2" "${load[@]}"
}

# The same of a Redis replica: it has nothing, and gets all.
their_return() { # the master's port; the replica is on the next one
    local pid
    local -a load=(peer "$CLIENT_CPU" redis write --port="$1" --rows="$ROWS" --connections=2 ${RATE:+--rate="$RATE"})
    updates_alone "${load[@]}"
    pid=$(cat "$WORK/replica")
    kill -9 "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
    under_updates "start_replica $1" "wait_for_replica $1" "${load[@]}"
}

start_replica() { # the master's port
    mkdir -p "$WORK/replica.dir"
    taskset -c "$ALL_CPUS" redis-server --port $(($1 + 1)) --bind 127.0.0.1 --save '' --appendonly no --dir "$WORK/replica.dir" \
        --replicaof 127.0.0.1 "$1" >/dev/null &
    echo $! >"$WORK/replica"
    started $!
    disown # Its end is not worth a line.
}

wait_for_replica() { # the master's port; as with ours, one process that looks every 50 ms
    until redis-cli -p $(($1 + 1)) ping >/dev/null 2>&1; do sleep 0.02; done
    grep -q -m 1 'master_link_status:up' < <(redis-cli -p $(($1 + 1)) -r -1 -i 0.05 info replication 2>/dev/null)
}

# Of the last return of node 2: KB that were copied, ms that the copy took.
copied() {
    sed -nE 's/.*all rows are here:.* ([0-9]+) KB copied in ([0-9]+) ms.*/\1 \2/p' "$WORK/a/node2/ndb_2_out.log" | tail -n 1
}

# All bytes of the rows, by seconds; of the copy its bytes, by its time: GB per minute.
gb_per_min() { awk -v n="$1" -v s="$2" 'BEGIN { printf "%.2f\n", n / 1e9 / s * 60 }'; }

# 1 GB with files, values that do not compress, updates going on. A node comes back after 10 % have changed, and one with empty
# files, against a Redis replica that synchronizes anew: seconds, and what is left of the updates in the worst second. Under full
# load, and under half of it: of the updates that each system makes with two clients when nobody comes back.
row_rejoin() {
    need redis-server redis-server
    local saved=$ROWS round seconds whole worst least quiet kb ms port what RATE='' full_ours full_theirs
    ROWS=${BENCH_REJOIN_ROWS:-5000000} VALUE=184 NOISE=--noise
    start_ndb 2 2 3G a 'Diskless=0
InitFragmentLogFiles=sparse'
    load_ndb
    wait_for_checkpoint
    port=$(free_port 15700)
    start_redis "$ALL_CPUS" "$port" --client-output-buffer-limit 'replica 4gb 4gb 0'
    peer "$CLIENT_CPU" redis load --port="$port" --rows="$ROWS" --connections=8 --pipeline=100 >/dev/null
    start_replica "$port"
    wait_for_replica "$port"
    log "  $ROWS rows, $((ROWS * (VALUE + 16) / 1000000)) MB of keys and values in each node"
    rm -f "$WORK"/rejoin.*
    for round in $(seq "${BENCH_REJOIN_ROUNDS:-2}"); do
        for what in ours empty theirs ours_half empty_half theirs_half; do
            RATE=
            case $what in
            ours_half | empty_half) RATE=$((full_ours / 2)) ;;
            theirs_half) RATE=$((full_theirs / 2)) ;;
            esac
            case $what in
            ours*) our_return ;;
            empty*) [ "$round" -gt 1 ] || our_return --initial ;;
            theirs*) their_return "$port" ;;
            esac >"$WORK/return"
            read -r seconds whole worst least quiet <"$WORK/return" || continue
            case $what in
            ours) full_ours=$whole ;;
            theirs) full_theirs=$whole ;;
            esac
            [[ "$what" = theirs* ]] || read -r kb ms < <(copied)
            log "  round $round, $what: $seconds s$([[ "$what" = theirs* ]] || echo ", $((kb / 1000)) MB copied in $ms ms");" \
                "updates: $whole a second with both, $worst in the worst second, $least a second in the worst 100 ms, $quiet ms without any"
            echo "$seconds" >>"$WORK/rejoin.seconds.$what"
            awk -v a="$whole" -v b="$worst" 'BEGIN { print (1 - b / a) * 100 }' >>"$WORK/rejoin.dip.$what"
            gb_per_min $((ROWS * (VALUE + 16))) "$seconds" >>"$WORK/rejoin.all.$what"
            [[ "$what" = theirs* ]] || gb_per_min $((kb * 1024)) "$(awk -v m="$ms" 'BEGIN { print m / 1000 }')" >>"$WORK/rejoin.copy.$what"
        done
    done
    kill -9 "$(cat "$WORK/replica")"
    stop_peers
    stop_ndb
    ROWS=$saved VALUE=32 NOISE=
    paste "$WORK/rejoin.seconds.theirs" "$WORK/rejoin.seconds.ours" | awk '{ print $1 / $2 }' | ratio_line rejoin_peer 1.0
    value_line rejoin_dip_redis % 100 max <"$WORK/rejoin.dip.theirs"
    value_line rejoin_dip % 30 max <"$WORK/rejoin.dip.ours"
    value_line rejoin_copy GB/min 10 min <"$WORK/rejoin.copy.ours" # What was copied, by the time of the copy.
    value_line rejoin_initial GB/min 10 min <"$WORK/rejoin.all.empty" # Empty files: all is copied; by all of the time.
    value_line rejoin_initial_dip % 30 max <"$WORK/rejoin.dip.empty"
    value_line rejoin GB/min 10 min <"$WORK/rejoin.all.ours" # All rows' bytes by all of the time.
    paste "$WORK/rejoin.seconds.theirs_half" "$WORK/rejoin.seconds.ours_half" | awk '{ print $1 / $2 }' | ratio_line rejoin_half_peer 1.0
    value_line rejoin_half_dip_redis % 100 max <"$WORK/rejoin.dip.theirs_half"
    value_line rejoin_half_dip % 30 max <"$WORK/rejoin.dip.ours_half"
    value_line rejoin_half_initial GB/min 10 min <"$WORK/rejoin.all.empty_half"
    value_line rejoin_half_initial_dip % 30 max <"$WORK/rejoin.dip.empty_half"
    value_line rejoin_half GB/min 10 min <"$WORK/rejoin.all.ours_half"
}
