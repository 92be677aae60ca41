#!/usr/bin/python3
# memcached_compare.py -- the same requests to memcached and to ndb_memcached: whatever is answered differently is an error.
# SPDX-License-Identifier: GPL-2.0-only
"""usage: memcached_compare.py MEMCACHED_PORT OUR_PORT KIND SEED REQUESTS [DIFFERENCES_MAX]

KIND is text, meta, binary, timed (text and meta with times that pass), or rows and rows_binary (our server keeps the keys in
a table).
Scripts of requests are made from the seed, until there were so many requests. Each is played to both servers, and what
they answer has to be the same, byte by byte, but for what `parse_text` and `parse_binary` map: numbers of CAS become the
order in which they appeared, times may differ by two seconds. Exit code 1: there was a difference, and the shortest script
that shows it was printed.

A script is a list of batches; what is in one batch is sent at once, and all of it is answered before the next one is sent.
Requests are bytes with marks in them, which are replaced when the script is played: {k3} is a key, {b3} the same in
base64, {c1} the last number of CAS that this server has told, {c2} the one before, {t60} a time in 60 seconds, {s0} says
that the request's data are too short. So a script can be played again, with other keys, and to two servers that number
their items differently.

What the two are to answer differently is not asked for: docs/protocols/memcached.md lists it, with the reasons. Among them is
what memcached itself answers now so and now so, since it depends on its threads or on how the network cuts requests; where
only requests beside it would change the answer, it begins a batch (`begins_batch`).

Ours follows memcached 1.6.45. One that is older says some things otherwise (ANSWERS_NOW), and of some lines it takes
something else for the next request (`taken_otherwise`): those are left out, and counted by their names.
"""
import base64
import random
import re
import socket
import struct
import sys
import time

CAS_UNKNOWN = 2**63 + 2**62  # Greater than any number of either server.
TIME_SLACK = 2  # Seconds: each server looks at the clock once a second.
WAIT = 30
SHRINK_SECONDS = 120
PARTS_SHOWN = 12
MARK = re.compile(rb"\{([kbcts])(-?\d+)([+-]\d+)?\}")
KEY_LONG = 8  # {k8} has the 250 bytes that are allowed, {k9} one more.
KEY_TOO_LONG = 9
SHORT = b"{s0}"
SHORT_MAX = 40  # Bytes that are missing of a value, when it is made so.
SHORT_LINES = 64  # Empty ones behind it: what is missing is taken from them, whatever a mistake makes of the size.
LARGE = 1200000  # More than -I, with which both servers start.

# ---- Servers ----


class Server:
    """A server, and what it has told during one play of a script."""

    def __init__(self, name, port):
        self.name = name
        self.port = port
        self.socket = None
        self.left = b""

    def begin(self, prefix):
        """Before a script: nobody has asked for its keys before."""
        self.close()
        self.prefix = prefix
        self.cas_seen = []
        self.cas_names = {0: 0}
        self.begun = int(time.time())

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None
        self.left = b""
        self.silent = False

    def connect(self):
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, pieces):
        self.connect()
        try:
            for piece in pieces:
                self.socket.sendall(piece)
        except OSError:
            pass  # It has closed the connection: reading tells.

    def more(self):
        """Another piece of the answer; False: there is none any more."""
        try:
            got = self.socket.recv(1 << 20)
        except socket.timeout:
            self.silent = True
            got = b""
        except OSError:
            got = b""
        self.left += got
        return len(got) > 0

    def key(self, number):
        key = b"%s/%d" % (self.prefix, number)
        if number in (KEY_LONG, KEY_TOO_LONG):
            key = key.ljust(250 + (number == KEY_TOO_LONG), b"l")
        return key

    def cas(self, back):
        """The number that was told so many numbers ago."""
        return self.cas_seen[-back] if len(self.cas_seen) >= back else CAS_UNKNOWN

    def fill(self, template):
        def value(match):
            kind, number, more = match.group(1), int(match.group(2)), int(match.group(3) or 0)
            if kind == b"k":
                return self.key(number)
            if kind == b"b":
                return base64.b64encode(self.key(number))
            if kind == b"c":
                return b"%d" % max(0, self.cas(number) + more)
            if kind == b"s":
                return b""
            return b"%d" % (self.begun + number)

        return MARK.sub(value, template)

    def name_cas(self, number):
        """The order of its first appearance, by which the two servers can be compared."""
        if number != 0:
            self.cas_seen.append(number)
        return "cas %d" % self.cas_names.setdefault(number, len(self.cas_names))


# ---- Answers: a list of parts, of which some are times, ("time", seconds) ----

CAS_TOKEN = re.compile(rb"^c(\d+)$")
TIME_TOKEN = re.compile(rb"^([tl])(\d+)$")


def meta_token(server, token):
    cas = CAS_TOKEN.match(token)
    if cas:
        return server.name_cas(int(cas.group(1)))
    seconds = TIME_TOKEN.match(token)
    if seconds:  # Of what has expired memcached tells a number below zero without its sign.
        left = int(seconds.group(2))
        if TIMED and seconds.group(1) == b"l":
            return b"l"
        return ("time", seconds.group(1), 0 if left >= 1 << 31 else left)
    return token


def debug_token(server, token):
    """What me tells of an item; class and size are memcached's own matter."""
    name, _, value = token.partition(b"=")
    if name == b"cas":
        return server.name_cas(int(value))
    if TIMED and name == b"la":
        return name
    if name in (b"exp", b"la") and value != b"-1":  # memcached counts exp downwards from zero.
        return ("time", name, abs(int(value)))
    if name in (b"cls", b"size"):
        return name
    return token


