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

# One table by several containers: two by its primary key, one by a unique index, and one of the parts of its large values.
want 0 "$BIN/ndb_create_table" --execute="CREATE TABLE test.kv (id INT NOT NULL PRIMARY KEY, name VARCHAR(20) COLLATE utf8mb4_general_ci,
    val VARBINARY(100), ext_id INT UNSIGNED, ext_size INT UNSIGNED, until INT UNSIGNED, UNIQUE un(name))"
want 0 "$BIN/ndb_create_table" --execute='CREATE TABLE test.part (id INT UNSIGNED NOT NULL, part INT UNSIGNED NOT NULL, content VARBINARY(1000) NOT NULL, PRIMARY KEY (id, part))'
want 0 "$CONFIG" add-container one --table=test.kv --key=id --value=val
want 0 "$CONFIG" add-container both --table=test.kv --key=id --value=name,val
want 0 "$CONFIG" add-container named --table=test.kv --key=name --value=val
want 0 "$CONFIG" add-container large --table=test.kv --key=id --value=val --large-values=test.part
want 0 "$CONFIG" add-container part --table=test.part --key=id,part --value=content
want 0 "$CONFIG" add-container until --table=test.kv --key=id --value=val --expire=until
want 0 "$CONFIG" add-container number --table=test.kv --key=id --value=ext_id
for container in one both named large part until number; do
    want 0 "$CONFIG" add-prefix db-only "$container:" ndb-only "$container"
    want 0 "$CONFIG" add-prefix ndb-caching "$container:" caching "$container"
    want 0 "$CONFIG" add-prefix ndb-caching "row-$container:" ndb-only "$container"
done
for role in ndb-caching db-only; do
    say "several containers, role $role"
    want 0 "$BIN/ndb_delete_all" -d test kv part
    start_server "$role"
    want 0 /usr/bin/python3 - "$PORT" "$role" <<'PYTHON'
import random, socket, sys, time
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
caching = sys.argv[2] == "ndb-caching"
chance = random.Random(1)
replies = server.makefile("rb")
def value(): # What a get is answered; None: nothing.
    line = replies.readline()
    if line == b"END\r\n":
        return None
    assert line.startswith(b"VALUE "), line
    body = replies.read(int(line.split(b" ")[3]) + 2)[:-2]
    assert replies.readline() == b"END\r\n"
    return body
def line(expected):
    got = replies.readline()
    assert got == expected + b"\r\n", (got, expected)
rows = {}
for number in range(1, 5):
    rows[number] = (b"Name%d" % number, b"v")
    server.sendall(b"set both:%d 0 0 7\r\n%s\tv\r\n" % (number, rows[number][0]))
    line(b"STORED")
def step(number): # A request, and what is done with the replies.
    name, before = rows[number]
    way = chance.choice(["one", "both", "named", "large"])
    prefix = way.encode() + b":"
    if caching and chance.random() < 0.3:
        prefix = b"row-" + prefix
    key = prefix + (chance.choice([name, name.upper()]) if way == "named" else b"0" * chance.randint(0, 2) + b"%d" % number)
    if chance.random() < 0.6:
        what = name + b"\t" + before if way == "both" else before
        def check():
            got = value()
            assert got == what, "%r gives %r instead of %r" % (key, got, what)
        return b"get %s\r\n" % key, check
    after = b"%d" % chance.randint(0, 10**9)
    if way == "both" and chance.random() < 0.5: # The row has another name then.
        name = b"Name%d" % (number + 10 * chance.randint(0, 9))
    rows[number] = name, after
    sent = name + b"\t" + after if way == "both" else after
    return b"set %s 0 0 %d\r\n%s\r\n" % (key, len(sent), sent), lambda: line(b"STORED")
for size in [1] * 300 + [2] * 100 + [20] * 100:
    steps = [step(chance.randint(1, 4)) for _ in range(size)]
    server.sendall(b"".join(sent for sent, _ in steps))
    for _, check in steps:
        check()
# A value in parts, by its own name and by those of its parts.
def get(key):
    server.sendall(b"get %s\r\n" % key)
    return value()
def store(key, body): # Nobody waits for its end.
    server.sendall(b"set %s 0 0 %d noreply\r\n%s\r\n" % (key, len(body), body))
store(b"large:1", b"a" * 1000 + b"b" * 500)
first, second = (b"part:%s\t%d" % (get(b"number:1"), number) for number in (0, 1))
for letter in (bytes([number]) for number in b"cdefghijkl"):
    assert get(first) is not None and get(second) is not None
    store(b"large:1", letter * 1300)
    assert (get(second), get(first)) == (letter * 300, letter * 1000)
    assert get(b"large:1") == letter * 1300
    store(second, b"." * 300)
    assert get(b"large:1") == letter * 1000 + b"." * 300
# A row that has expired for one container is deleted by it, and is none of another one's copies then.
server.sendall(b"set until:2 0 2 1\r\nu\r\n")
line(b"STORED")
assert get(b"one:2") == b"u"
while get(b"until:2") is not None:
    time.sleep(0.05)
assert get(b"one:2") is None
PYTHON
    stop_server "$SERVER_PID"
done
stop_cluster
