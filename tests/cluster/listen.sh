#!/bin/bash
# listen.sh -- the management server listens where its section says that it is, and nowhere else; on all addresses when that says nothing.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

reached() { (exec 3<>"/dev/tcp/$1/$PORT") 2>/dev/null; }

# server HOST "REACHED..." "REFUSED..." [options]
server() {
    local host=$1 yes=$2 no=$3 address
    shift 3
    PORT=$(free_port)
    rm -rf "$BOX/mgm"
    mkdir "$BOX/mgm"
    printf '[ndbd default]\nNoOfReplicas=1\n[ndb_mgmd]\nNodeId=49\n%s\nPortNumber=%s\nDataDir=%s\n[ndbd]\nHostName=%s\n[api]\n' \
        "${host:+HostName=$host}" "$PORT" "$BOX/mgm" "${host:-127.0.0.1}" >"$BOX/config.ini"
    : >"$BOX/mgm.out"
    start_mgm --ndb-nodeid=49 "$@"
    wait_text mgm.out 'listens on port'
    for address in $yes; do reached "$address" || fail "HostName=$host $*: not reached at $address"; done
    for address in $no; do reached "$address" && fail "HostName=$host $*: reached at $address"; done
    kill "$MGM_PID"
    ended "$MGM_PID" || fail "the server ends with exit code $?"
}

say "where HostName says"
server 127.0.0.1 127.0.0.1 127.0.0.2
for name in localhost LocalHost localhost.localdomain ip6-localhost here.localhost; do
    server "$name" 127.0.0.1 127.0.0.2
done
server 127.0.0.2 127.0.0.2 127.0.0.1
outside=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -E '^[0-9.]+$' | grep -v '^127\.' | head -n 1)
[ -n "$outside" ] || echo "this host has no other address than loopback ones: two listeners are not tried"
[ -z "$outside" ] || server "$outside" "$outside 127.0.0.1" 127.0.0.2 # Its host's own tools get in, too.

if (exec 3<>/dev/tcp/::1/1) 2>&1 | grep -q 'Connection refused'; then
    server ::1 ::1 '127.0.0.1 127.0.0.2'
fi

say "a name with several addresses, which some name services tell twice, and some of which are of no use"
printf '127.0.0.1 localhost\n%s many.test\n%s many.test\n::ffff:%s many.test\nfe80::1:2 many.test\n198.51.100.77 many.test\n' \
    "${outside:-127.0.0.2}" "${outside:-127.0.0.2}" "${outside:-127.0.0.2}" >"$BOX/hosts"
printf '#!/bin/sh\nmount --bind "%s" /etc/hosts && exec "$@"\n' "$BOX/hosts" >"$BOX/with_hosts"
chmod +x "$BOX/with_hosts"
if [ -n "$outside" ] && unshare --map-root-user --mount "$BOX/with_hosts" getent ahosts many.test >/dev/null 2>&1; then
    real=$BIN
    mkdir "$BOX/bin"
    printf '#!/bin/sh\nexec unshare --map-root-user --mount "%s" "%s" "$@"\n' "$BOX/with_hosts" "$real/ndb_mgmd" >"$BOX/bin/ndb_mgmd"
    chmod +x "$BOX/bin/ndb_mgmd"
    BIN=$BOX/bin
    server many.test "$outside 127.0.0.1" 127.0.0.2
    want_text mgm/ndb_49_cluster.log 'INFO .* HostName many\.test: the server does not listen on 198\.51\.100\.77: '
    BIN=$real
else
    echo "no name can be given to this host for a process of its own: not tried"
fi

