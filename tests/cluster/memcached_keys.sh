#!/bin/bash
# memcached_keys.sh -- a row has one identity, however its key is spelled: copies, their numbers of CAS, and the order in a pipeline.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
source "$HERE/memcached_server.sh"

CONFIG=$BIN/ndb_memcached_config
start_cluster 1 1
want 0 "$BIN/ndb_memcached" --bootstrap -e "connectstring=$CS"
make() { # NAME KEYS COLUMNS PRIMARY_KEY
    want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE test.$1 ($3, v VARBINARY(100), flags INT UNSIGNED, PRIMARY KEY ($4))"
    want 0 "$CONFIG" add-container "$1" --table="test.$1" --key="$2" --value=v --flags=flags
    want 0 "$CONFIG" add-prefix ndb-caching "$1:" caching "$1"
    want 0 "$CONFIG" add-prefix db-only "$1:" ndb-only "$1"
}
make num k 'k INT NOT NULL' k
make name k 'k VARCHAR(40) COLLATE utf8mb4_general_ci NOT NULL' k
make fixed k 'k CHAR(40) COLLATE utf8mb4_bin NOT NULL' k
make price k 'k DECIMAL(8,3) NOT NULL' k
make day k 'k DATETIME NOT NULL' k
make two 'a,b' 'a BIGINT UNSIGNED NOT NULL, b VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL' 'a,b'
# The same container by another prefix, which keeps no copies.
want 0 "$CONFIG" add-prefix ndb-caching other: ndb-only num

# same KEY SPELLING: what is done by one is seen by the other, at once and in one pipeline.
same() {
    local one=$1 two=$2
    reply "$PORT" "set $one 1 0 1\r\n1\r\nget $one\r\nget $two\r\n" "STORED\nVALUE $one 1 1\n1\nEND\nVALUE $two 1 1\n1\nEND\n"
    reply "$PORT" "set $two 2 0 1\r\n2\r\n" 'STORED\n'
    reply "$PORT" "get $one\r\nget $two\r\n" "VALUE $one 2 1\n2\nEND\nVALUE $two 2 1\n2\nEND\n"
    reply "$PORT" "append $one 0 0 1\r\n3\r\nget $two\r\nget $one\r\n" "STORED\nVALUE $two 2 2\n23\nEND\nVALUE $one 2 2\n23\nEND\n"
    reply "$PORT" "set $one 0 0 200\r\n$(printf '%0200d' 0)\r\nget $one\r\nget $two\r\n" \
        "SERVER_ERROR object too large for cache\nVALUE $one 2 2\n23\nEND\nVALUE $two 2 2\n23\nEND\n"
    reply "$PORT" "delete $two\r\n" 'DELETED\n'
    reply "$PORT" "get $one\r\nget $two\r\n" 'END\nEND\n'
    want 0 /usr/bin/python3 - "$PORT" "$one" "$two" "$role" <<'PYTHON'
import socket, sys
port, one, two, role = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[3].encode(), sys.argv[4]
server = socket.create_connection(("127.0.0.1", port), timeout=60)
def ask(request, end):
    server.sendall(request)
    said = b""
    while not said.endswith(end):
        got = server.recv(1 << 20)
        assert got, said
        said += got
    return said
if role == "ndb-caching": # A number of CAS of one spelling is one of the other.
    ask(b"set %s 0 0 1\r\na\r\n" % one, b"STORED\r\n")
    cas = ask(b"gets %s\r\n" % one, b"END\r\n").split(b"\r\n")[0].split(b" ")[4]
    assert cas != b"0"
    assert ask(b"cas %s 0 0 1 %s\r\nb\r\n" % (two, cas), b"\r\n") == b"STORED\r\n"
    assert ask(b"cas %s 0 0 1 %s\r\nc\r\n" % (one, cas), b"\r\n") == b"EXISTS\r\n"
requests, replies = [], []
for number in range(300):
    value = b"%d" % number
    requests.append(b"set %s 0 0 %d\r\n%s\r\nget %s\r\nset %s 0 0 1\r\nx\r\nget %s %s\r\ndelete %s\r\nget %s\r\n"
                    % (one, len(value), value, two, two, one, two, one, two))
    replies.append(b"STORED\r\nVALUE %s 0 %d\r\n%s\r\nEND\r\nSTORED\r\nVALUE %s 0 1\r\nx\r\nVALUE %s 0 1\r\nx\r\nEND\r\nDELETED\r\nEND\r\n"
                   % (two, len(value), value, one, two))
assert ask(b"".join(requests) + b"mn\r\n", b"MN\r\n") == b"".join(replies) + b"MN\r\n", "a pipeline does not see what it has done"
PYTHON
}

