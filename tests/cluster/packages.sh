#!/bin/bash
# packages.sh -- the Debian packages: what is in which, what Debian's own checkers say, and a cluster of what they contain, whose
# programs tell a service manager how far they are.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: packages.sh BIN_DIR SOURCE_DIR BUILD_DIR
SOURCE=${2:?usage: packages.sh BIN_DIR SOURCE_DIR BUILD_DIR}
BUILD=${3:?usage: packages.sh BIN_DIR SOURCE_DIR BUILD_DIR}
source "$(dirname "$0")/cluster.sh"
ROOT=$BOX/root

has() { grep -qE "^\./$1\$" "$BOX/list" || fail "$package has no $1"; }

say "six packages, and each file in one of them"
(cd "$BUILD" && cpack -G DEB -B "$BOX/packages") >"$BOX/out" 2>&1 || { cat "$BOX/out"; die "cpack fails"; }
mkdir "$ROOT"
for package in ndb-data-node ndb-management-server ndb-client ndb-memcached libndbclient0 libndbclient-dev; do
    file=$(echo "$BOX/packages/${package}"_*.deb)
    [ -f "$file" ] || die "no package $package"
    dpkg-deb -x "$file" "$ROOT"
    dpkg-deb -c "$file" | awk '{ print $6 }' >"$BOX/list"
    grep -v '/$' "$BOX/list" >>"$BOX/files"
    case $package in
    ndb-data-node) for name in usr/bin/ndbmtd usr/lib/systemd/system/ndbmtd.service 'usr/lib/systemd/system/ndbmtd@.service' \
        etc/logrotate.d/ndb-data-node usr/share/man/man8/ndbmtd.8.gz; do has "$name"; done ;;
    ndb-management-server) for name in usr/bin/ndb_mgmd usr/lib/systemd/system/ndb_mgmd.service etc/default/ndb-management-server \
        usr/share/doc/ndb-management-server/examples/config.ini.example; do has "$name"; done ; has etc/ndb/ ;;
    ndb-client) for name in usr/bin/ndb_mgm usr/bin/ndb_import usr/bin/ndb_desc usr/share/man/man1/ndb_mgm.1.gz; do has "$name"; done ;;
    ndb-memcached) for name in usr/bin/ndb_memcached usr/bin/ndb_memcached_config usr/lib/systemd/system/ndb_memcached.service; do has "$name"; done ;;
    libndbclient0) has 'usr/lib/libndbclient\.so\.0' ;;
    libndbclient-dev) for name in 'usr/include/ndb/ndb\.h' 'usr/lib/libndbclient\.so' 'usr/lib/libndbclient\.a' 'usr/lib/pkgconfig/ndbclient\.pc' \
        'usr/lib/cmake/ndbclient/ndbclient-config\.cmake' 'usr/share/man/man3/ndbclient\.3\.gz' 'usr/share/man/man3/ndb_scan_start\.3\.gz'; do has "$name"; done ;;
    esac
    has "usr/share/doc/$package/copyright"
done
twice=$(sort "$BOX/files" | uniq -d)
[ -z "$twice" ] || fail "in several packages: $twice"
for program in "$BIN"/ndb_* "$BIN"/ndbmtd; do
    name=$(basename "$program")
    [ -f "$SOURCE/man/$name.1" ] || [ -f "$SOURCE/man/$name.8" ] || continue
    [ -x "$ROOT/usr/bin/$name" ] || fail "$name is in no package"
done

say "what Debian's checkers say"
for program in lintian systemd-analyze systemd-sysusers systemctl; do
    command -v "$program" >/dev/null || die "$program is missing: it is one of the packages that sandbox.sh test installs"