def plain_keys(words):
    """Of items memcached remembers how their key came, until it makes a new one of them, and tells it so."""
    plain = []
    for word in words:
        if word == b"b" and plain[-1].startswith(b"k"):
            plain[-1] = b"k" + base64.b64decode(plain[-1][1:])
        else:
            plain.append(word)
    return plain


def parse_line(server, line):
    """One line of an answer as its parts; and how many bytes of a value follow it, or None."""
    words = line.split(b" ")
    if words[0] == b"VALUE" and len(words) in (4, 5) and words[3].isdigit():
        if len(words) == 5:
            words[4] = server.name_cas(int(words[4]))
        return words, int(words[3])
    if words[0] == b"VERSION":
        return [b"VERSION"], None
    if words[0] == b"VA" and len(words) > 1 and words[1].isdigit():
        return words[:2] + [meta_token(server, word) for word in plain_keys(words[2:])], int(words[1])
    if words[0] in (b"HD", b"EN", b"NF", b"NS", b"EX"):
        tokens = plain_keys(words[1:]) if words[0] == b"HD" else words[1:]
        return [words[0]] + [meta_token(server, word) for word in tokens], None
    if words[0] == b"ME" and len(words) > 1:
        if base64.b64encode(server.prefix)[:4] == words[1][:4]:
            words[1] = base64.b64decode(words[1])
        return words[:2] + [debug_token(server, word) for word in words[2:]], None
    return [line], None


ROWS = sys.argv[3].startswith("rows")
TEXT_PREFIX = b"v" if ROWS else b""  # Of values that are no numbers: memcached takes digits and a blank before a text for one.
TIMED = sys.argv[3] == "timed"  # memcached notes only once a minute that an item was used.
NUMBER = re.compile(rb"^\d+ *(\r\n)?$")  # In a row no blanks follow a number that has become shorter.


def parse_text(server, answer):
    parts = []
    at = 0
    while at < len(answer):
        end = answer.find(b"\r\n", at)
        if end < 0:
            return parts + [[answer[at:]]]  # The connection was closed in between.
        line, size = parse_line(server, answer[at:end])
        at = end + 2
        if size is not None:
            data = answer[at : at + size + 2]
            at += size + 2
            if ROWS and NUMBER.match(data):
                data = data.split()[0]
                line[1 if line[0] == b"VA" else 3] = b"size"
            line.append(data)
        parts.append(line)
    return parts


HEADER = struct.Struct(">BBHBBHIIQ")
OP_VERSION = 0x0B


def parse_binary(server, answer):
    parts = []
    at = 0
    while at + HEADER.size <= len(answer):
        magic, opcode, key, extras, kind, status, body, opaque, cas = HEADER.unpack_from(answer, at)
        at += HEADER.size
        text = answer[at : at + body]
        if ROWS and status == 0 and NUMBER.match(text[extras + key :]):
            text = text[: extras + key] + text[extras + key :].split()[0]
            body = len(text)
        if opcode == OP_VERSION and status == 0:
            text, body = b"version", 0
        parts.append([magic, opcode, key, extras, kind, status, body, opaque, server.name_cas(cas), text])
        at += HEADER.unpack_from(answer, at - HEADER.size)[6]
    return parts + ([[answer[at:]]] if at < len(answer) else [])


def same_answers(one, two):
    """Of a connection that is closed with bytes of ours unread the last answers may be lost on their way."""
    if one[-1:] == two[-1:] == ["closed"]:
        size = min(len(one), len(two)) - 1
        return same(one[:size], two[:size])
    return same(one, two)


BAD_FORMAT = b"CLIENT_ERROR bad command line format"
# What an older memcached says, and what 1.6.45 does.
ANSWERS_NOW = {
    b"ERROR": [BAD_FORMAT],  # Of a command with too few words, and of lines of less than four bytes.
    b"ERROR: shutdown not enabled": [b"SERVER_ERROR: shutdown not enabled"],
    b"CLIENT_ERROR invalid or duplicate flag": [  # Of md.
        BAD_FORMAT, b"CLIENT_ERROR invalid flag", b"CLIENT_ERROR duplicate flag", b"CLIENT_ERROR error decoding key",
        b"CLIENT_ERROR bad token in command line format", b"CLIENT_ERROR incorrect length for M token",
        b"CLIENT_ERROR invalid numeric delta value", b"CLIENT_ERROR invalid numeric initial value",
    ],
}  # fmt: skip
older = False  # Is the one that is compared with?
left_out = {}  # How many requests, by the difference's name.


def same(one, two):
    if older and isinstance(one, list) and len(one) == 1 and isinstance(one[0], bytes) and two in [[now] for now in ANSWERS_NOW.get(one[0], [])]:
        return True
    if isinstance(one, tuple) and isinstance(two, tuple):
        return one[:2] == two[:2] and abs(one[2] - two[2]) <= TIME_SLACK
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(same(*pair) for pair in zip(one, two))
    return one == two


# ---- The two ways to talk ----


class Text:
    @staticmethod
    def parts(server, batch):
        return [server.fill(request) for request in batch]

    @staticmethod
    def end(server, number):
        """A request that is always answered, by something that nothing else is answered with."""
        return b"ms %s/end 0 O%d.%d\r\n\r\n" % (server.prefix, number, number), b"HD O%d.%d\r\n" % (number, number)

    parse = staticmethod(parse_text)

    @staticmethod
    def begins_batch(request):
        """A number keeps its size only while no reply holds it, and a get that is wrong loses replies before it."""
        request = request.lstrip()
        return request.startswith((b"incr", b"decr", b"ma ")) or (request.startswith((b"get", b"gat", b"bget")) and (b"{k9}" in request or len(request) > 2048))

    @staticmethod
    def show(request):
        return repr(request)[1:] if len(request) < 300 else repr(request[:100])[1:] + "... (%d bytes)" % len(request)


