#!/bin/bash
# config_errors.sh -- what ndb_mgmd and ndbmtd refuse to start with, and how they say it.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

# refused LINE PATTERN [NODES REPLICAS]: a configuration with LINE must be refused with its place.
refused() {
    local lines=$1 pattern=$2 place
    write_config "${3:-2}" "${4:-2}" "$lines"
    want 1 "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --config-dir="$BOX/mgm" --initial --nodaemon
    want_text err "$pattern"
    place="config.ini:$(grep -nF -- "${lines:-[ndbd default]}" "$BOX/config.ini" | head -n 1 | cut -d: -f1)"
    [ -z "$lines" ] || want_text err "$place"
}

say "config.ini"
refused 'NoSuchParameter=1' 'NoSuchParameter'
refused 'DataMemory=12' 'DataMemory.*1M'
refused 'DataMemory=lots' 'DataMemory'
refused 'HeartbeatIntervalDbDb=99999999999' 'HeartbeatIntervalDbDb'
refused 'NoOfReplicas=5' 'NoOfReplicas.*1.*4'
refused 'ThreadConfig=ldm={count=three}' 'ThreadConfig'
refused 'EncryptedFileSystem=1' 'EncryptedFileSystem.*not supported'
refused 'NoOfFragmentLogFiles=2' 'NoOfFragmentLogFiles.*3\.\.256'
refused "DataDir='/tmp/x'" "DataDir: value '/tmp/x' is in quotes: leave them out"
refused 'DataMemory="80M"' 'DataMemory: value "80M" is in quotes: leave them out'
refused '' 'NoOfReplicas|node group|multiple' 3 2

say "all wrong values are told at once"
refused $'DataMemory=lots\nThreadConfig=ldm={count=three}\nFragmentLogFileSize=5000001' 'DataMemory'
want_text err 'ThreadConfig'
want_text err 'FragmentLogFileSize'

printf '[ndb_mgmd]\nHostName=127.0.0.1\n[ndbd]\nNodeId=200\nServerPort=0\nDataMemory=x\nThreadConfig=cpu\n[api]\nNodeId=abc\nHostName=h a\n' >"$BOX/config.ini"
want 1 "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --print-full-config
for name in 'ini:4: \[ndbd\] NodeId' 'ini:5: \[ndbd\] ServerPort' 'ini:6: \[ndbd\] DataMemory' 'ini:7: \[ndbd\] ThreadConfig' 'ini:9: .* NodeId' 'ini:10: .* HostName: "h a" is no host name'; do
    want_text err "$name"
done
[ "$(grep -c 'ini:[0-9]' "$BOX/err")" = 6 ] || fail "6 values are wrong: $(cat "$BOX/err")"
printf '[ndb_mgmd]\nHostName=127.0.0.1\n[ndbd]\n[api]\nHostName=h a\n' >"$BOX/config.ini" # It says nothing of where nodes are.
want 1 "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --print-full-config
[ "$(grep -c 'ini:[0-9].*Host' "$BOX/err")" = 1 ] || fail "one host name is wrong: $(cat "$BOX/err")"
printf '[ndb_mgmd]\nHostName=127.0.0.1\n[ndbd default]\nHostName=h a\n[ndbd]\n[ndbd]\n[api]\n' >"$BOX/config.ini"
want 1 "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --print-full-config
[ "$(grep -c 'ini:[0-9]' "$BOX/err")" = 1 ] || fail "one host name is wrong: $(cat "$BOX/err")"
printf '[ndb_mgmd]\nHostName=127.0.0.1\n[ndbd default]\nNoOfReplicas=1\n[ndbd]\n[api]\n[tcp]\nNodeId1=2\nNodeId2=77\nSendBufferMemory=x\n' >"$BOX/config.ini"
want 1 "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --print-full-config
want_text err 'ini:7: \[tcp\] NodeId2: there is no node 77'
want_text err 'ini:10: \[tcp\] SendBufferMemory: value "x" is not a number'
printf '[ndb_mgmd]\nHostName=127.0.0.1\nLogDestination=FILE:filename="a b.log"\n[ndbd]\n[api]\n' >"$BOX/config.ini"
want 1 "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --print-full-config
want_text err 'ini:3: .* LogDestination: filename="a b.log" is in quotes: leave them out'

say "files and options"
want 1 "$BIN/ndb_mgmd" --config-file="$BOX/no-such.ini" --config-dir="$BOX/mgm" --initial --nodaemon
want_text err 'no-such.ini'
want 2 "$BIN/ndb_mgmd" --no-such-option
want_text err "^ndb_mgmd: unrecognized option '--no-such-option'$"
want_text err "^Try 'ndb_mgmd --help'"
want 2 "$BIN/ndb_mgmd" -9
want_text err "^ndb_mgmd: invalid option -- '9'$"
want 2 "$BIN/ndb_mgmd" --ndb-nodeid=none
want_text err '^ndb_mgmd: --ndb-nodeid=none is wrong'
want 2 "$BIN/ndb_mgmd" surplus
want_text err "^ndb_mgmd: takes no argument: 'surplus'$"
for option in '-?' --help; do
    want 0 "$BIN/ndb_mgmd" "$option"
    want_text out '^Usage: ndb_mgmd '
done
want 0 "$BIN/ndb_mgmd" --version
want_text out '^links: protocol [0-9]+, with those that have [0-9]+ or more$'
want_text out '^files: configuration [0-9]+$'

say "data nodes"
write_config 1 1
want 0 "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --print-full-config
want_text out 'DataMemory'
say "what has no effect is told"
write_config 1 1 $'RecoveryWork=60\nKeepAliveSendInterval=100\nArbitrationTimeout=100'
want 0 "$BIN/ndb_mgmd" --config-file="$BOX/config.ini" --print-full-config
cat "$BOX/out" >>"$BOX/err"
want_text err 'warning: \[ndbd\] RecoveryWork: it has no effect: '
want_text err 'warning: \[ndbd\] KeepAliveSendInterval: it has no effect: heartbeats keep links alive'
grep -q 'ArbitrationTimeout: it has no effect' "$BOX/err" && fail "ArbitrationTimeout has an effect"

write_config 1 1
start_mgm --initial
for _ in $(seq 900); do (exec 3<>"/dev/tcp/${CS/://}") 2>/dev/null && break; sleep 0.1; done
want 1 "$BIN/ndbmtd" --ndb-nodeid=7 --foreground --connect-retries=0
cat "$BOX/out" >>"$BOX/err"
want_text err '7'
want 1 "$BIN/ndbmtd" -c "127.0.0.1:$(free_port)" --foreground --connect-retries=0
start_node 1
want 0 "$BIN/ndb_waiter" --timeout=100
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
ended "${NODE_PIDS[1]}" || fail "node 1 ends with exit code $?"
