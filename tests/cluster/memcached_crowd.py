#!/usr/bin/python3
# memcached_crowd.py -- ten thousand idle connections, and clients that ask for more than they read.
# SPDX-License-Identifier: GPL-2.0-only
"""usage: memcached_crowd.py PORT PID idle COUNT [hold] | slow SIZE IN_FLIGHT: exit code 1 and a line when it is not as it should be.

hold: the idle ones stay until the standard input ends. IN_FLIGHT: so many requests the database may have, whose values come in any case."""
import random
import resource
import socket
import sys
import time

PORT, PID, WHAT, NUMBER = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
IDLE_BYTES = 4096  # Of the server's memory, each.
SLOW_BYTES = 64 << 20  # Of the server's memory, for all slow readers together, beside what is in flight.
DEADLINE = 120


def wrong(text):
    print(text)
    sys.exit(1)


def memory():
    with open("/proc/%d/status" % PID) as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    wrong("the server is gone")


class Client:
    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", PORT), timeout=DEADLINE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exactly(self, size):
        chunks = []
        while size > 0:
            chunk = self.socket.recv(min(size, 1 << 20))
            if not chunk:
                wrong("the server has closed a connection")
            chunks.append(chunk)
            size -= len(chunk)
        return b"".join(chunks)

    def ask(self, request, reply):
        self.socket.sendall(request)
        got = self.exactly(len(reply))
        if got != reply:
            wrong("%s instead of %s to %s" % (got[:200], reply[:200], request[:200]))

    def works(self, name):
        value = b"value of %s" % name
        self.ask(b"set %s 0 0 %d\r\n%s\r\n" % (name, len(value), value), b"STORED\r\n")
        self.ask(b"get %s\r\n" % name, b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (name, len(value), value))


def connections():
    client = Client()
    client.socket.sendall(b"stats\r\nquit\r\n")
    text = b""
    while True:
        chunk = client.socket.recv(65536)
        if not chunk:
            break
        text += chunk
    for line in text.split(b"\r\n"):
        if line.startswith(b"STAT curr_connections "):
            return int(line.split()[2])
    wrong("no curr_connections in %s" % text[:200])


def back_to(count):
    end = time.monotonic() + DEADLINE
    while connections() != count:
        if time.monotonic() > end:
            wrong("%d connections instead of %d" % (connections(), count))
        time.sleep(0.05)


def idle():
    wanted = NUMBER + 100
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
    before = connections()
    worker = Client()
    worker.works(b"first")
    memory_before = memory()
    crowd = []
    for number in range(NUMBER):
        client = Client()
        client.ask(b"mn\r\n", b"MN\r\n")  # So it is not in the backlog only.
        crowd.append(client)
        if number % 100 == 0:
            worker.works(b"work-%d" % number)
    each = (memory() - memory_before) / NUMBER
    print("%d idle connections, %d bytes of memory each" % (NUMBER, each))
    if each > IDLE_BYTES:
        wrong("that is too much")
    if connections() != before + 2 + NUMBER - 1:
        wrong("curr_connections is %d" % connections())
    if len(sys.argv) > 5:
        print("holding", flush=True)
        sys.stdin.read()
    for number in range(500):
        worker.works(b"beside-%d" % number)
    for number, client in enumerate(crowd):
        client.works(b"idle-%d" % number)
    for client in crowd:
        client.socket.close()
    worker.works(b"last")
    worker.socket.close()
    back_to(before)


def slow():
    """Each pipeline asks for far more than the sockets hold; all of it comes when it is read at last."""
    before = connections()
    value = random.Random(NUMBER).randbytes(NUMBER)
    worker = Client()
    worker.ask(b"set big 0 0 %d\r\n%s\r\n" % (NUMBER, value), b"STORED\r\n")
    reply = b"VALUE big 0 %d\r\n%s\r\nEND\r\n" % (NUMBER, value)
    for number in range(20):
        worker.ask(b"get big\r\n", reply)
    asked = 1000
    memory_before = memory()
    readers = [Client() for _ in range(4)]
    for reader in readers:
        reader.socket.sendall(b"get big\r\n" * asked)
    most = 0
    for number in range(300):
        worker.works(b"beside-%d" % number)
        most = max(most, memory() - memory_before)
    time.sleep(0.5)
    most = max(most, memory() - memory_before)
    print("%d slow readers that are owed %d MB each: %d MB of memory" % (len(readers), asked * len(reply) >> 20, most >> 20))
    if most > SLOW_BYTES + 2 * int(sys.argv[5]) * NUMBER:
        wrong("that is too much")
    for reader in readers[1:]:  # Some go without having read.
        reader.socket.close()
    for byte in range(5000):
        if readers[0].exactly(1) != reply[byte % len(reply):byte % len(reply) + 1]:
            wrong("byte %d is wrong" % byte)
    worker.works(b"between")
    rest = reply[5000 % len(reply):] + reply * (asked - 1 - 5000 // len(reply))
    at = 0
    while at < len(rest):
        chunk = readers[0].exactly(min(1 << 20, len(rest) - at))
        if chunk != rest[at:at + len(chunk)]:
            wrong("what a slow reader gets is wrong")
        at += len(chunk)
    readers[0].works(b"afterwards")
    readers[0].socket.close()
    worker.socket.close()
    back_to(before)


{"idle": idle, "slow": slow}[WHAT]()
