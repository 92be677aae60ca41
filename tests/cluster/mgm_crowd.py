#!/usr/bin/python3
# mgm_crowd.py -- connections to a management server that keep their places and give nothing for them.
# SPDX-License-Identifier: GPL-2.0-only
"""mgm_crowd.py PORT KIND COUNT

Holds COUNT connections until it is ended; one that the server closes is replaced, 200 a second at most.
Prints "held" when all have been there once, and "closed N" each time when another hundred has been closed.
"""
import os
import select
import socket
import sys
import time

# What a connection says when it begins, and what it goes on saying, a byte every half second.
KINDS = {
    "silent": (b"", b""),
    "hello": (b"NDB", b""),
    "half": (b"get status\n", b""),
    "slow": (b"", b"get status of everything there is, one letter after the other: "),
    "known": (b"check connection\n\n", b""),
    "unread": (b"get config\n\n" * 400, b""),
    "listen": (b"listen event\nfilter: 15=1\n\n", b""),
    "holders": (b"get nodeid\nnodetype: API\n\nget nodeid\nnodetype: NDB\nnodeid: 2\n\n", b""),
}
REPLACED_PER_TURN = 20
TURN = 0.1


def main():
    port, kind, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    first, rest = KINDS[kind]
    reads = kind not in ("unread", "listen")
    poll = select.poll()
    crowd = {}
    closed = told = turn = 0
    held = False

    def come():
        s = socket.socket()
        if not reads:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            s.connect(("127.0.0.1", port))
            s.setblocking(False)
            if first:
                s.send(first)
        except OSError:
            s.close()
            return
        crowd[s.fileno()] = s
        poll.register(s, select.POLLIN if reads else select.POLLHUP | select.POLLERR)

    while os.getppid() != 1:
        room = count - len(crowd)
        for _ in range(min(room, count if not held else REPLACED_PER_TURN)):
            come()
        if not held:
            held = True
            print("held", flush=True)
        for fd, event in poll.poll(0):
            s = crowd[fd]
            try:
                gone = event & (select.POLLHUP | select.POLLERR) or s.recv(65536) == b""
            except OSError:
                gone = True
            if gone:
                poll.unregister(fd)
                del crowd[fd]
                s.close()
                closed += 1
        turn += 1
        if rest and turn % 5 == 0:
            at = turn // 5 % len(rest)
            for s in crowd.values():
                try:
                    s.send(rest[at:at + 1])
                except OSError:
                    pass
        if closed >= told + 100:
            told = closed
            print("closed", closed, flush=True)
        time.sleep(TURN)


main()
