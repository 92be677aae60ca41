#!/usr/bin/python3
# memcached_clients.py -- other people's clients against a server: values of all sizes, odd keys, pipelines, pieces.
# SPDX-License-Identifier: GPL-2.0-only
"""usage: memcached_clients.py PORT SIZE_MAX: exit code 1 and a line for each thing that is not as it should be."""
import random
import socket
import sys

import bmemcached
import pylibmc
from pymemcache.client.base import Client as PymemcacheClient

PORT = int(sys.argv[1])
SIZE_MAX = int(sys.argv[2])
ADDRESS = "127.0.0.1:%d" % PORT
SIZES = [size for size in (0, 1, 2, 100, 1999, 2000, 2001, 13499, 13950, 13951, 100000, 1 << 20, 4 << 20) if size <= SIZE_MAX]
wrong = 0


def want(what, got, expected):
    global wrong
    if got == expected:
        return
    wrong += 1
    print("%s: %s instead of %s" % (what, repr(got)[:200], repr(expected)[:200]))


def value_of(size):
    return random.Random(size).randbytes(size)


def basics(name, client, missing=None):
    """What all clients can: `client` has set, get, delete, incr."""
    for size in SIZES:
        key = "%s-%d" % (name, size)
        client.set(key, value_of(size))
        want("%s, value of %d bytes" % (name, size), client.get(key), value_of(size))
    for size in reversed(SIZES):  # The other way round: longer ones over shorter ones and shorter over longer.
        key = "%s-over" % name
        client.set(key, value_of(size))
        want("%s, value of %d bytes over another one" % (name, size), client.get(key), value_of(size))
    long_key = name + "k" * (250 - len(name))
    client.set(long_key, b"long")
    want(name + ", a key of 250 bytes", client.get(long_key), b"long")
    client.delete(long_key)
    want(name + ", a deleted key", client.get(long_key), missing)


def with_pymemcache():
    client = PymemcacheClient(("127.0.0.1", PORT), allow_unicode_keys=True, timeout=60)
    basics("pymemcache", client)
    for key in ("schl\u00fcssel", "\u043a\u043b\u044e\u0447", "\u9375"):
        client.set(key, b"v " + key.encode())
        want("pymemcache, key " + key, client.get(key), b"v " + key.encode())
    many = {"many-%d" % i: b"%d" % i for i in range(1000)}
    want("pymemcache, set_many", client.set_many(many, noreply=False), [])
    want("pymemcache, get_many", client.get_many(list(many)), many)
    value, cas = client.gets("many-1")
    want("pymemcache, cas", client.cas("many-1", b"new", cas), True)
    want("pymemcache, cas of an old number", client.cas("many-1", b"newer", cas), False)
    want("pymemcache, add", client.add("many-1", b"x", noreply=False), False)
    want("pymemcache, append", client.append("many-1", b"er", noreply=False), True)
    want("pymemcache, appended", client.get("many-1"), b"newer")
    client.close()


def with_pylibmc():
    for binary in (False, True):
        client = pylibmc.Client([ADDRESS], binary=binary)
        name = "pylibmc-%d" % binary
        basics(name, client)
        want(name + ", a number", client.set(name + "-object", {"a": [1, 2.5, "three"]}), True)
        want(name + ", an object", client.get(name + "-object"), {"a": [1, 2.5, "three"]})
        many = {"%s-%d" % (name, i): "text %d" % i for i in range(300)}
        client.set_multi(many)
        want(name + ", get_multi", client.get_multi(list(many)), many)
        client.disconnect_all()


def with_bmemcached():
    client = bmemcached.Client((ADDRESS,), socket_timeout=60)
    basics("bmemcached", client)
    want("bmemcached, set_multi", client.set_multi({"b-1": "one", "b-2": "two"}), [])
    want("bmemcached, get_multi", client.get_multi(["b-1", "b-2", "b-none"]), {"b-1": "one", "b-2": "two"})
    client.disconnect_all()


class Raw:
    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", PORT), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def all_replies(self):
        chunks = []
        while True:
            chunk = self.socket.recv(65536)
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)


def pipeline():
    """10,000 commands in one go: each sees what those before it have done."""
    raw = Raw()
    out, expected = [], []
    for i in range(2500):
        key = b"pipe-%d" % (i % 700)
        out.append(b"set %s 0 0 %d\r\n%d\r\nget %s\r\nappend %s 0 0 1\r\n!\r\nget %s\r\n" % (key, len(b"%d" % i), i, key, key, key))
        text = b"%d" % i
        expected.append(b"STORED\r\nVALUE %s 0 %d\r\n%s\r\nEND\r\nSTORED\r\nVALUE %s 0 %d\r\n%s!\r\nEND\r\n" % (key, len(text), text, key, len(text) + 1, text))
    out.append(b"quit\r\n")
    raw.socket.sendall(b"".join(out))
    want("pipeline of 10,000 commands", raw.all_replies(), b"".join(expected))


def pieces():
    """A byte at a time, and cut at each place."""
    script = b"set piece 3 0 5\r\nhello\r\nget piece none\r\ndelete none\r\nmg piece v f\r\ndelete piece\r\nnonsense\r\n"
    expected = b"STORED\r\nVALUE piece 3 5\r\nhello\r\nEND\r\nNOT_FOUND\r\nVA 5 f3\r\nhello\r\nDELETED\r\nERROR\r\n"
    for cut in range(len(script) + 1):
        raw = Raw()
        if cut == 0:
            for at in range(len(script)):
                raw.socket.sendall(script[at:at + 1])
        else:
            raw.socket.sendall(script[:cut])
            raw.socket.sendall(script[cut:])
        raw.socket.sendall(b"quit\r\n")
        want("pieces, cut at %d" % cut, raw.all_replies(), expected)


def slow_reader():
    """Asks for far more than it reads: the server waits, and others go on."""
    client = PymemcacheClient(("127.0.0.1", PORT), timeout=60)
    client.set("slow", value_of(100000))
    raw = Raw()
    raw.socket.settimeout(0.5)
    asked = 0
    try:
        for _ in range(3000):
            raw.socket.sendall(b"get slow\r\n" * 10)
            asked += 10
    except OSError:
        pass
    want("others, beside a slow reader", client.get("slow"), value_of(100000))
    raw.socket.close()


random.seed(1)
with_pymemcache()
with_pylibmc()
with_bmemcached()
pipeline()
pieces()
slow_reader()
print("clients: %s" % ("all is right" if wrong == 0 else "%d things are wrong" % wrong))
sys.exit(1 if wrong else 0)
