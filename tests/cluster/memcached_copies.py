#!/usr/bin/python3
# memcached_copies.py -- policy "caching": which copies a server keeps of what it writes, and that none is older than a write it has answered.
# SPDX-License-Identifier: GPL-2.0-only
# memcached_copies.py CACHING DIRECT OTHER SECONDS: three servers on the same rows; the first and the last one have copies.
import random
import socket
import sys
import threading
import time

CACHING, DIRECT, OTHER = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
SECONDS = float(sys.argv[4])
KEYS = [b"copies:%d" % number for number in range(8)]
CLIENTS = 6


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.file = self.socket.makefile("rb")

    def send(self, request):
        self.socket.sendall(request)

    def line(self):
        line = self.file.readline()
        assert line.endswith(b"\r\n"), line
        return line[:-2]

    def value(self):
        """The value that a get is answered, or None."""
        head = self.line()
        if head == b"END":
            return None
        assert head.startswith(b"VALUE "), head
        value = self.file.read(int(head.split()[3]) + 2)[:-2]
        assert self.line() == b"END"
        return value

    def ask(self, request):
        self.send(request + b"\r\n")
        return self.line()

    def get(self, key):
        self.send(b"get %s\r\n" % key)
        return self.value()

    def gets(self, key):
        """Value and number, or None and None."""
        self.send(b"gets %s\r\n" % key)
        head = self.line()
        if head == b"END":
            return None, None
        value = self.file.read(int(head.split()[3]) + 2)[:-2]
        assert self.line() == b"END"
        return value, head.split()[4]

    def cas(self, key, value, number):
        return self.ask(b"cas %s 0 0 %d %s\r\n%s" % (key, len(value), number, value))

    def set(self, key, value, command=b"set"):
        return self.ask(b"%s %s 0 0 %d\r\n%s" % (command, key, len(value), value))


def check_kept():
    """What one server has written it gives from its copy, whatever the other one writes behind its back."""
    one, two = Client(CACHING), Client(DIRECT)
    for command in (b"set", b"replace", b"add"):
        key = b"copies:kept:" + command
        two.ask(b"delete " + key)
        if command == b"replace":
            assert two.set(key, b"before") == b"STORED"
        assert one.set(key, b"mine", command) == b"STORED"
        assert two.set(key, b"theirs") == b"STORED"
        assert one.get(key) == b"mine", command
        assert one.set(key, b"again", b"add") == b"NOT_STORED"  # The database knows better, and the copy has gone.
        assert one.get(key) == b"theirs", command
    key = b"copies:kept:number"
    assert one.set(key, b"41") == b"STORED"
    assert one.ask(b"incr %s 1" % key) == b"42"
    assert two.ask(b"incr %s 1" % key) == b"43"
    assert one.get(key) == b"42"
    assert one.ask(b"decr %s 3" % key) == b"40"
    assert one.get(key) == b"40"
    assert one.cas(key, b"7", one.gets(key)[1]) == b"STORED"
    assert two.set(key, b"8") == b"STORED"
    assert one.get(key) == b"7"
    assert one.cas(key, b"9", one.gets(key)[1]) == b"EXISTS"  # Of a copy that is old.
    assert one.get(key) == b"8"
    assert one.ask(b"append %s 0 0 1\r\n0" % key) == b"STORED"
    assert one.get(key) == b"80"
    # Several columns: the copy is what the row gives, not what was sent.
    assert one.set(b"t:4711", b"one\t\t007") == b"STORED"
    assert two.set(b"t:4711", b"two\t2\t2") == b"STORED"
    assert one.get(b"t:4711") == b"one\t\t7"
    assert one.set(b"t:4711", b"one") == b"STORED"
    assert one.get(b"t:4711") == b"one\t\t"
    assert two.get(b"t:4711") == b"one\t\t"
    # A value in parts.
    large = b"0123456789" * 3000
    assert one.set(b"b:copies", large) == b"STORED"
    assert two.set(b"b:copies", b"small") == b"STORED"
    assert one.get(b"b:copies") == large
    for client, key in ((one, b"t:4711"), (two, b"b:copies")):
        assert client.ask(b"delete " + key) == b"DELETED"


