#!/bin/bash
# memcached_hostile.sh -- damaged requests of all three protocols, against the cache and against rows: the server goes on.
# SPDX-License-Identifier: GPL-2.0-only
# memcached_hostile.sh BIN_DIR [--seed=N]: the same requests again. REQUESTS: of each protocol and role; GROWTH_MB: of memory.
REQUESTS=${REQUESTS:-30000}
TEST_DEADLINE=${TEST_DEADLINE:-$((600 + REQUESTS / 50))}
DATAGRAMS=$((REQUESTS < 40000 ? REQUESTS / 10 : 20000))
SEED=$RANDOM$RANDOM
case ${2:-} in --seed=*) SEED=${2#*=} ;; esac
source "$(dirname "$0")/cluster.sh"
source "$HERE/memcached_server.sh"
DATA_MEMORY=200M
SMALL_LOG=$'NoOfFragmentLogFiles=4\nFragmentLogFileSize=16M\nRedoBuffer=32M'
start_cluster 1 1
want 0 "$BIN/ndb_memcached" --bootstrap -e "connectstring=$CS"
say "seed $SEED"

# Damaged datagrams: of those nobody need be told, but the next good one is answered.
datagrams() { # UDP port, count
    want 0 /usr/bin/python3 - "$1" "$2" "$SEED" <<'PYTHON'
import random, socket, sys, time
rng = random.Random(int(sys.argv[3]))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.connect(("127.0.0.1", int(sys.argv[1])))
udp.settimeout(0.2)
good = [b"get a b c\r\n", b"set a 1 0 5\r\nhello\r\n", b"append a 0 0 2\r\nxx\r\n", b"incr n 1\r\n", b"delete a noreply\r\n", b"version\r\n",
        b"mg a v k O1\r\n", b"ms b 3\r\nabc\r\n", b"stats\r\n", b"quit\r\n", b"get " + b"key " * 300 + b"\r\n",
        bytes([0x80, 0]) + bytes([0, 1]) + bytes(5) + bytes([0, 0, 1]) + bytes(12) + b"a"]
def asked(number):
    head = number.to_bytes(2, "big") + b"\0\0\0\1\0\0"
    end = time.monotonic() + 60
    while time.monotonic() < end: # Datagrams may get lost.
        udp.send(head + b"version\r\n")
        try:
            while True:
                reply = udp.recv(65536)
                if reply[:2] == head[:2] and reply[8:].startswith(b"VERSION "):
                    return
        except socket.timeout:
            pass
    sys.exit("no answer to datagram %d" % number)
for number in range(int(sys.argv[2])):
    datagram = bytearray(rng.randbytes(2) + b"\0\0\0\1\0\0" + b"".join(rng.choice(good) for _ in range(rng.choice((1, 1, 1, 5, 40)))))
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(datagram))
        what = rng.randrange(4)
        if what == 0:
            datagram[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            del datagram[at:at + rng.randrange(20)]
            datagram += b"\n" if not datagram else b""
        elif what == 2:
            datagram[at:at] = rng.randbytes(rng.randrange(9))
        else:
            datagram[at:at] = datagram[at:at + 50]
    try:
        udp.send(datagram[:60000])
    except OSError:
        pass
    if number % 500 == 0:
        asked(60000 + number // 500 % 5000)
asked(65535)
PYTHON
}

for role in ${ROLES:-mc-only db-only}; do
    udp=$(free_port)
    start_server "$role" -m 16 -U "$udp"
    say "role $role, $DATAGRAMS datagrams"
    datagrams "$udp" "$DATAGRAMS"
    for protocol in text meta binary; do
        say "role $role, protocol $protocol"
        timeout "$TEST_DEADLINE" "$BIN/mc_hostile" "$PORT" "$SERVER_PID" "$protocol" "$REQUESTS" "$SEED" "${GROWTH_MB:-64}" ||
            fail "mc_hostile PORT PID $protocol $REQUESTS $SEED"
        kill -0 "$SERVER_PID" 2>/dev/null || die "the server is gone: $(tail -n 60 "$BOX/server.$PORT")"
        reply "$PORT" 'set after 5 0 3\r\nabc\r\nget after\r\nincr after 1\r\ndelete after\r\nmg after v\r\n' \
            'STORED\nVALUE after 5 3\nabc\nEND\nCLIENT_ERROR cannot increment or decrement non-numeric value\nDELETED\nEN\n'
    done
    stop_server "$SERVER_PID"
    grep -v -e ready -e 'ended by signal' "$BOX/server.$PORT" | head -n 20
done
stop_cluster
