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
server localhost 127.0.0.1 127.0.0.2
server 127.0.0.2 127.0.0.2 127.0.0.1
outside=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -E '^[0-9.]+$' | grep -v '^127\.' | head -n 1)
[ -z "$outside" ] || server "$outside" "$outside 127.0.0.1" 127.0.0.2 # Its host's own tools get in, too.

say "where it does not say anything"
server '' '127.0.0.1 127.0.0.2' ''
server 198.51.100.77 '127.0.0.1 127.0.0.2' ''
want_text mgm/ndb_49_cluster.log 'HostName 198\.51\.100\.77 is no address of this host: the server listens on all addresses'
server no-such-host.invalid '127.0.0.1 127.0.0.2' ''
want_text mgm/ndb_49_cluster.log 'HostName no-such-host\.invalid has no address that others could use'

say "where the option says"
server 127.0.0.1 127.0.0.3 '127.0.0.1 127.0.0.2' --bind-address=127.0.0.3
start_mgm --ndb-nodeid=49 --bind-address=somewhere
ended "$MGM_PID" && fail "an address that is none is taken"
want_text mgm.out 'cannot be used: invalid argument'