class Binary:
    """Requests are (opcode, key, extras, value, cas, changes of the header)."""

    @staticmethod
    def parts(server, batch):
        sent = []
        for number, (opcode, key, extras, value, cas, changes) in enumerate(batch):
            key = server.fill(key)
            fields = {
                "magic": 0x80, "key": len(key), "extras": len(extras), "type": 0, "vbucket": 0,
                "body": len(key) + len(extras) + len(value),
            }  # fmt: skip
            fields.update(changes)
            cas = int(server.fill(cas)) if isinstance(cas, bytes) else cas
            sent.append(
                HEADER.pack(
                    fields["magic"], opcode, fields["key"], fields["extras"], fields["type"], fields["vbucket"],
                    fields["body"], number + 1, cas & 0xFFFFFFFFFFFFFFFF,
                )
                + extras + key + value
            )  # fmt: skip
        return sent

    @staticmethod
    def end(server, number):
        opaque = 0xE0000000 + number
        return HEADER.pack(0x80, 0x0A, 0, 0, 0, 0, 0, opaque, 0), HEADER.pack(0x81, 0x0A, 0, 0, 0, 0, 0, opaque, 0)

    parse = staticmethod(parse_binary)

    @staticmethod
    def begins_batch(request):
        """As above; and when the connection is closed replies before it may be lost on their way."""
        return request[0] in COUNTS or "bad" in request[5]

    @staticmethod
    def show(request):
        opcode, key, extras, value, cas, changes = request
        value = repr(value) if len(value) < 300 else "%d bytes" % len(value)
        return "opcode 0x%02x key %s extras %s value %s cas %s %s" % (opcode, key, extras.hex(), value, cas, changes or "")


