#!/bin/bash
# memcached_languages.sh -- clients of other languages: memjs, Perl's Cache::Memcached::Fast, PHP's; and those that have a password.
# SPDX-License-Identifier: GPL-2.0-only
# What is not installed is passed over with a line that says so; memjs comes from npm into the test's own directory.
source "$(dirname "$0")/cluster.sh"
source "$HERE/memcached_server.sh"
DATA_MEMORY=200M
SMALL_LOG=$'NoOfFragmentLogFiles=4\nFragmentLogFileSize=16M\nRedoBuffer=32M'

MEMJS=
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    say "skipped: memjs; node or npm is not installed"
elif timeout 100 npm install --prefix "$BOX/npm" --cache "$BOX/npm/cache" --no-audit --no-fund --loglevel=error memjs@1 >"$BOX/npm.out" 2>&1; then
    MEMJS=$BOX/npm/node_modules/memjs
else
    say "skipped: memjs; npm cannot install it: $(head -n 1 "$BOX/npm.out")"
fi
perl -MCache::Memcached::Fast -e 1 2>/dev/null && PERL=yes || say "skipped: Cache::Memcached::Fast is not installed"
[ "$(php -r 'echo extension_loaded("memcached");' 2>/dev/null)" = 1 ] && PHP=yes || say "skipped: PHP with its Memcached is not installed"

# good SAID COMMAND...: it ends well, and says so.
good() {
    want 0 "${@:2}"
    want_text out "^$1: all is right\$"
}

start_cluster 2 2
want 0 "$BIN/ndb_memcached" --bootstrap -e "connectstring=$CS"
for role in mc-only db-only; do # Keys that begin with b: may have large values in both.
    start_server "$role" -I 8m -m 256
    [ -z "$MEMJS" ] || { say "role $role: memjs"; good memjs node "$HERE/memcached_clients.js" "$MEMJS" "$PORT" 4194304; }
    [ -z "${PERL:-}" ] || { say "role $role: Cache::Memcached::Fast"; good Cache::Memcached::Fast perl "$HERE/memcached_clients.pl" "$PORT" 4194304; }
    [ -z "${PHP:-}" ] || { say "role $role: PHP"; good php php "$HERE/memcached_clients.php" "$PORT" 4194304; }
    stop_server "$SERVER_PID"
done

say "who may use it: clients with SASL"
printf 'anna:secret\nbert:very secret\n' >"$BOX/users"
start_server db-only -S -Y "$BOX/users" -I 8m
good users /usr/bin/python3 "$HERE/memcached_users.py" "$PORT" anna secret 'very secret'
good users /usr/bin/python3 "$HERE/memcached_users.py" "$PORT" bert 'very secret' secret
if [ -n "$MEMJS" ]; then
    good memjs node "$HERE/memcached_clients.js" "$MEMJS" "$PORT" 100000 anna secret
    want 3 node "$HERE/memcached_clients.js" "$MEMJS" "$PORT" 100000 anna wrong
    want_text out '^refused: '
fi
stop_server "$SERVER_PID"
say "a client with a password, and a server that asks nobody"
start_server mc-only
[ -z "$MEMJS" ] || good memjs node "$HERE/memcached_clients.js" "$MEMJS" "$PORT" 100000 anna secret
stop_server "$SERVER_PID"
stop_cluster
