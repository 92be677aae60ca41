#!/bin/bash
# memcached_crowd.sh -- ten thousand idle connections while others work, and clients that read slowly or not at all.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
source "$HERE/memcached_server.sh"
CROWD=${CROWD:-10000}
# Both sides of each connection are on this machine: where less is allowed, it is a smaller crowd.
ulimit -n $((CROWD + 2000)) 2>/dev/null
[ "$(ulimit -n)" -ge $((CROWD + 2000)) ] || CROWD=$(($(ulimit -n) - 500))
DATA_MEMORY=200M
SMALL_LOG=$'NoOfFragmentLogFiles=4\nFragmentLogFileSize=16M\nRedoBuffer=32M'
start_cluster 1 1
want 0 "$BIN/ndb_memcached" --bootstrap -e "connectstring=$CS"
for role in mc-only db-only; do
    start_server "$role" -c $((CROWD + 1000))
    say "role $role: a crowd"
    want 0 /usr/bin/python3 "$HERE/memcached_crowd.py" "$PORT" "$SERVER_PID" idle "$CROWD"
    cat "$BOX/out"
    stop_server "$SERVER_PID"
done

slow() { # role, bytes of a value, requests in the database
    start_server "$1"
    say "role $1: slow readers of $2 bytes"
    want 0 /usr/bin/python3 "$HERE/memcached_crowd.py" "$PORT" "$SERVER_PID" slow "$2" "$3"
    cat "$BOX/out"
    stop_server "$SERVER_PID"
}
slow mc-only 10000 0
slow mc-only 1000000 0
slow db-only 13000 2048 # Of each of two threads 1024.
slow large 200000 512 # A large value counts as four.
stop_cluster
