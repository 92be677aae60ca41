#!/bin/bash
# memcached_hostile.sh -- damaged requests of all three protocols, against the cache and against rows: the server goes on.
# SPDX-License-Identifier: GPL-2.0-only
# memcached_hostile.sh BIN_DIR [--seed=N]: the same requests again. REQUESTS: of each protocol and role; GROWTH_MB: of memory.
REQUESTS=${REQUESTS:-30000}
TEST_DEADLINE=${TEST_DEADLINE:-$((600 + REQUESTS / 50))}
SEED=$RANDOM$RANDOM
case ${2:-} in --seed=*) SEED=${2#*=} ;; esac
source "$(dirname "$0")/cluster.sh"
source "$HERE/memcached_server.sh"
DATA_MEMORY=200M
SMALL_LOG=$'NoOfFragmentLogFiles=4\nFragmentLogFileSize=16M\nRedoBuffer=32M'
start_cluster 1 1
want 0 "$BIN/ndb_memcached" --bootstrap -e "connectstring=$CS"
say "seed $SEED"
for role in ${ROLES:-mc-only db-only}; do
    start_server "$role" -m 16
    for protocol in text meta binary; do
        say "role $role, protocol $protocol"
        timeout "$TEST_DEADLINE" "$BIN/mc_hostile" "$PORT" "$SERVER_PID" "$protocol" "$REQUESTS" "$SEED" "${GROWTH_MB:-64}" ||
            fail "mc_hostile PORT PID $protocol $REQUESTS $SEED"
        kill -0 "$SERVER_PID" 2>/dev/null || die "the server is gone: $(tail -n 60 "$BOX/server.$PORT")"
        reply "$PORT" 'set after 5 0 3\r\nabc\r\nget after\r\nincr after 1\r\ndelete after\r\nmg after v\r\n' \
            'STORED\nVALUE after 5 3\nabc\nEND\nCLIENT_ERROR cannot increment or decrement non-numeric value\nDELETED\nEN\n'
    done
    stop_server "$SERVER_PID"
    grep -v -e ready -e 'ended by signal' "$BOX/server.$PORT" | head -n 20
done
stop_cluster