done
lintian --fail-on error "$BOX"/packages/*.deb >"$BOX/lintian" 2>&1 || fail "lintian: $(grep '^E:' "$BOX/lintian")"
mkdir "$BOX/units" # Programs are where they will be; the manual cannot be asked for yet.
for unit in "$ROOT"/usr/lib/systemd/system/*.service; do
    sed "s|^ExecStart=/usr/bin/|ExecStart=$ROOT/usr/bin/|" "$unit" >"$BOX/units/$(basename "$unit")"
    grep -q '@\|/usr/local' <(sed 's/ndbmtd@//; s/behind the @//; s/ndbmtd@ID//; s/=@system-service$//' "$unit") && fail "$(basename "$unit") is not complete: $(grep '@' "$unit")"
done
systemd-analyze verify --man=no "$BOX"/units/*.service >"$BOX/verify" 2>&1 || fail "systemd-analyze: $(cat "$BOX/verify")"
[ ! -s "$BOX/verify" ] || fail "systemd-analyze: $(cat "$BOX/verify")"
systemd-sysusers --root="$ROOT" >"$BOX/out" 2>&1 || fail "systemd-sysusers: $(cat "$BOX/out")"
grep -q '^ndb:.*:/var/lib/ndb:/usr/sbin/nologin$' "$ROOT/etc/passwd" || fail "no user ndb"

say "what a removal disables is disabled"
systemctl --root="$ROOT" enable ndbmtd@1.service ndbmtd@2.service ndb_mgmd.service >"$BOX/out" 2>&1 || fail "enable: $(cat "$BOX/out")"
for package in ndb-data-node ndb-management-server ndb-memcached; do
    dpkg-deb -e "$(echo "$BOX/packages/${package}"_*.deb)" "$BOX/control-$package"
    units=$(sed -n 's/^ *systemctl disable \(.*\) || true$/\1/p' "$BOX/control-$package/prerm")
    [ -n "$units" ] || fail "$package disables nothing"
    eval "systemctl --root=\"\$ROOT\" disable $units" >"$BOX/out" 2>&1 || fail "disable: $(cat "$BOX/out")"
done
left=$(find "$ROOT/etc/systemd" -name 'ndb*')
[ -z "$left" ] || fail "still enabled: $left"

say "maintainer scripts, without a service manager"
for package in ndb-data-node ndb-management-server ndb-memcached; do
    for script in postinst prerm postrm; do
        sh -n "$BOX/control-$package/$script" || fail "$script of $package is no script"
        [ -x "$BOX/control-$package/$script" ] || fail "$script of $package cannot be run"
    done
    if grep -q 'rm \|userdel\|deluser' "$BOX/control-$package/"{prerm,postrm}; then fail "$package removes what is the operator's"; fi
    want 0 "$BOX/control-$package/postrm" purge
done
[ "$FAILED" -eq 0 ] || exit 1

say "a cluster of what is in them; a service manager listens"
export WATCHDOG_USEC=20000000 LD_LIBRARY_PATH=$ROOT/usr/lib
be_service_manager
BIN=$ROOT/usr/bin
start_cluster 2 2
want 0 "$BIN/ndb_mgm" -e SHOW
want_text out '^id=2	@127\.0\.0\.1  \(.*, Nodegroup: 0'
want 0 "$BIN/ndb_create_table" --execute='CREATE TABLE test.packed (a INT UNSIGNED PRIMARY KEY)'
want 0 "$BIN/ndb_select_count" -d test packed
want_text out '^0 records'
for line in 'STATUS=Node 49 listens on port [0-9]+' 'STATUS=Waiting for the configuration' 'WATCHDOG_USEC=0' 'STATUS=Node [12] starts: phase [0-9]+ is completed' \
    'STATUS=Node 1 is started' 'STATUS=Node 2 is started' 'WATCHDOG_USEC=20000000' 'WATCHDOG=1'; do
    for _ in $(seq 900); do grep -qE "^$line\$" "$BOX/told" && break; sleep 0.1; done # The watchdog looks every six seconds.
    want_text told "^$line\$"
done
# Each data node is watched before it is started.
[ "$(tac "$BOX/told" | sed '0,/^STATUS=Node [12] is started$/d' | grep -c '^WATCHDOG_USEC=20000000$')" -ge 2 ] ||
    fail "data nodes are not watched in their start: $(cat "$BOX/told")"
[ "$(grep -c '^READY=1$' "$BOX/told")" -eq 3 ] || fail "not three programs are ready: $(cat "$BOX/told")"
stop_cluster
want_text told '^STOPPING=1$'
want_text told '^STATUS=Node 1 is stopped$'
unset NOTIFY_SOCKET WATCHDOG_USEC

say "the logs of programs in the background go on where logrotate has moved them away"
command -v logrotate >/dev/null || PATH=$PATH:/usr/sbin
command -v logrotate >/dev/null || die "logrotate is missing: it is one of the packages that sandbox.sh test installs"
want 0 "$BIN/ndb_mgmd" --verbose --config-file="$BOX/config.ini" --config-dir="$BOX/mgm"
PIDS+=("$(cat "$BOX/mgm/ndb_49.pid")")
start_daemon 1
start_daemon 2
want 0 "$BIN/ndb_waiter" --timeout=100
chmod go-w "$BOX"
sed "s|/var/lib/ndb/ndb_\*_out.log||; s|/var/lib/ndb|$BOX|; s|su ndb ndb|su $(id -un) $(id -gn)|" "$ROOT/etc/logrotate.d/ndb-data-node" >"$BOX/rule"
chmod 644 "$BOX/rule"
logs="node1/ndb_1_out.log node2/ndb_2_out.log mgm/ndb_49_out.log"
want 0 logrotate -f -s "$BOX/turns" "$BOX/rule"
for log in $logs; do
    [ -s "$log.1" ] || fail "$log has not been turned over: $(cat "$BOX/out" "$BOX/err")"
done
for _ in $(seq 900); do # The management server sees it within a second.
    [ -e mgm/ndb_49_out.log ] && break
    sleep 0.1
done
want 0 "$BIN/ndb_select_count" -d test packed
want 0 "$BIN/ndb_mgm" -e SHUTDOWN
for log in $logs; do
    for _ in $(seq 900); do [ -s "$log" ] && break; sleep 0.1; done
    [ -s "$log" ] || fail "$log does not go on"
    [ "$(stat -c '%u %a' "$log")" = "$(stat -c '%u %a' "$log.1")" ] || fail "$log is of $(stat -c '%u %a' "$log"), not $(stat -c '%u %a' "$log.1")"
done
for id in 1 2; do
    want_text "node$id/ndb_${id}_out.log" 'Node shutdown completed'
    if grep -q 'Node shutdown completed' "node$id/ndb_${id}_out.log.1"; then fail "node $id goes on in the old file"; fi
done