# other KEY KEY: two rows.
other() {
    reply "$PORT" "set $1 0 0 1\r\n1\r\nset $2 0 0 1\r\n2\r\nget $1 $2\r\n" "STORED\nSTORED\nVALUE $1 0 1\n1\nVALUE $2 0 1\n2\nEND\n"
    reply "$PORT" "delete $1\r\nget $1 $2\r\ndelete $2\r\n" "DELETED\nVALUE $2 0 1\n2\nEND\nDELETED\n"
}

for role in ndb-caching db-only; do
    say "role $role"
    start_server "$role"
    same num:5 num:05
    same num:5 num:+5
    same num:0 num:-0
    same name:Bob name:bOB
    same name:Ärger name:arger
    same price:1.5 price:01.500
    same price:0 price:-0.000
    same day:2024-02-29/10:00:00 day:2024-02-29T10:00:00
    same two:$'7\tBob' two:$'007\tbOB'
    other num:5 num:-5
    other fixed:Bob fixed:bob
    other name:Bob name:Rob
    other two:$'7\tBob' two:$'77\tBob'
    # Blanks at the end of a key come by the binary protocol only.
    want 0 /usr/bin/python3 - "$PORT" <<'PYTHON'
import socket, struct, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
def ask(opcode, key, extras=b"", value=b""):
    server.sendall(struct.pack(">BBHBBHIIQ", 0x80, opcode, len(key), len(extras), 0, 0, len(key + extras + value), 0, 0) + extras + key + value)
    head = server.recv(24, socket.MSG_WAITALL)
    body = server.recv(struct.unpack(">I", head[8:12])[0], socket.MSG_WAITALL) if head[8:12] != bytes(4) else b""
    return body[4:] if head[6:8] == bytes(2) and opcode == 0 else head[6:8]
for one, two in ((b"fixed:ab", b"fixed:ab  "), (b"name:ab", b"name:AB "), (b"two:1\tab", b"two:01\tAb ")):
    assert ask(1, one, bytes(8), b"1") == bytes(2) and ask(0, one) == ask(0, two) == b"1", one
    assert ask(1, two, bytes(8), b"2") == bytes(2) and ask(0, one) == ask(0, two) == b"2", one
    assert ask(4, two) == bytes(2) and ask(0, one) == ask(0, two) == b"\0\1", one
PYTHON
    if [ "$role" = ndb-caching ]; then
        say "a prefix that keeps no copies, and one that does, of the same container"
        reply "$PORT" 'set num:9 0 0 1\r\n1\r\nget num:9\r\nset other:09 0 0 1\r\n2\r\nget num:9\r\ndelete other:9\r\nget num:9\r\n' \
            'STORED\nVALUE num:9 0 1\n1\nEND\nSTORED\nVALUE num:9 0 1\n2\nEND\nDELETED\nEND\n'
    fi
    say "keys that are none of the table"
    reply "$PORT" 'get num:x\r\nset num:x 0 0 1\r\n1\r\nget two:1\r\nget day:never\r\n' "$(printf 'CLIENT_ERROR the key is none of the table\\n%.0s' 1 2 3 4)"
    stop_server "$SERVER_PID"
done
stop_cluster