def talk(server, protocol, batch, number, cuts):
    """What the server answers to one batch, as parts. `cuts`: where it is cut in pieces, in thousandths."""
    mark, answer_end = protocol.end(server, number)
    data = b"".join(protocol.parts(server, batch))
    if protocol is Text and any(SHORT in request for request in batch):
        data += b"\r\n" * SHORT_LINES  # What follows is taken for data, and the mark shall not be.
    data += mark
    if protocol is Binary and server.socket is None:
        data = protocol.end(server, number + 0x1000000)[0] + data  # Whatever comes then, nobody takes it for another protocol.
    places = [0] + sorted(len(data) * cut // 1000 for cut in cuts) + [len(data)]
    server.send([data[a:b] for a, b in zip(places, places[1:]) if a < b])
    closed = False
    while not server.left.endswith(answer_end) and not closed:
        closed = not server.more()
    answer = server.left
    server.left = b""
    if closed:
        end = "does not answer any more" if server.silent else "closed"
        server.close()
        return protocol.parse(server, answer) + [end]
    return protocol.parse(server, answer[: -len(answer_end)])


# ---- Playing ----

plays = 0
START = int(time.time()) & 0xFFFFF  # Nor have the keys of another run been used.


class Script:
    def __init__(self, protocol, batches, cuts=(), pauses=()):
        self.protocol = protocol
        self.batches = batches
        self.cuts = cuts or [()] * len(batches)
        self.pauses = pauses or [0] * len(batches)

    def without(self, gone):
        """Without requests (batch, place in it)."""
        batches = [[r for p, r in enumerate(batch) if (b, p) not in gone] for b, batch in enumerate(self.batches)]
        kept = [b for b, batch in enumerate(batches) if batch or self.pauses[b]]
        return Script(self.protocol, [batches[b] for b in kept], [self.cuts[b] for b in kept], [self.pauses[b] for b in kept])

    def requests(self):
        return [(b, p) for b, batch in enumerate(self.batches) for p in range(len(batch))]


def play(servers, script, then_forget=True):
    """The first batch that is answered differently, and the answers; or None."""
    global plays
    plays += 1
    for server in servers:
        server.begin(b"%x.%x" % (START, plays))
    for number, batch in enumerate(script.batches):
        if script.pauses[number]:
            time.sleep(script.pauses[number])
        answers = [talk(server, script.protocol, batch, number, script.cuts[number]) for server in servers]
        if not same_answers(*answers):
            forget(servers)
            return number, answers
    if then_forget:
        forget(servers)
    return None


def forget(servers):
    """What was stored goes, before there is too much of it."""
    for server in servers:
        server.close()
        batch = [b"delete {k%d} noreply\r\n" % key for key in range(KEY_TOO_LONG)] + [b"delete %s/end noreply\r\n" % server.prefix]
        talk(server, Text, batch, 0, ())


def play_surely(servers, script):
    """A second may pass between the two servers' answers: what counts is what differs each time."""
    for _ in range(3):
        difference = play(servers, script)
        if difference is None:
            return None
    return difference


def shortest(servers, script):
    """Deletes requests, first many, then one by one, as long as the rest still differs."""
    step = max(1, len(script.requests()) // 2)
    deadline = time.time() + SHRINK_SECONDS
    while True:
        requests = script.requests()
        at = 0
        while at < len(requests) and time.time() < deadline:
            fewer = script.without(set(requests[at : at + step]))
            if fewer.requests() and play_surely(servers, fewer):
                script = fewer
                requests = script.requests()
            else:
                at += step
        if step == 1 or time.time() >= deadline:
            return script
        step = max(1, step // 2)


MINUS_BEHIND = "a number from 2^63 on is none if the memory behind it has a minus"
NON_NUMERIC = b"CLIENT_ERROR cannot increment or decrement non-numeric value"
STATUS_NON_NUMERIC = 6
LARGE_NUMBER = re.compile(rb"^\d{19,20}$")


def counted_key(protocol, request):
    """The key of an incr or decr, as a template; None: it is something else."""
    if protocol is Binary:
        return request[1] if request[0] in COUNTS else None
    words = request.split()
    if len(words) < 2 or words[0] not in (b"incr", b"decr", b"ma"):
        return None
    key = re.fullmatch(rb"\{b(\d+)\}", words[1])
    return b"{k%s}" % key.group(1) if key else words[1]


def is_non_numeric(protocol, part):
    return part[5] == STATUS_NON_NUMERIC if protocol is Binary and len(part) > 5 else part == [NON_NUMERIC]


def has_minus_behind(servers, script, difference):
    """An older memcached looks for a minus in the memory behind a number from 2^63 on, too, up to the next zero: there may be
    the head of another item. So the key is asked for in place of the count, and both have to tell the same such number."""
    number, answers = difference
    if not (older and answers[0] and answers[1] and is_non_numeric(script.protocol, answers[0][0])):
        return False
    key = counted_key(script.protocol, script.batches[number][0])
    if key is None or is_non_numeric(script.protocol, answers[1][0]):
        return False
    before = Script(script.protocol, script.batches[:number], script.cuts[:number], script.pauses[:number])
    if play(servers, before, then_forget=False):
        return False
    values = []
    for server in servers:
        server.close()  # It was binary, perhaps.
        lines = [part for part in talk(server, Text, [b"get %s\r\n" % key], number, ()) if part[0] == b"VALUE"]
        values.append(lines[0][-1].strip() if lines else b"")
    forget(servers)
    if values[0] != values[1] or not LARGE_NUMBER.match(values[0]) or not 2**63 <= int(values[0]) < 2**64:
        return False
    left_out[MINUS_BEHIND] = left_out.get(MINUS_BEHIND, 0) + 1
    return True


def report(servers, script, seed, difference):
    if has_minus_behind(servers, script, difference):
        return 0
    print("DIFFERENCE, seed %d" % seed)
    script = shortest(servers, script)
    difference = play_surely(servers, script)
    if difference is None:
        print("  it has gone: nothing but a second that passed in between")
        return 0
    if has_minus_behind(servers, script, difference):
        print("  it has gone: %s" % MINUS_BEHIND)
        return 0
    for number, batch in enumerate(script.batches[: difference[0] + 1]):
        if script.pauses[number]:
            print("  %g seconds later" % script.pauses[number])
        for request in batch:
            print("  %s%s" % ("" if number < difference[0] else "> ", script.protocol.show(request)))
    for server, answer in zip(servers, difference[1]):
        print("  %s:" % server.name)
        for part in answer[:PARTS_SHOWN]:
            print("    " + repr(part)[:400])
    return 1


# ---- Scripts: text ----

EXPTIMES = [b"0"] * 6 + [b"1000", b"100000", b"-1", b"2592000", b"2592001", b"{t1000}", b"{t-1000}", b"2147483647", b"-100000"]
BAD_NUMBERS = [b"", b"abc", b"1a", b"-", b"+", b"0x10", b"1.5", b"18446744073709551616", b"99999999999999999999999", b"-5", b"+7", b"007"]
NO_NUMBERS = [b"", b"abc", b"1a", b"-", b"0x10"]
NUMBERS = [b"0", b"1", b"2", b"5", b"10", b"99", b"4294967295", b"4294967296", b"9223372036854775807", b"9223372036854775808", b"18446744073709551615"]


VALUES_OF_NUMBERS = [0, 1, 5, 9, 10, 99, 100, 1000, 3405691582, 12345678901234567890, 2**64 - 1, 2**64 - 2, 2**63]
ODD_VALUES = [
    b"", b" 12", b"12 ", b"12 x", b"12x", b"007", b"+3", b"1\n2", b"1\x002", b"18446744073709551616",
    b"x\r\n", b"10 \r\n", b"0" * 25,
]  # fmt: skip
FLAGS = [b"0", b"1", b"99", b"65536", b"2147483648", b"4294967295"]


def printable(rng, most):
    return bytes(rng.choice(b"abcdefghijklmnopqrstuvwxyz0123456789 .,;") for _ in range(rng.randint(0, most)))


def any_bytes(rng, size):
    """But no minus: memcached looks for one in the memory behind a number from 2^63 on, and if it finds one of a former
    value there, it is none. Nor have the other values and the keys one."""
    return rng.randbytes(size).replace(b"-", b"_")


def a_value(rng):
    kind = rng.random()
    if kind < 0.35:
        return b"%d" % rng.choice(VALUES_OF_NUMBERS)
    if kind < 0.45:
        return rng.choice(ODD_VALUES)
    if kind < 0.75:
        return TEXT_PREFIX + printable(rng, 30).lstrip()
    if kind < 0.95:
        return TEXT_PREFIX + any_bytes(rng, rng.randint(0, 60)).lstrip()
    return b"." + any_bytes(rng, rng.choice((200, 1000, 1999, 2000)))


def a_key(rng):
    if rng.random() < 0.96:
        return b"{k%d}" % rng.choice((0, 0, 0, 1, 1, 2, 3))
    return b"{k%d}" % rng.choice((KEY_LONG, KEY_LONG, KEY_TOO_LONG))


def a_number(rng, bad=0.05):
    return rng.choice(BAD_NUMBERS) if rng.random() < bad else rng.choice(NUMBERS)


def a_cas(rng):
    if ROWS:  # Of those numbers the next one may be that of another process.
        return rng.choice((b"{c1}", b"{c1}", b"{c2}", b"{c3}", b"0", b"1"))
    return rng.choice((b"{c1}", b"{c1}", b"{c1}", b"{c1}", b"{c2}", b"{c3}", b"{c1-1}", b"{c1+1000000}", b"0", b"1"))


def bad_data(rng, value):
    """A value of which the line tells another size: what is sent, and the size; and the mark that it is too short."""
    chance = rng.random()
    if chance < 0.5:
        more = rng.randint(1, SHORT_MAX)
        return value, len(value) + more, SHORT
    return value + printable(rng, 20).replace(b" ", b"_"), len(value), b""


def mangle(rng, words):
    """Another number of words, blanks, ends of line; what is no command. The key stays: others are not the script's own."""
    chance = rng.random()
    if chance < 0.4 and len(words) > 1:
        del words[rng.randrange(min(2, len(words) - 1), len(words))]
    elif chance < 0.7:
        words.insert(rng.randint(min(2, len(words)), len(words)), rng.choice((b"0", b"1", b"noreply", b"z", b"99", b"abc")))
    elif chance < 0.8:
        words[0] = rng.choice((b"SET", b"Get", b"nonsense", b"m", b"mx", b"mgg", b"se", b"getss", b"", b"quux x y"))
    elif chance < 0.9:
        words[rng.randrange(len(words))] += b" "
    else:
        words.insert(0, b"")
    return words


def finish_line(rng, words):
    if rng.random() < 0.04:
        words = mangle(rng, words)
    return b" ".join(words) + (b"\n" if rng.random() < 0.03 else b"\r\n")


def text_store(rng):
    name = rng.choice((b"set", b"set", b"set", b"add", b"replace", b"append", b"prepend", b"cas", b"cas"))
    value = a_value(rng)
    size, short = len(value), b""
    if rng.random() < 0.03:
        value, size, short = bad_data(rng, value)
    elif rng.random() < 0.003:
        value = b"v" * LARGE
        size = LARGE
    flags = rng.choice(BAD_NUMBERS) if rng.random() < 0.02 else rng.choice(FLAGS)
    exptime = rng.choice(NO_NUMBERS if ROWS else BAD_NUMBERS) if rng.random() < 0.02 else rng.choice(EXPTIMES)
    told = b"%d" % size if rng.random() > 0.02 else rng.choice((b"-1", b"abc", b"2147483648", b"", b"+1"))
    words = [name, a_key(rng), flags, exptime, told]
    if name == b"cas":
        words.append(a_cas(rng) if rng.random() > 0.05 else rng.choice(BAD_NUMBERS))
    if rng.random() < 0.08:
        words.append(b"noreply")
    line = finish_line(rng, words)
    return with_data(line, 4, size, short, value)


def with_data(line, place, size, short, value):
    """The line and its data; if the number of bytes got lost in the line there may be too few of them."""
    words = line.split()
    told = words[place] if len(words) > place else b""
    if told != b"%d" % size and (b"{" in told or (told.isdigit() and 2 < len(told) < 11)):
        line = b" ".join(words[:place]) + b"\r\n"  # So many bytes nobody sends.
    elif told.lstrip(b"+").isdigit() and told != b"%d" % size:
        short = SHORT
    return short + line + value + b"\r\n"


def text_get(rng):
    name = rng.choice((b"get", b"get", b"gets", b"gets", b"gat", b"gats", b"bget"))
    words = [name]
    keys = [a_key(rng) for _ in range(rng.choice((1, 1, 1, 2, 3, 30 if rng.random() < 0.1 else 4)))]
    keys.sort(key=lambda key: key != b"{k%d}" % KEY_TOO_LONG)  # Of those before it memcached has been asked.
    if name.startswith(b"gat"):
        words.append(rng.choice(EXPTIMES) if rng.random() > 0.05 else rng.choice(BAD_NUMBERS))
    words += keys
    return finish_line(rng, words)


def text_change(rng):
    name = rng.choice((b"incr", b"incr", b"decr", b"decr", b"touch", b"delete", b"delete"))
    words = [name, a_key(rng)]
    if name in (b"incr", b"decr"):
        words.append(a_number(rng, 0.1))
    elif name == b"touch":
        words.append(rng.choice(EXPTIMES) if rng.random() > 0.1 else rng.choice(BAD_NUMBERS))
    elif rng.random() < 0.2:
        words.append(rng.choice((b"0", b"0", b"1", b"noreply")))
    if rng.random() < 0.08:
        words.append(b"noreply")
    return finish_line(rng, words)


def text_other(rng):
    kind = rng.random()
    if kind < 0.3:
        # Not later: what it does then is not a matter of this script alone. And without a mistake in the number.
        return b"flush_all" + rng.choice((b"", b"", b"", b" 0", b" -1", b" noreply", b" 0 noreply", b" abc", b" x noreply", b" 0 0 0")) + b"\r\n"
    if kind < 0.45:
        return finish_line(rng, [b"verbosity"] + rng.choice(([b"1"], [b"0"], [b"1", b"noreply"], [], [b"x"], [b"1", b"2"], [b"1", b"2", b"noreply"])))
    if kind < 0.55:
        return finish_line(rng, [b"version"])
    if kind < 0.6:
        return b"shutdown\r\n"
    if kind < 0.7:
        return rng.choice((b"\r\n", b"\n", b" \r\n", b"nonsense\r\n", b"noreply\r\n", b"get\r\n", b"mn\r\n", b"mn x\r\n", b"quit\r\n", b"quit now\r\n"))
    if kind < 0.75:
        return b"get " + b" ".join(b"{k%d}" % rng.randint(0, 5) for _ in range(200)) + b"\r\n"
    if kind < 0.8:
        return rng.choice((b"x" * 1000 + b"\r\n", b"get " + b"x" * 3000 + b"\r\n"))
    return b"stats nonsense\r\n"


def text_request(rng):
    kind = rng.random()
    if kind < 0.42:
        return text_store(rng)
    if kind < 0.7:
        return text_get(rng)
    if kind < 0.96:
        return text_change(rng)
    return text_other(rng)


# ---- Scripts: meta ----


def meta_token_flag(rng, letter):
    """A flag with what follows its letter."""
    if rng.random() < 0.02 and letter != b"b":
        return letter + rng.choice(BAD_NUMBERS)
    if letter == b"C":
        return letter + a_cas(rng)
    if letter in (b"N", b"T"):
        return letter + rng.choice(EXPTIMES)
    if letter == b"R":
        return letter + rng.choice((b"0", b"30", b"2000", b"200000", b"-1"))
    if letter in (b"D", b"J"):
        return letter + a_number(rng)
    if letter == b"F":
        return letter + rng.choice(FLAGS)
    if letter == b"O":
        return letter + rng.choice((b"", b"1", b"abc", b"o" * 31, b"c5"))
    if letter == b"M":
        return letter + rng.choice((b"S", b"E", b"A", b"P", b"R", b"s", b"e", b"a", b"p", b"r", b"I", b"D", b"+", b"-", b"i", b"d", b"X", b"SET", b"Incr"))
    return letter


def meta_key(rng, in_base64):
    """Other keys in base64 than as they are."""
    if in_base64:
        return rng.choice((b"{b4}", b"{b4}", b"{b5}")) if rng.random() < 0.97 else rng.choice((b"abcde", b"=", b"YQ=", b"YQ"))
    return a_key(rng)


META_FLAGS = {
    b"mg": b"b c f h k l q s t v v v u O N R T".split(),
    b"ms": b"b c k q O C F I T M M".split(),
    b"md": b"b k q O C I T".split(),
    b"ma": b"b c k q O C N J D T M M t v v".split(),
}
META_ALL = {b"ms": b"f h l t u v D J L P R S a z".split()}


def meta_flags(rng, name):
    chosen = [flag for flag in META_FLAGS[name] if rng.random() < rng.choice((0.1, 0.3, 0.5))]
    if rng.random() < 0.1:
        chosen.append(rng.choice(META_ALL.get(name, b"c f h k l q s t u v D F I J L M N O P R S T a z".split())))
    if rng.random() > 0.02:
        chosen = list(dict.fromkeys(chosen))
    if b"b" in chosen and b"N" in chosen:
        chosen.remove(b"N")
    rng.shuffle(chosen)
    if name == b"ma" and b"T" in chosen and b"D" in chosen:
        chosen.remove(b"D")
    made = [meta_token_flag(rng, flag) for flag in chosen]
    # memcached forgets T when the number gets longer.
    return made + [b"D0"] if name == b"ma" and b"T" in chosen else made


def meta_mode(rng, name, flags):
    """Mostly modes that the command has."""
    modes = {b"ms": b"S E A P R s e a p r".split(), b"ma": b"I D + - i d".split()}.get(name)
    if modes and rng.random() < 0.9:
        return [b"M" + rng.choice(modes) if flag.startswith(b"M") else flag for flag in flags]
    return flags


def meta_request(rng):
    name = rng.choice((b"mg", b"mg", b"mg", b"ms", b"ms", b"ms", b"md", b"ma", b"ma", b"me"))
    if rng.random() < 0.02:
        return rng.choice((b"mn\r\n", b"mn x\r\n", b"mg\r\n", b"ms\r\n", b"md\r\n", b"ma\r\n", b"me\r\n", b"mx {k0}\r\n", b"m {k0}\r\n"))
    if name == b"me":
        in_base64 = rng.random() < 0.2
        return finish_line(rng, [name, meta_key(rng, in_base64)] + ([b"b"] if in_base64 else []))
    flags = meta_mode(rng, name, meta_flags(rng, name))
    in_base64 = b"b" in flags
    if name == b"ms" and in_base64 and any(flag[:2] in (b"MA", b"Ma", b"MP", b"Mp") for flag in flags):
        flags.remove(b"b")
        in_base64 = False
    key = meta_key(rng, in_base64)
    if name == b"ma" and flags[-1:] == [b"D0"]:  # See meta_flags: it has to stay.
        return b" ".join([name, key] + flags) + b"\r\n"
    if name != b"ms":
        return finish_line(rng, [name, key] + flags)
    value = a_value(rng)
    size, short = len(value), b""
    if rng.random() < 0.03:
        value, size, short = bad_data(rng, value)
    told = b"%d" % size if rng.random() > 0.02 else rng.choice((b"-1", b"abc", b"2147483648", b"+1", b"1x"))
    return with_data(finish_line(rng, [name, key, told] + flags), 2, size, short, value)


def meta_or_text_request(rng):
    kind = rng.random()
    if kind < 0.8:
        return meta_request(rng)
    return rng.choice((text_store, text_get, text_change))(rng)


# ---- Scripts: binary ----

GETS = (0x00, 0x09, 0x0C, 0x0D)
STORES = (0x01, 0x02, 0x03, 0x11, 0x12, 0x13)
EXTENDS = (0x0E, 0x0F, 0x19, 0x1A)
COUNTS = (0x05, 0x06, 0x15, 0x16)
DELETES = (0x04, 0x14)
TOUCHES = (0x1C, 0x1D, 0x1E, 0x23, 0x24)
FLUSHES = (0x08, 0x18)
UNKNOWN = (0x1B, 0x1F, 0x20, 0x22, 0x21, 0x25, 0x30, 0x40, 0x99, 0xFF)
BINARY_EXPTIMES = (0, 0, 0, 0, 1000, 100000, 2592000, 2592001, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000)


def binary_cas(rng):
    return 0 if rng.random() < 0.75 else a_cas(rng)


def binary_good(rng):
    kind = rng.random()
    key = a_key(rng)
    if kind < 0.25:
        return (rng.choice(GETS), key, b"", b"", 0 if rng.random() < 0.97 else b"{c1}", {})
    if kind < 0.5:
        value = a_value(rng) if rng.random() > 0.003 else b"v" * LARGE
        extras = struct.pack(">II", rng.choice((0, 1, 5, 0xFFFFFFFF)), rng.choice(BINARY_EXPTIMES))
        return (rng.choice(STORES), key, extras, value, binary_cas(rng), {})
    if kind < 0.6:
        return (rng.choice(EXTENDS), key, b"", a_value(rng), binary_cas(rng), {})
    if kind < 0.75:
        extras = struct.pack(">QQI", rng.choice([int(n) for n in NUMBERS]), rng.choice([int(n) for n in NUMBERS]), rng.choice(BINARY_EXPTIMES))
        return (rng.choice(COUNTS), key, extras, b"", binary_cas(rng), {})
    if kind < 0.84:
        return (rng.choice(DELETES), key, b"", b"", binary_cas(rng), {})
    if kind < 0.94:
        return (rng.choice(TOUCHES), key, struct.pack(">I", rng.choice(BINARY_EXPTIMES)), b"", 0, {})
    if kind < 0.96:
        return (rng.choice(FLUSHES), b"", rng.choice((b"", b"", struct.pack(">I", 0))), b"", 0, {})
    return (rng.choice((0x0A, 0x0B, 0x0A, 0x0B) + UNKNOWN), b"", b"", b"", 0, {})


def binary_bad(rng):
    """Something about it is wrong."""
    opcode, key, extras, value, cas, changes = binary_good(rng)
    if opcode in UNKNOWN:
        return (opcode, key, extras, value, cas, changes)
    kind = rng.random()
    if kind < 0.2:
        extras = rng.choice((b"", extras[:-1], extras + b"x", extras + b"\0" * 4))
    elif kind < 0.3:
        key = b""
    elif kind < 0.4:
        key = b"{k%d}" % KEY_TOO_LONG
    elif kind < 0.55 and opcode not in TOUCHES and opcode < 0x25:
        value = b"surplus" if value == b"" else b""
    elif kind < 0.6:
        changes = {"type": rng.choice((1, 255))}
    elif kind < 0.65:
        changes = {"vbucket": rng.choice((1, 0xFFFF))}
    elif kind < 0.7:
        changes = {"magic": rng.choice((0x81, 0x00, 0x67))}
    else:
        opcode = rng.choice(GETS + STORES + EXTENDS + COUNTS + DELETES + FLUSHES + (0x07, 0x17, 0x0A, 0x0B))
    return (opcode, key, extras, value, cas, {"bad": True, **changes})


def binary_request(rng):
    return binary_bad(rng) if rng.random() < 0.03 else binary_good(rng)


# ---- What an older memcached takes otherwise ----

WORDS_MOST = {b"set": 6, b"add": 6, b"replace": 6, b"append": 6, b"prepend": 6, b"cas": 7, b"touch": 4, b"incr": 4, b"decr": 4, b"flush_all": 3, b"verbosity": 3}
UNSIGNED = re.compile(rb"^\+?\d+$|^\{[ct]")
SIGNED = re.compile(rb"^[-+]?\d+$|^\{t")


def has_size(word):
    return UNSIGNED.match(word) is not None and (word.startswith(b"{") or int(word) < 2**31 - 2)


def is_mistaken(words):
    """Of a command with data whose size is right."""
    if words[1] == b"{k%d}" % KEY_TOO_LONG:
        return True
    if words[0] == b"ms":
        return False
    cas = words[0] == b"cas" and (len(words) < 6 or not UNSIGNED.match(words[5]) or (words[5].isdigit() and int(words[5]) >= 2**64))
    return cas or not UNSIGNED.match(words[2]) or int(words[2]) >= 2**32 or not SIGNED.match(words[3]) or len(words[3]) > 19


def taken_otherwise(request):
    """The name of the difference, or None."""
    words = request.removeprefix(SHORT).split(b"\n", 1)[0].split()
    name = words[0] if words else b""
    place = 2 if name == b"ms" else 4
    if len(words) > WORDS_MOST.get(name, len(words)):
        return "words that are too many are passed over"
    if name == b"delete" and len(words) > 4:
        return "delete tells its usage, whatever the number of words"
    if name in (b"gat", b"gats") and len(words) == 2:
        return "gat without a key is a mistake"
    if name in (b"set", b"add", b"replace", b"append", b"prepend", b"cas", b"ms") and len(words) > place:
        if has_size(words[place]) and is_mistaken(words):
            return "the data behind a line with a mistake are swallowed"
    return None


# ---- Scripts: whole ones ----


def script_of(rng, protocol, request):
    batches = []
    for _ in range(rng.randint(4, 14)):
        batches.append([])
        for _ in range(rng.choice((1, 1, 2, 3, 5, 8))):
            made = request(rng)
            name = taken_otherwise(made) if older and protocol is Text else None
            if name is not None:
                left_out[name] = left_out.get(name, 0) + 1
                continue
            if protocol.begins_batch(made):
                batches.append([])
            batches[-1].append(made)
            if protocol is Text and SHORT in made:  # Numbers of CAS have different sizes, and it takes so many bytes.
                batches.append([])
    batches = [batch for batch in batches if batch]
    cuts = [[rng.randint(0, 1000) for _ in range(rng.choice((0, 0, 0, 1, 3)))] for _ in batches]
    return Script(protocol, batches, cuts)


def timed_script(rng):
    """Three times something, with so much time in between that what has three seconds is gone."""
    global EXPTIMES
    EXPTIMES = [b"0", b"0", b"3", b"3", b"1000"]
    batches, pauses = [], []
    flush = rng.randrange(6)  # In one phase at most: another one would take back what memcached has not removed yet.
    for phase in range(3):
        part = script_of(rng, Text, meta_or_text_request).batches + script_of(rng, Text, meta_or_text_request).batches
        if phase == flush:
            part.insert(rng.randrange(len(part)), [b"flush_all 3\r\n"])
        batches += part
        pauses += [5.2 if phase else 0] + [0] * (len(part) - 1)
    return Script(Text, batches, None, pauses)


# Rows have no time at which they expire, unless their table has a column for it, and are not told when they were used.


def set_up_rows(rng, protocol):
    """A number is one if it is all digits, and when it gets shorter a row does not keep its size: no blanks follow. So
    there are no other numbers, and either nothing is appended to them or they do not get shorter."""
    global EXPTIMES, VALUES_OF_NUMBERS, ODD_VALUES, NUMBERS, ROWS_EXTEND
    EXPTIMES = [b"0"]
    ROWS_EXTEND = rng.random() < 0.5
    ODD_VALUES = [b"12x", b"x\r\n"]
    if protocol is Text:  # In binary an increment may compare, and it is no matter of ours what is looked at first.
        ODD_VALUES.append(b"")
    VALUES_OF_NUMBERS = [50000000, 55555555] if ROWS_EXTEND else [0, 1, 9, 10, 99, 12345, 2**64 - 1, 2**63]
    if ROWS_EXTEND:
        NUMBERS = [b"0", b"1", b"50", b"1000"]


def rows_text_request(rng):
    while True:
        request = rng.choice((text_store, text_get, text_change))(rng)
        name = request.removeprefix(SHORT).lstrip()
        if name.startswith((b"append", b"prepend")) and not ROWS_EXTEND:
            continue
        if request.startswith(SHORT):  # Its value gets blank lines, and may be a number with blanks then.
            continue
        if not name.startswith((b"gat", b"touch")) and len(request) < 100000:
            return request


def rows_binary_request(rng):
    while True:
        request = binary_good(rng)
        if request[0] in EXTENDS and not ROWS_EXTEND:
            continue
        if request[0] in GETS + STORES + EXTENDS + COUNTS + DELETES and len(request[3]) < 100000:
            break
    opcode, key, extras, value, cas, changes = request
    if opcode in COUNTS and ROWS_EXTEND:
        extras = extras[:8] + struct.pack(">Q", VALUES_OF_NUMBERS[0]) + extras[16:]
    if opcode in STORES or (opcode in COUNTS and extras[-4:] != b"\xff" * 4):
        extras = extras[:-4] + b"\0" * 4
    return (opcode, key, extras, value, cas, changes)


def rows_script(rng, protocol, request):
    global NUMBERS
    all_numbers = NUMBERS
    set_up_rows(rng, protocol)
    script = script_of(rng, protocol, request)
    NUMBERS = all_numbers
    return script


KINDS = {
    "timed": timed_script,
    "rows": lambda rng: rows_script(rng, Text, rows_text_request),
    "rows_binary": lambda rng: rows_script(rng, Binary, rows_binary_request),
    "text": lambda rng: script_of(rng, Text, text_request),
    "meta": lambda rng: script_of(rng, Text, meta_or_text_request),
    "binary": lambda rng: script_of(rng, Binary, binary_request),
}


def is_older(server):
    server.begin(b"")
    server.send([b"mg\r\n"])
    server.more()
    said = server.left
    server.close()
    return said == b"ERROR\r\n"


def main():
    global older
    servers = [Server("memcached", int(sys.argv[1])), Server("ndb_memcached", int(sys.argv[2]))]
    kind, first, amount = sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    most = int(sys.argv[6]) if len(sys.argv) > 6 else 5  # Differences, of which each takes a while.
    requests = scripts = differences = 0
    seed = first
    older = is_older(servers[0])
    while requests < amount and differences < most:
        script = KINDS[kind](random.Random(seed))
        requests += len(script.requests())
        scripts += 1
        difference = play_surely(servers, script)
        if difference:
            differences += report(servers, script, seed, difference)
        seed += 1
    print("%s: %d requests in %d scripts, seeds from %d: %d differences" % (kind, requests, scripts, first, differences))
    for name, count in sorted(left_out.items()):
        print("  left out, for memcached 1.6.45 says otherwise: %s (%d)" % (name, count))
    sys.exit(1 if differences else 0)


main()
