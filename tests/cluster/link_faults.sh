#!/bin/bash
# link_faults.sh -- the links between data nodes are cut, stalled or delayed, one way and both ways, under load: the part
# goes on that the partition rule names, exactly one, and its clients; the others come back when the links are whole.
# SPDX-License-Identifier: GPL-2.0-only
ROUNDS=${LINK_ROUNDS:-1} # Of each shape.
TEST_DEADLINE=${TEST_DEADLINE:-$((480 + ROUNDS * 240))}
source "$(dirname "$0")/cluster.sh"
HEARTBEAT=HeartbeatIntervalDbDb=200 # Stalled links are found after 2 s; a busy machine is not taken for one.
source "$HERE/failover.sh"
SEED=${SEED:-$$}
RANDOM=$SEED
LINES='StopOnError=0'

# Each link goes through a proxy: the node that connects finds the other one at an address of the link alone.
MORE_CONFIG=through_proxy
through_proxy() { # NODES
    local a b port=() routes=()
    for ((a = 1; a <= $1; a++)); do
        port[a]=$(free_port)
        sed -i "s#^NodeId=$a\$#&\nServerPort=${port[a]}#" "$BOX/config.ini"
        for ((b = a + 1; b <= $1; b++)); do
            printf '[tcp]\nNodeId1=%s\nNodeId2=%s\nHostName1=127.0.%s.%s\n' "$a" "$b" "$a" "$b" >>"$BOX/config.ini"
            routes+=("$b-$a=127.0.$a.$b:${port[a]}/127.0.0.1:${port[a]}")
        done
    done
    rm -f "$BOX/orders"
    mkfifo "$BOX/orders"
    : >"$BOX/proxy.out" # Before the first look at it.
    "$BIN/link_proxy" "${routes[@]}" <"$BOX/orders" >"$BOX/proxy.out" 2>&1 &
    PIDS+=("$!")
    exec 7>"$BOX/orders"
    wait_text proxy.out ready
}

order() { # word, from, to, milliseconds: done when it returns
    local before
    before=$(wc -l <"$BOX/proxy.out")
    echo "$*" >&7
    for _ in $(seq 500); do
        [ "$(wc -l <"$BOX/proxy.out")" -gt "$before" ] && break
        sleep 0.01
    done
    tail -n 1 "$BOX/proxy.out" | grep -q '^ok: ' || die "the proxy does not obey: $*"
}

# between MODE WAYS "A..." "B..." [MS]: on every link between the two sets; WAYS: both, there, back.
between() {
    local a b
    for a in $3; do
        for b in $4; do
            [ "$2" = back ] || order "$1" "$a" "$b" "${5:-}"
            [ "$2" = there ] || order "$1" "$b" "$a" "${5:-}"
        done
    done
}

started() { # Those that are started now, in order.
    "$BIN/ndb_mgm" -e 'ALL STATUS' | sed -nE 's/^Node ([0-9]+): started .*/\1/p' | sort -n | tr '\n' ' '
}

# goes_on "A..." "B...": one of the two sets, alone, and it does so a second later.
goes_on() {
    local now again
    for _ in $(seq 900); do
        now=$(started)
        if [ "$now" = "$1 " ] || [ "$now" = "$2 " ]; then
            sleep 1
            again=$(started)
            [ "$now" = "$again" ] || fail "first $now went on, then $again"
            echo "$now goes on"
            return 0
        fi
        sleep 0.1
    done
    fail "started are $now, neither $1 nor $2"
}

without() { # NODES ID: all others
    local id
    for ((id = 1; id <= $1; id++)); do [ "$id" -eq "$2" ] || printf '%s ' "$id"; done | sed 's/ $//'
}

one_of() { shift $((RANDOM % $#)) && echo "$1"; }

# fault NODES: one at random; sets THOSE and OTHERS, and which sets may go on: GOES and OR.
fault() {
    local a b mode
    mode=$(one_of stall stall cut)
    ways=$(one_of both there back)
    case $1-$(one_of node node link half slow) in
    2-half | 2-link | 2-node | 3-half) THOSE=1 OTHERS=2 GOES=$(without "$1" 1) OR=$(without "$1" 2) ;;
    ?-node)
        a=$((RANDOM % $1 + 1))
        THOSE=$a OTHERS=$(without "$1" "$a")
        GOES=$OTHERS OR=$OTHERS
        ;;
    ?-link)
        a=$((RANDOM % $1 + 1))
        # shellcheck disable=SC2046 # Numbers of nodes.
        b=$(one_of $(without "$1" "$a"))
        THOSE=$a OTHERS=$b GOES=$(without "$1" "$a") OR=$(without "$1" "$b")
        ;;
    4-half) THOSE="1 3" OTHERS="2 4" GOES=$THOSE OR=$OTHERS ;;
    *-slow)
        mode=delay ways=both THOSE=1 OTHERS=$(without "$1" 1)
        GOES="1 $OTHERS" OR=$GOES
        ;;
    esac
    say "$mode $ways: $THOSE | $OTHERS"
    between "$mode" "$ways" "$THOSE" "$OTHERS" 20
    sleep 1
    goes_on "$GOES" "$OR"
}

shape() { # NODES REPLICAS
    local round id
    say "$1 nodes, $2 replicas, seed $SEED"
    MEMORY=() FILES=() MEMORY_ROUNDS=()
    start_daemons "$1" "$2"
    for ((round = 1; round <= ROUNDS; round++)); do
        start_bank 0
        sleep 0.5
        fault "$1"
        [ "$FAILED" -eq 0 ] || exit 1
        sleep "$((RANDOM % 3)).5"
        between pass both "$THOSE" "$OTHERS"
        for ((id = 1; id <= $1; id++)); do wait_started "$id"; done
        sleep 0.5
        end_bank
        gap_at_most 5000
        for ((id = 1; id <= $1; id++)); do NODE_PIDS[id]=$(worker_of "$id"); done
        LOG_OF=log pools_are_empty
        nothing_grows
        NODE_PIDS=()
        [ "$FAILED" -eq 0 ] || exit 1
    done
    want 0 "$BIN/ndb_mgm" -e SHUTDOWN
    ended "$MGM_PID" || fail "the management server ends with exit code $?"
    exec 7>&-
}

shape 2 2
shape 4 2
[ "$ROUNDS" -lt 3 ] || shape 3 3