say "where it does not say anything"
server 0.0.0.0 '127.0.0.1 127.0.0.2' ''
grep WARNING "$BOX/mgm/ndb_49_cluster.log" | grep -v 'No configuration is kept' && fail "it warns of what is as it should be"
server '' '127.0.0.1 127.0.0.2' ''
server 198.51.100.77 '127.0.0.1 127.0.0.2' ''
want_text mgm/ndb_49_cluster.log 'HostName 198\.51\.100\.77 is no address of this host: the server listens on all addresses'
own=$(uname -n)
if getent ahosts "$own" | awk '{ print $1 }' | sort -u | grep -qv '^127\.'; then
    echo "the name of this host is no loopback name: not tried"
elif getent ahosts "$own" >"$BOX/own"; then
    server "$own" '127.0.0.1 127.0.0.2' ''
    want_text mgm/ndb_49_cluster.log "WARNING .* HostName $own has no address that others could use"
fi

say "where the option says"
server 127.0.0.1 127.0.0.3 '127.0.0.1 127.0.0.2' --bind-address=127.0.0.3

say "who is not known lets nobody in"
sed -i 's/^HostName=127.0.0.1/HostName=no-such-host.invalid/' "$BOX/config.ini"
start_mgm --ndb-nodeid=49 --initial
ended "$MGM_PID" && fail "a name that nobody knows is taken"
want_text mgm.out 'HostName no-such-host\.invalid cannot be looked up: .*; correct it, or say with --bind-address where to listen'
start_mgm --ndb-nodeid=49 --bind-address=somewhere
ended "$MGM_PID" && fail "an address that is none is taken"
want_text mgm.out 'cannot be used: invalid argument'

say "a port that another one has: who comes second changes nothing, neither files of his own nor those of the first one"
kept() { (cd "$1" && find . -name 'ndb_49_*' ! -name '*.log' -exec sha256sum {} + | sort); }
printf '[ndbd default]\nNoOfReplicas=1\n[ndb_mgmd]\nNodeId=49\nHostName=127.0.0.1\nPortNumber=%s\nDataDir=%s\n[ndbd]\nHostName=127.0.0.1\n[api]\n' \
    "$(free_port)" "$BOX/mgm" >"$BOX/config.ini"
: >"$BOX/mgm.out"
start_mgm --ndb-nodeid=49 --initial
wait_text mgm.out 'listens on port'
first=$MGM_PID
before=$(kept "$BOX/mgm")
[ -n "$before" ] || fail "the first server keeps nothing"
refused() { # WHAT OPTION...
    local what=$1
    shift
    want 1 "$BIN/ndb_mgmd" -f "$BOX/second.ini" --ndb-nodeid=49 --nodaemon "$@"
    want_text err '^ndb_mgmd: port [0-9]+ cannot be used: address already in use$'
    [ "$(kept "$BOX/mgm")" = "$before" ] || fail "$what: the files of the server that runs have changed: $(ls -l "$BOX/mgm")"
}
mkdir "$BOX/second"
sed "s|^DataDir=.*|DataDir=$BOX/second|" "$BOX/config.ini" >"$BOX/second.ini"
refused "a first start" --config-dir="$BOX/second"
left=$(cd "$BOX/second" && echo *)
[ "$left" = ndb_49_cluster.log ] || fail "besides its log it has left: $left"
want_text second/ndb_49_cluster.log 'ERROR .* The server stops: port [0-9]+ cannot be used'
kill "$first"
ended "$first" || fail "the first server ends with exit code $?"

say "a server that is told to stop as soon as its port is open ends in good order"
for _ in $(seq 10); do
    rm -rf "$BOX/mgm"
    mkdir "$BOX/mgm"
    PORT=$(sed -n 's/^PortNumber=//p' "$BOX/config.ini")
    start_mgm --ndb-nodeid=49 --initial
    until reached 127.0.0.1; do [ -d "/proc/$MGM_PID" ] || die "the server has ended: $(cat "$BOX/mgm.out")"; done
    kill "$MGM_PID"
    [ -e "$BOX/mgm/ndb_49_config.bin.1" ] || fail "the port is open, and no configuration is kept"
    ended "$MGM_PID" || fail "the server ends with exit code $?"
done