def check_cas_of_copies():
    """Rows without a column for CAS numbers: those of copies, and the row has to be as the copy is."""
    one, two = Client(CACHING), Client(DIRECT)
    key = b"t:4712"
    assert one.cas(key, b"x", b"1") == b"NOT_FOUND"
    assert one.set(key, b"a") == b"STORED"
    value, number = one.gets(key)
    assert (value, number != b"0") == (b"a\t\t", True)
    assert one.cas(key, b"b", number) == b"STORED"
    assert one.cas(key, b"c", number) == b"EXISTS"
    value, number = one.gets(key)
    assert value == b"b\t\t"
    assert two.set(key, b"theirs") == b"STORED"
    assert one.cas(key, b"c", number) == b"EXISTS"  # The row is not what the copy is.
    value, number = one.gets(key)
    assert value == b"theirs\t\t"
    one.send(b"md %s C%s\r\nmd %s C%d\r\n" % (key, number, key, int(number) + 1))
    assert (one.line(), one.line()) == (b"HD", b"NF")
    assert one.set(key, b"a") == b"STORED"
    one.send(b"mg %s c\r\n" % key)
    number = one.line().split(b"c")[1]
    one.send(b"ms %s 1 C%s c\r\nz\r\n" % (key, number))
    code, number = one.line().split(b" c")
    assert code == b"HD"
    assert one.cas(key, b"zz", number) == b"STORED"
    # Who has no copies has no numbers either, and says so.
    assert two.gets(key) == (b"zz\t\t", b"0")
    assert two.cas(key, b"c", b"1") == b"SERVER_ERROR the table has no column for CAS numbers"
    assert two.ask(b"delete " + key) == b"DELETED"


def race_cas(port, until, problems, sums):
    """Nobody's count is lost, whichever server has been asked."""
    try:
        client = Client(port)
        while not problems and time.time() < until:
            value, number = client.gets(b"t:4713")
            answer = client.cas(b"t:4713", b"%d" % (int(value) + 1), number)
            if answer == b"STORED":
                sums.append(1)
            assert answer in (b"STORED", b"EXISTS"), answer
    except BaseException as problem:
        problems.append(problem)


def race_sets(number, barrier, until, problems):
    """Writes of the same keys at once; when all were answered, a copy is what the row is."""
    try:
        client, direct = Client(CACHING), Client(DIRECT)
        draw = random.Random(number)
        turn = 0
        while not problems and barrier["go"]:
            requests = []
            for _ in range(20):
                key = draw.choice(KEYS)
                turn += 1
                value = b"%d-%d" % (number, turn)
                kind = draw.randrange(6)
                if kind < 2:
                    requests.append((b"get", b"get %s\r\n" % key))
                elif kind == 2:
                    requests.append((b"delete", b"delete %s\r\n" % key))
                else:
                    command = (b"set", b"add", b"replace")[kind - 3]
                    requests.append((command, b"%s %s 0 0 %d\r\n%s\r\n" % (command, key, len(value), value)))
            client.send(b"".join(request for _, request in requests))
            for command, _ in requests:
                if command == b"get":
                    client.value()
                else:
                    answer = client.line()
                    assert answer in (b"STORED", b"NOT_STORED", b"DELETED", b"NOT_FOUND"), answer
            barrier["done"].wait()
            for key in KEYS:  # Nothing is under way.
                copy, row = client.get(key), direct.get(key)
                assert copy == row, (key, copy, row)
            if barrier["done"].wait() == 0:
                barrier["go"] = time.time() < until
                barrier["rounds"] += 1
            barrier["done"].wait()
    except BaseException as problem:
        problems.append(problem)
        barrier["done"].abort()


def race_numbers(until, problems, sums):
    """A number that only grows: nobody reads less than what he was answered."""
    try:
        client = Client(CACHING)
        while not problems and time.time() < until:
            client.send(b"incr copies:n 1\r\nget copies:n\r\n")
            number = int(client.line())
            seen = int(client.value())
            assert seen >= number, (number, seen)
            sums.append(number)
    except BaseException as problem:
        problems.append(problem)


def run(threads, problems):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems


check_kept()
check_cas_of_copies()
problems = []
until = time.time() + SECONDS
barrier = {"done": threading.Barrier(CLIENTS), "go": True, "rounds": 0}
run([threading.Thread(target=race_sets, args=(number, barrier, until, problems)) for number in range(CLIENTS)], problems)
sums = []
assert Client(CACHING).set(b"copies:n", b"0") == b"STORED"
until = time.time() + SECONDS
run([threading.Thread(target=race_numbers, args=(until, problems, sums)) for _ in range(CLIENTS)], problems)
assert sorted(sums) == list(range(1, len(sums) + 1))
assert Client(DIRECT).get(b"copies:n") == b"%d" % len(sums)
until = time.time() + SECONDS
counted = []
assert Client(DIRECT).set(b"t:4713", b"0") == b"STORED"
ports = [CACHING] * 4 + [OTHER] * 2
run([threading.Thread(target=race_cas, args=(port, until, problems, counted)) for port in ports], problems)
assert Client(DIRECT).get(b"t:4713") == b"%d\t\t" % len(counted)
assert Client(DIRECT).ask(b"delete t:4713") == b"DELETED"
print("copies: all is right, after %d rounds, %d increments and %d cas" % (barrier["rounds"], len(sums), len(counted)))
