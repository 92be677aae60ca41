#!/usr/bin/python3
# memcached_users.py -- pylibmc and python-binary-memcached prove who they are, or do not.
# SPDX-License-Identifier: GPL-2.0-only
"""usage: memcached_users.py PORT USER PASSWORD WRONG_PASSWORD: exit code 1 and a line when it is not as it should be."""
import sys

import bmemcached
import bmemcached.exceptions
import pylibmc

PORT, USER, PASSWORD, WRONG = sys.argv[1:]
ADDRESS = "127.0.0.1:" + PORT


def want(what, got, expected):
    if got != expected:
        print("%s: %s instead of %s" % (what, got, expected))
        sys.exit(1)


def refused(action):
    """Clients differ in how they tell it; none may get or store anything."""
    try:
        return action() in (None, False)
    except (pylibmc.Error, bmemcached.exceptions.MemcachedException):
        return True


def with_pylibmc(name, password):
    return pylibmc.Client([ADDRESS], binary=True, username=name, password=password)


def with_bmemcached(name, password):
    return bmemcached.Client((ADDRESS,), name, password, socket_timeout=60)


for kind, make in (("pylibmc", with_pylibmc), ("bmemcached", with_bmemcached)):
    client = make(USER, PASSWORD)
    want(kind + ": set", bool(client.set(kind, b"value")), True)
    want(kind + ": get", client.get(kind), b"value")
    for name, password in ((USER, WRONG), (USER, PASSWORD + "x"), (USER, PASSWORD[:-1]), ("nobody", PASSWORD), (USER, "x" * 200)):
        want("%s: set by %s with %s" % (kind, name, password), refused(lambda: make(name, password).set(kind, b"wrong")), True)
        want("%s: get by %s with %s" % (kind, name, password), refused(lambda: make(name, password).get(kind)), True)
    want(kind + ": get afterwards", client.get(kind), b"value")
anonymous = pylibmc.Client([ADDRESS], binary=True)
want("set by nobody", refused(lambda: anonymous.set("pylibmc", b"wrong")), True)
print("users: all is right")
