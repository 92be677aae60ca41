#!/bin/bash
# memcached_lost.sh -- ndb_memcached that caches rows, and a cluster that is lost: while it is away and when it has come back no copy says
# what the rows do not say. It comes back with what was durable, and then with nothing.
# SPDX-License-Identifier: GPL-2.0-only
LINES='TimeBetweenGlobalCheckpoints=30000'
source "$(dirname "$0")/cluster.sh"
source "$HERE/memcached_server.sh"

start_again() {
    start_node 1
    want 0 "$BIN/ndb_waiter" --timeout=100
    for _ in $(seq 600); do
        talk "$PORT" 'get b:none\r\nquit\r\n'
        [ "$(cat "$BOX/out")" = END ] && return 0
        sleep 0.1
    done
    fail "the server does not find the cluster again: $(cat "$BOX/out")"
}

start_cluster 1 1
want 0 "$BIN/ndb_memcached" --bootstrap -e "connectstring=$CS"
start_server ndb-caching

say "what was not durable is lost with all nodes, and with it its copies"
reply "$PORT" 'set b:a 0 0 3\r\nold\r\nset n 0 0 1\r\n5\r\n' 'STORED\nSTORED\n'
make_durable
reply "$PORT" 'set b:a 0 0 3\r\nnew\r\nset b:only 0 0 3\r\nnew\r\nincr n 5\r\n' 'STORED\nSTORED\n10\n'
reply "$PORT" 'get b:a\r\nget b:only\r\nget n\r\n' 'VALUE b:a 0 3\nnew\nEND\nVALUE b:only 0 3\nnew\nEND\nVALUE n 0 2\n10\nEND\n'
kill_nodes
wait_text "server.$PORT" 'is lost: no data node can be reached$'
talk "$PORT" 'get b:a\r\nquit\r\n'
want_text out '^SERVER_ERROR '
start_again
reply "$PORT" 'get b:a\r\nget b:only\r\nget n\r\nincr n 1\r\n' 'VALUE b:a 0 3\nold\nEND\nEND\nVALUE n 0 1\n5\nEND\n6\n'

say "it begins anew"
kill_nodes
rm -r "$BOX/node1/ndb_1_fs"
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_memcached" --bootstrap -e "connectstring=$CS"
for _ in $(seq 600); do
    talk "$PORT" 'get b:a\r\nget n\r\nquit\r\n'
    [ "$(cat "$BOX/out")" = $'END\nEND' ] && break
    ! grep -q '^VALUE' "$BOX/out" || fail "rows of the former cluster are answered: $(cat "$BOX/out")"
    sleep 0.1
done
[ "$(cat "$BOX/out")" = $'END\nEND' ] || fail "the server does not find the new cluster: $(cat "$BOX/out")"
stop_server "$SERVER_PID"
stop_cluster
