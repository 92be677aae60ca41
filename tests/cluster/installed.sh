#!/bin/bash
# installed.sh -- the Debian packages in a Debian of their own: installed, upgraded, removed, purged and installed again by dpkg,
# first where no service manager runs, then where systemd does; the installed cluster runs as its own user, its logs are
# turned over by logrotate, its units are stopped, killed, hung and upgraded.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: installed.sh BIN_DIR SOURCE_DIR BUILD_DIR; exit code 77 where it is not root, or no Debian mirror can be reached
BUILD=${3:?usage: installed.sh BIN_DIR SOURCE_DIR BUILD_DIR}
[ "$(id -u)" -eq 0 ] || { echo "skipped: a Debian of its own can only be made by root"; exit 77; }
source "$(dirname "$0")/cluster.sh"
ROOT=$BOX/root
for program in mmdebstrap systemd-nspawn unshare nsenter; do
    command -v "$program" >/dev/null || die "$program is missing: it is in one of the packages that sandbox.sh test installs"
done

MIRROR=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 2>/dev/null | awk '$2 == "bookworm" { print $1; exit }')
MIRROR=${MIRROR:-http://deb.debian.org/debian/}

skip() {
    tail -n 20 "$BOX/out"
    echo "skipped: $*"
    kill "$GUARD"
    trap - EXIT
    rm -rf "$BOX"
    exit 77
}

MACHINE=
end_machine() { # In good order, and otherwise not.
    local code=$?
    if [ -n "$MACHINE" ]; then
        kill -TERM "$MACHINE" 2>/dev/null
        for _ in $(seq 900); do kill -0 "$MACHINE" 2>/dev/null || break; sleep 0.1; done
        kill -KILL $(pgrep -P "$MACHINE") "$MACHINE" 2>/dev/null
        wait "$MACHINE" 2>/dev/null
        MACHINE=
    fi
    return "$code"
}
trap 'end_machine; cleanup' EXIT

run() { "$@"; } # These two are bounded by themselves.
# inside COMMAND...: in the root, without a service manager; what is left of it ends with it.
inside() {
    timeout -k 5 400 unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$ROOT" \
        env -u NDB_CONNECTSTRING PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}
# booted COMMAND...: in the machine that was started from the root.
booted() {
    timeout -k 5 150 nsenter -t "$(pgrep -P "$MACHINE")" -m -u -i -n -p -r -w \
        env -u NDB_CONNECTSTRING PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}
# unit NAME PROPERTY
unit() { booted systemctl show -P "$2" "$1"; }
# until_unit NAME PROPERTY REGEX
until_unit() {
    for _ in $(seq 900); do
        unit "$1" "$2" | grep -qE "$3" && return 0
        sleep 0.1
    done
    fail "$2 of $1 is '$(unit "$1" "$2")', not $3: $(booted journalctl --no-pager -n 20 -u "$1")"
}
# has PATH OWNER:GROUP MODE
has() {
    local got
    got=$(inside stat -c '%U:%G %a' "$1" 2>&1)
    [ "$got" = "$2 $3" ] || fail "$1 is of $got, not $2 $3"
}
ours_stays() { # What is the operator's, and nobody else's.
    has /var/lib/ndb ndb:ndb 700
    [ "$(cat "$ROOT/var/lib/ndb/rows")" = kept ] || fail "$1 has touched the data"
    [ -s "$ROOT/etc/ndb/config.ini" ] || fail "$1 has taken config.ini away"
    grep -q "^$(echo "$OWNER" | sed 's/[*]/\\*/')\$" "$ROOT/etc/passwd" || fail "$1 has changed the user: $(grep ndb "$ROOT/etc/passwd")"
}
NAMES="ndb-data-node ndb-management-server ndb-client ndb-memcached libndbclient0 libndbclient-dev"

say "packages, and a Debian from $MIRROR"
(cd "$BUILD" && cpack -G DEB -B "$BOX/packages") >"$BOX/out" 2>&1 || { cat "$BOX/out"; die "cpack fails"; }
chmod 755 "$BOX"
mmdebstrap --variant=minbase --include=ca-certificates,systemd,systemd-sysv,dbus,logrotate,procps,iproute2 bookworm "$ROOT" \
    "$MIRROR" >"$BOX/out" 2>&1 || skip "no Debian can be had from $MIRROR"
cp /etc/resolv.conf "$ROOT/etc/"
echo '127.0.0.1 localhost' >"$ROOT/etc/hosts"
mkdir "$ROOT/packages"
cp "$BOX"/packages/*.deb "$ROOT/packages/"

say "installed"
want 0 inside apt-get update -qq
want 0 inside sh -c 'exec apt-get install -y -qq --no-install-recommends /packages/*.deb'
has /var/lib/ndb ndb:ndb 750
has /etc/ndb root:root 755
for package in data-node management-server memcached; do has "/etc/default/ndb-$package" root:root 644; done
OWNER=$(grep '^ndb:' "$ROOT/etc/passwd")
[[ "$OWNER" == ndb:*:/var/lib/ndb:/usr/sbin/nologin ]] || fail "the user is $OWNER"
[ -z "$(find "$ROOT/etc/systemd" -name 'ndb*')" ] || fail "the installation enables something"
[ "$(inside ndb_mgm --version | head -n 1)" != "" ] || fail "the console does not run"
want 0 inside dpkg --verify ndb-data-node ndb-management-server ndb-client ndb-memcached libndbclient0 libndbclient-dev

say "the operator makes it his own; the same version again, removed, purged, and back"
cat >"$ROOT/etc/ndb/config.ini" <<'END'
[ndbd default]
NoOfReplicas=2
DataMemory=80M
DataDir=/var/lib/ndb
HostName=127.0.0.1
NoOfFragmentLogFiles=4
FragmentLogFileSize=4M
RedoBuffer=2M
StopOnError=0
HeartbeatIntervalDbDb=500
[ndb_mgmd]
NodeId=49
HostName=127.0.0.1
DataDir=/var/lib/ndb
[ndbd]
NodeId=1
[ndbd]
NodeId=2
[api]
[api]
[api]
[api]
END
inside chmod 700 /var/lib/ndb
inside setpriv --reuid ndb --regid ndb --clear-groups sh -c 'echo kept >/var/lib/ndb/rows'
echo '# mine' >>"$ROOT/etc/default/ndb-data-node"
want 0 inside systemctl enable ndb_mgmd ndbmtd@1 ndbmtd@2 ndb_memcached
want 0 inside sh -c 'exec dpkg -i /packages/*.deb'
tail -n 1 "$ROOT/etc/default/ndb-data-node" | grep -q '^# mine$' || fail "an upgrade takes the operator's defaults away"
[ -L "$ROOT/etc/systemd/system/multi-user.target.wants/ndbmtd@1.service" ] || fail "an upgrade disables a service"
ours_stays "an upgrade"
# shellcheck disable=SC2086
want 0 inside dpkg -r $NAMES
[ ! -e "$ROOT/usr/bin/ndbmtd" ] || fail "a removal leaves the program"
[ -z "$(find "$ROOT/etc/systemd" -name 'ndb*')" ] || fail "a removal leaves $(find "$ROOT/etc/systemd" -name 'ndb*')"
tail -n 1 "$ROOT/etc/default/ndb-data-node" | grep -q '^# mine$' || fail "a removal takes the operator's defaults away"
ours_stays "a removal"
# shellcheck disable=SC2086
want 0 inside dpkg -P $NAMES
left=$(find "$ROOT/etc" "$ROOT/usr" "$ROOT/lib" -name '*ndb[-_cm]*' -not -path "$ROOT/etc/ssl/*")
[ -z "$left" ] || fail "a purge leaves $left"
ours_stays "a purge"
want 0 inside sh -c 'exec dpkg -i /packages/*.deb'
ours_stays "an installation"
if tail -n 1 "$ROOT/etc/default/ndb-data-node" | grep -q mine; then fail "after a purge the defaults are not the package's"; fi
[ "$FAILED" -eq 0 ] || exit 1

say "by hand, as its user; logrotate"
cat >"$ROOT/packages/by_hand" <<'END'
set -eu
umask 027
ip link set lo up
as_ndb() { setpriv --reuid ndb --regid ndb --init-groups "$@"; }
cd /var/lib/ndb
as_ndb ndb_mgmd --verbose --config-file=/etc/ndb/config.ini --config-dir=/var/lib/ndb
as_ndb ndbmtd --ndb-nodeid=1
as_ndb ndbmtd --ndb-nodeid=2
ndb_waiter --timeout=100
ndb_create_table --execute='CREATE TABLE test.by_hand (a INT UNSIGNED PRIMARY KEY)'
for turn in 1 2 3; do
    logrotate -f -s /var/lib/logrotate/test /etc/logrotate.d/ndb-data-node
    sleep 2 # The management server looks every second.
    ndb_select_count -d test by_hand
done
ndb_mgm -e SHUTDOWN
for second in $(seq 90); do
    pgrep ndb >/dev/null || break
    sleep 1
done
logrotate -d -s /var/lib/logrotate/test /etc/logrotate.d/ndb-data-node 2>&1
END
inside_apart() { unshare --net "$BASH" -c "$(declare -f inside); ROOT='$ROOT'; inside \"\$@\"" apart "$@"; }
want 0 inside_apart bash /packages/by_hand
if grep -q 'error' "$BOX/out"; then fail "logrotate: $(cat "$BOX/out")"; fi
[ -s "$ROOT/var/lib/ndb/ndb_1_out.log" ] || fail "no log of node 1: $(ls -l "$ROOT/var/lib/ndb")"
for log in ndb_1_out.log ndb_2_out.log ndb_49_out.log; do
    has "/var/lib/ndb/$log" ndb:ndb 640
    for piece in "$log.3.gz" "$log.2.gz" "$log.1"; do [ -e "$ROOT/var/lib/ndb/$piece" ] || fail "there is no $piece"; done
    { zcat "$ROOT/var/lib/ndb/$log.3.gz" "$ROOT/var/lib/ndb/$log.2.gz"; cat "$ROOT/var/lib/ndb/$log.1" "$ROOT/var/lib/ndb/$log"; } >"$BOX/$log"
done
for id in 1 2; do # Each event of the node stands in both logs.
    want_text "ndb_${id}_out.log" 'Start initiated'
    grep -q 'Node shutdown completed' "$ROOT/var/lib/ndb/ndb_${id}_out.log" || fail "the last line of node $id is not in its log"
    told=$(grep -c 'Node [0-9]* Connected' "$BOX/ndb_${id}_out.log")
    heard=$(grep -c "Node $id: Node [0-9]* Connected" "$ROOT/var/lib/ndb/ndb_49_cluster.log")
    [ "$told" -ge "$heard" ] || fail "the log of node $id has $told of $heard lines"
done
[ "$FAILED" -eq 0 ] || exit 1

say "systemd: the installed units"
systemd-nspawn --boot -D "$ROOT" --machine="ndb-$$" --register=no --keep-unit --private-network </dev/null >"$BOX/boot" 2>&1 &
MACHINE=$!
for _ in $(seq 900); do
    kill -0 "$MACHINE" 2>/dev/null || die "systemd-nspawn ends: $(cat "$BOX/boot")"
    [ -n "$(pgrep -P "$MACHINE")" ] && [[ "$(booted systemctl is-system-running 2>/dev/null)" =~ running|degraded ]] && break
    sleep 0.1
done
booted sh -c 'rm -rf /var/lib/ndb/ndb_*'
# A hung program is found early here, and the first node has to say that it waits.
for name in ndbmtd@ ndb_mgmd; do
    booted sh -c "mkdir -p /etc/systemd/system/$name.service.d; printf '[Service]\nWatchdogSec=20\n' >/etc/systemd/system/$name.service.d/test.conf"
done
want 0 booted systemctl daemon-reload
want 0 booted systemctl enable ndb_mgmd ndbmtd@1 ndbmtd@2
want 0 booted systemctl start --no-block ndbmtd@1
until_unit ndbmtd@1 StatusText '^Waiting for a management server: localhost '
for _ in $(seq 900); do booted journalctl --no-pager -u ndbmtd@1 | grep -q 'waits for a management server' && break; sleep 0.1; done
booted journalctl --no-pager -u ndbmtd@1 >"$BOX/out"
want_text out 'the node waits for a management server: localhost port 1186: Connection refused'
want 0 booted systemctl start ndb_mgmd
want 0 booted systemctl start ndbmtd@1 ndbmtd@2
for id in 1 2; do
    until_unit "ndbmtd@$id" StatusText "^Node $id is started\$"
    until_unit "ndbmtd@$id" WatchdogUSec '^20s$'
done
want 0 booted sh -c 'ndb_create_table --execute="CREATE TABLE test.kept (a INT UNSIGNED PRIMARY KEY, b INT)" &&
    seq 1000 | sed "s/\$/,1/" >/tmp/kept.csv && ndb_import --state-dir=/tmp test /tmp/kept.csv'
rows() { # The cluster has them, however many nodes just come back.
    want 0 booted ndb_waiter --timeout=100
    want 0 booted ndb_select_count -d test kept
    want_text out '^1000 records'
}
rows
booted systemctl show ndbmtd@1 >"$BOX/out"
for line in 'User=ndb' 'TasksMax=4096' 'LimitCORE=infinity' 'LimitMEMLOCK=infinity' 'OOMPolicy=continue' 'KillMode=control-group'; do want_text out "^$line\$"; done
booted sh -c 'cat /proc/$(systemctl show -P MainPID ndbmtd@1)/status' >"$BOX/out"
for line in 'NoNewPrivs:.1' 'CapBnd:.0000000000000000' 'Seccomp:.2'; do want_text out "^$line\$"; done
has /var/lib/ndb ndb:ndb 750
has /var/lib/ndb/ndb_1_fs ndb:ndb 750
booted systemd-analyze security --no-pager ndb_mgmd ndbmtd@1 ndb_memcached >"$BOX/out" 2>&1
[ "$(grep -c 'exposure level for .*: [0-2]\.[0-9]' "$BOX/out")" -eq 3 ] || fail "systemd-analyze security: $(grep exposure "$BOX/out")"

say "a node that hangs, one that is killed, an angel that is killed, one that is stopped; a server that hangs"
child() { booted pgrep -P "$(unit "$1" MainPID)"; }
booted kill -STOP "$(child ndbmtd@2)"
until_unit ndbmtd@2 NRestarts '^1$'
until_unit ndbmtd@2 StatusText '^Node 2 is started$'
rows
angel=$(unit ndbmtd@2 MainPID)
booted kill -KILL "$(child ndbmtd@2)" # StopOnError=0: its angel starts it again.
rows
[ "$(unit ndbmtd@2 MainPID)" = "$angel" ] || fail "the angel ends with a killed node"
booted kill -KILL "$angel"
until_unit ndbmtd@2 NRestarts '^2$'
until_unit ndbmtd@2 ActiveState '^active$'
rows
[ "$(booted pgrep -f -c ndb-nodeid=2)" -eq 2 ] || fail "there is not an angel and a node: $(booted pgrep -a ndb)"
want 0 booted ndb_mgm -e "2 STOP"
until_unit ndbmtd@2 ActiveState '^inactive$'
[ "$(unit ndbmtd@2 Result)" = success ] || fail "a stopped node is a failure: $(unit ndbmtd@2 Result)"
want 0 booted systemctl start ndbmtd@2
booted kill -STOP "$(unit ndb_mgmd MainPID)"
until_unit ndb_mgmd NRestarts '^1$'
until_unit ndb_mgmd StatusText '^Node 49 listens on port 1186$'
rows

say "an upgrade leaves what runs alone; a removal stops it; what is kept is there again"
for file in "$BOX"/packages/*.deb; do # The same as another version.
    dpkg-deb -R "$file" "$BOX/next" && sed -i '/^Version:\|^Depends:/s/1\.0\.0/1.0.1/' "$BOX/next/DEBIAN/control"
    mkdir -p "$ROOT/next" && dpkg-deb --root-owner-group -b "$BOX/next" "$ROOT/next/$(basename "$file")" >"$BOX/out"
    rm -rf "$BOX/next"
done
before=$(booted pgrep -x 'ndbmtd|ndb_mgmd')
want 0 booted sh -c 'exec dpkg -i /next/*.deb'
[ "$(booted pgrep -x 'ndbmtd|ndb_mgmd')" = "$before" ] || fail "an upgrade ends something: $before, then $(booted pgrep -ax 'ndbmtd|ndb_mgmd')"
rows
want 0 booted timeout 140 ndb_mgm -e "ROLLING RESTART"
rows
# shellcheck disable=SC2086
want 0 booted dpkg -P $NAMES
[ -z "$(booted pgrep -x 'ndbmtd|ndb_mgmd')" ] || fail "a removal leaves $(booted pgrep -ax 'ndbmtd|ndb_mgmd')"
booted journalctl --no-pager -u ndbmtd@1 -n 20 >"$BOX/out"
want_text out 'Node shutdown completed'
[ -z "$(booted find /etc/systemd -name 'ndb*' -type l)" ] || fail "a purge leaves $(booted find /etc/systemd -name 'ndb*' -type l)"
[ "$(booted cat /var/lib/ndb/rows)" = kept ] || fail "a purge has touched the data"
want 0 booted sh -c 'exec dpkg -i /next/*.deb'
want 0 booted systemctl start ndb_mgmd ndbmtd@1 ndbmtd@2
rows
want 0 booted systemctl stop ndbmtd@1 ndbmtd@2 ndb_mgmd
[ "$(booted systemctl --failed --no-legend | grep -c ndb)" -eq 0 ] || fail "failed: $(booted systemctl --failed --no-legend)"
