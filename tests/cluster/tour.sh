#!/bin/bash
# tour.sh -- the README's commands, taken out of the page and typed in their order on a clean clone, while somebody else has
# port 1186: the cluster and all that the tour types must work beside him, and nothing of it may be said to him.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: tour.sh SOURCE_DIR
set -u
SOURCE=$(readlink -f "${1:?usage: tour.sh SOURCE_DIR}")
BOX=$(mktemp -d)
STRANGER=0

fail() {
    echo "FAIL: $*"
    exit 1
}

cleanup() {
    local code=$?
    trap - EXIT
    [ ! -x "$BOX/ndb/sandbox.sh" ] || "$BOX/ndb/sandbox.sh" stop >/dev/null 2>&1
    [ "$STRANGER" = 0 ] || kill "$STRANGER" 2>/dev/null
    rm -rf "$BOX"
    exit "$code"
}
trap cleanup EXIT
trap 'exit 1' TERM INT

# Listens on port 1186, unless somebody does already, and writes down what it is told. That somebody looks whether the
# port is free, and says nothing, is no harm.
take_port() {
    python3 - "$BOX/told" >"$BOX/stranger" 2>&1 <<'END' &
import socket, sys, threading
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", 1186))
listener.listen(64)
print("listens", flush=True)
def hear(peer):
    with peer, open(sys.argv[1], "ab") as told:
        while heard := peer.recv(4096):
            told.write(heard)
            told.flush()
while True:
    threading.Thread(target=hear, args=(listener.accept()[0],), daemon=True).start()
END
    STRANGER=$!
    : >"$BOX/told"
    until (exec 3<>/dev/tcp/127.0.0.1/1186) 2>/dev/null; do
        kill -0 "$STRANGER" 2>/dev/null || fail "port 1186: $(cat "$BOX/stranger")"
        sleep 0.1
    done
}

# blocks SECTION: the indented blocks of a section of the README, each into a file of its own: block-1, block-2, ...
blocks() {
    rm -f "$BOX"/block-*
    awk -v section="## $1" -v box="$BOX" '/^## / { here = $0 == section }
        { line = here && sub(/^    /, "") }
        line { if (!before) count++; print >(box "/block-" count) }
        { before = line }' "$BOX/ndb/README.md"
}

# type_in BLOCK: what it prints is in $BOX/out. A command that fails ends it.
type_in() {
    sed 's/^/$ /' "$1"
    (cd "$BOX/ndb" && timeout -k 5 900 bash -e "$1") >"$BOX/out" 2>&1 </dev/null ||
        fail "exit code $? of these commands: $(tail -n 40 "$BOX/out")"
    typed=$((typed + 1))
}

seen() { # TEXT...: lines that must be in the output, as extended regular expressions.
    local text
    for text in "$@"; do
        grep -Eq -- "$text" "$BOX/out" || fail "no line matches '$text' in: $(tail -n 40 "$BOX/out")"
    done
}

typed=0
git clone --quiet "$SOURCE" "$BOX/ndb" || fail "no clone of $SOURCE"
[ -z "$(git -C "$SOURCE" status --porcelain)" ] || echo "(what is not committed in $SOURCE is not in this clone)"
(exec 3<>/dev/tcp/127.0.0.1/11311) 2>/dev/null && fail "port 11311 of the tour is in use"
take_port

blocks 'Two commands'
grep -h '^\./sandbox\.sh start' "$BOX"/block-* >"$BOX/start" || fail "the README does not start the sandbox"
begin=$SECONDS
type_in "$BOX/start"
seen 'NDB_CONNECTSTRING|sandbox/bin'
echo "started in $((SECONDS - begin)) s, $(wc -l <"$BOX/out") lines"

blocks 'Five minutes'
for block in $(seq "$(find "$BOX" -name 'block-*' | wc -l)"); do
    type_in "$BOX/block-$block"
    case $(cat "$BOX/block-$block") in
    *SHOW*) seen 'id=1.*Nodegroup: 0' 'id=2.*Nodegroup: 0' 'Data usage is' 'by_size' ;;
    *ndb_import*) seen '2 rows imported, 0 rejected' 'Oslo' 'Rio de Janeiro' ;;
    *'sandbox.sh demo'*) seen 'All balances are' 'All 2 data nodes have been restarted' ;;
    *'sandbox.sh stop'*) seen 'The cluster is down' 'Oslo' 'Rio de Janeiro' ;;
    *ndb_memcached*) seen '^STORED' '^1.?$' '^2.?$' 'docId.*2' ;;
    esac
done
[ "$typed" -ge 6 ] || fail "the README has lost its tour"
"$BOX/ndb/sandbox/bin/ndb_select_count" -d sandbox_demo bank_account >"$BOX/out" || fail "the demo has no database of its own"
"$BOX/ndb/sandbox/bin/ndb_select_count" -d test bank_account 2>/dev/null && fail "the demo makes tables where a user's may be"
[ ! -s "$BOX/told" ] || fail "who has port 1186 was told: $(head -c 200 "$BOX/told")"

(cd "$BOX/ndb" && ./sandbox.sh status) >"$BOX/out" 2>&1 || fail "$(cat "$BOX/out")"
(cd "$BOX/ndb" && ./sandbox.sh stop && ./sandbox.sh start && ./sandbox.sh clean) >"$BOX/out" 2>&1 || fail "$(cat "$BOX/out")"
seen 'The package database is there, as it was' 'The cluster is down'
[ -z "$(git -C "$BOX/ndb" status --porcelain --ignored)" ] ||
    fail "the sandbox leaves files: $(git -C "$BOX/ndb" status --porcelain --ignored)"
echo "$typed blocks of commands typed"
