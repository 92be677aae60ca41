# console_terminal.py -- types at the console's terminal: Tab, Ctrl-C, earlier lines; kills it and reads the history.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: console_terminal.py NDB_MGM HISTORY. For console.sh, whose cluster has the data nodes 1 and 2 and runs.
#        console_terminal.py NDB_MGM HISTORY hang. For waiting.sh: its data node 1 hangs.
import os
import pty
import re
import select
import signal
import stat
import socket
import subprocess
import sys
import termios
import time

PROGRAM, HISTORY = sys.argv[1:3]
DEADLINE_S = 60


class Console:
    """The console on a terminal of its own."""

    def __init__(self):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", LC_ALL="C.UTF-8", NDB_MGM_HISTFILE=HISTORY, HOME=os.path.dirname(HISTORY))
            os.execv(PROGRAM, [PROGRAM])
        self.expect(r"ndb_mgm> $")

    def type(self, keys):
        """Types, and forgets what was shown before."""
        self.seen = b""
        os.write(self.fd, keys.encode())

    def expect(self, pattern):
        """Waits for it among what has been shown since the last keys, without the cursor's movements."""
        end = time.monotonic() + DEADLINE_S
        while True:
            seen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\a]", "", self.seen.decode(errors="replace"))
            if re.search(pattern, seen, re.M):
                return seen
            if time.monotonic() > end or not select.select([self.fd], [], [], end - time.monotonic())[0]:
                sys.exit(f"FAIL: no {pattern!r} within {DEADLINE_S} s, but {seen!r}")
            try:
                self.seen += os.read(self.fd, 4096)
            except OSError:
                sys.exit(f"FAIL: the console has ended before {pattern!r}: {seen!r}")

    def command(self, keys, pattern):
        self.type(keys + "\r")
        self.expect(pattern)
        self.expect(r"ndb_mgm> $")

    def interrupt(self):
        self.type("\x03")
        self.expect(r"\^C\nndb_mgm> $")

    def run(self, keys):
        """Types a command, and waits until it runs: the terminal is no more the line editor's, and Ctrl-C has a handler."""
        self.type(keys + "\r")
        end = time.monotonic() + DEADLINE_S
        seen = 0
        while seen < 2:  # Between the editor and the command Ctrl-C has none for a moment.
            with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
                masks = dict(re.findall(r"^(SigBlk|SigCgt):\s*([0-9a-f]+)$", file.read(), re.M))
            bit = 1 << (signal.SIGINT - 1)
            runs = termios.tcgetattr(self.fd)[3] & termios.ICANON and not int(masks["SigBlk"], 16) & bit
            seen = seen + 1 if runs and int(masks["SigCgt"], 16) & bit else 0
            if time.monotonic() > end:
                sys.exit(f"FAIL: {keys!r} does not run within {DEADLINE_S} s")
            time.sleep(0.05)

    def wait(self):
        """Its exit code, negative for a signal."""
        end = time.monotonic() + DEADLINE_S
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                sys.exit(f"FAIL: the console does not end within {DEADLINE_S} s")
            time.sleep(0.01)


def check(condition, text):
    if not condition:
        sys.exit(f"FAIL: {text}")


def kept():
    """The lines of the history, without its head."""
    with open(HISTORY, encoding="utf-8") as file:
        return file.read().replace("\\040", " ").splitlines()[1:]


def complete():
    console = Console()
    console.command("SHO\t", r"^id=1 *\t@127\.0\.0\.1")  # SHOW, and connects.
    console.type("2 STA\t\t")
    console.expect(r"^START +STATUS *$")
    console.command("TU\t", r"^Node 2: started")
    console.command("all rep\tred\t", r"^Node 2: .*[Rr]edo log")
    console.command("2 logl\tsta\t", r"^Missing category=level|^Invalid level")  # STA is the beginning of two.
    console.command("2 loglevel startu\t3", r"^Executing LOGLEVEL STARTUP=3 on node 2 OK!$")
    console.command("clusterlog tog\tdeb\t", r"^DEBUG (enabled|disabled)$")
    console.command("HELP rol\t", r"^ROLLING RESTART  Restart all data nodes")
    console.type("ROLLING RESTART \t\t")
    console.expect(r"^-i +1 +2 *$")
    console.interrupt()
    return console


def events(console):
    """What happens meanwhile is told above the line that is being typed, which stays."""
    console.type("1 STA")
    console.expect(r"1 STA$")
    subprocess.run([PROGRAM, "-e", "2 RESTART"], check=True, stdout=subprocess.DEVNULL, timeout=DEADLINE_S)
    console.expect(r"^(ndb_mgm> 1 STA)?Node 2: Started \(version .*\)\nndb_mgm> 1 STA$")
    console.command("TUS", r"^Node 1: started")


def interrupt(console):
    console.type("2 STOP -a")
    console.expect(r"2 STOP -a$")
    console.interrupt()
    console.interrupt()  # An empty line, too.
    console.command("2 STATUS", r"^Node 2: started")
    events(console)
    os.kill(console.pid, signal.SIGINT)  # From elsewhere.
    console.expect(r"\^C\nndb_mgm> $")
    console.command("sch\u00f6n", "^Invalid command: sch\u00f6n$")
    console.command("SHWO", r"^Invalid command: SHWO\. Did you mean SHOW\?$")
    console.command("a\\b", r"^Invalid command: a\\b$")
    console.command("SLEEP 0 # later; 1 STOP", r"^SLEEP 0 # later; 1 STOP\nndb_mgm> $")  # Nothing but a comment is left.


def kill(console):
    mode = stat.S_IMODE(os.stat(HISTORY).st_mode)
    check(mode == 0o600, f"the history has mode {mode:o}")
    wanted = ["SHOW", "2 STATUS", "all REPORT RedoLog", "2 LOGLEVEL STA", "2 loglevel STARTUP=3", "clusterlog TOGGLE DEBUG",
              "HELP ROLLING", "2 STATUS", "1 STATUS", "sch\u00f6n", "SHWO", "a\\134b",
              "SLEEP 0 # later; 1 STOP"]
    check(kept() == wanted, f"while the console runs it has kept {kept()}")
    os.kill(console.pid, signal.SIGKILL)
    check(console.wait() == -signal.SIGKILL, "it was not killed")
    check(kept() == wanted, f"the killed console has kept {kept()}")


def come_back():
    os.chmod(HISTORY, 0o644)
    before = kept()
    console = Console()
    console.type("\x1b[A" * 2)
    console.expect(r"a\\b$")
    console.type("\x1b[A" * 3 + "\r")  # SHWO, sch\u00f6n, 1 STATUS
    console.expect(r"^Node 1: started")
    console.expect(r"ndb_mgm> $")
    console.type("quit\r")
    check(console.wait() == 0, "QUIT ends with another exit code than 0")
    check(kept() == before + ["1 STATUS", "quit"], f"after {before} it has kept {kept()}")
    mode = stat.S_IMODE(os.stat(HISTORY).st_mode)
    check(mode == 0o600, f"the history that others could read has mode {mode:o}")


def shorten():
    """Of a long history the last 1000 lines are left; whatever else lies beside it stays as it is."""
    with open(HISTORY, "w", encoding="utf-8") as file:
        file.write("_HiStOrY_V2_\n" + "".join(f"SLEEP\\040{i}\n" for i in range(2500)))
    with open(HISTORY + ".other", "w", encoding="utf-8") as file:
        file.write("another's")
    os.symlink(HISTORY + ".other", HISTORY + ".new")
    beside = sorted(os.listdir(os.path.dirname(HISTORY)))
    console = Console()
    console.type("\x04")
    check(console.wait() == 0, "the end of input ends with another exit code than 0")
    check(kept() == [f"SLEEP {i}" for i in range(1500, 2500)], f"{len(kept())} lines are left, from {kept()[:1]}")
    with open(HISTORY + ".new", encoding="utf-8") as file:
        check(file.read() == "another's", "the history has taken another file's place")
    check(sorted(os.listdir(os.path.dirname(HISTORY))) == beside, "the history leaves a file behind")
    os.unlink(HISTORY + ".new")
    os.unlink(HISTORY + ".other")


def read_plain():
    """Lines that no libedit has written are earlier lines, too, and get its form."""
    with open(HISTORY, "w", encoding="utf-8") as file:
        file.write("SHOW\n1 STATUS\n")
    console = Console()
    console.type("\x1b[A")
    console.expect(r"1 STATUS$")
    console.interrupt()
    console.type("\x04")
    check(console.wait() == 0, "the end of input ends with another exit code than 0")
    check(kept() == ["SHOW", "1 STATUS"], f"the plain history is {kept()}")


def leave_others_file():
    """A file of something else is not taken for a history, nor written to."""
    with open(HISTORY, "wb") as file:
        file.write(b"SHOW\n\0\1\2\n1 STATUS\n")
    console = Console()
    console.command("SLEEP 0", r"^SLEEP 0\nndb_mgm> $")
    console.type("\x04")
    check(console.wait() == 0, "the end of input ends with another exit code than 0")
    with open(HISTORY, "rb") as file:
        check(file.read() == b"SHOW\n\0\1\2\n1 STATUS\n", "a file of something else is written to")
    os.unlink(HISTORY)


def follow_link():
    """A history that lies elsewhere, with a link to it, is shortened there."""
    elsewhere = HISTORY + ".elsewhere"
    os.rename(HISTORY, elsewhere)
    os.symlink(elsewhere, HISTORY)
    with open(HISTORY, "w", encoding="utf-8") as file:
        file.write("SHOW\n2 STATUS\n")
    console = Console()
    console.type("\x04")
    check(console.wait() == 0, "the end of input ends with another exit code than 0")
    check(os.path.islink(HISTORY), "the link to the history is replaced")
    check(kept() == ["SHOW", "2 STATUS"], f"the history behind the link is {kept()}")
    os.unlink(HISTORY)
    os.rename(elsewhere, HISTORY)


def interrupt_waits():
    """Ctrl-C ends what a command waits for, and the console goes on; without a terminal it ends the program."""
    console = Console()
    console.run("sleep 1000")
    console.type("\x03")
    console.expect(r"Interrupted\nndb_mgm> $")
    with socket.socket() as nobody:  # Bound, and nobody listens: no other program gets this port.
        nobody.bind(("127.0.0.1", 0))
        dead = "127.0.0.1:%d" % nobody.getsockname()[1]
        for command in f"connect {dead}", "show":
            console.type(command + "\r")
            console.expect(r"waits (since [0-9]+ s )?for a management server: 127\.0\.0\.1 port [0-9]+: Connection refused")
            console.type("\x03")
            console.expect(r"Interrupted\nndb_mgm> $")
    console.command("connect " + os.environ["NDB_CONNECTSTRING"], r"^Connected to management server")
    console.type("quit\r")
    check(console.wait() == 0, "a console that was interrupted ends with another exit code than 0")
    with subprocess.Popen([PROGRAM, "-e", "sleep 1000"]) as program:
        program.send_signal(signal.SIGINT)
        check(program.wait(DEADLINE_S) == -signal.SIGINT, "-e goes on after Ctrl-C")
    os.unlink(HISTORY)


def interrupt_hanging():
    """A data node hangs: its answer is waited for by name, until Ctrl-C, and the console connects again."""
    console = Console()
    console.type("1 REPORT MEMORY\r")
    console.expect(r"waits since [0-9]+ s for node 1's answer")
    console.type("\x03")
    console.expect(r"Interrupted\nndb_mgm> $")
    console.type("1 STOP\r")
    console.expect(r"waits since [0-9]+ s for node 1 to stop")
    console.type("\x03")
    console.expect(r"Interrupted\. An order that the management server has got goes on\nndb_mgm> $")
    console.command("SHOW", r"^id=1\b")
    console.type("quit\r")
    check(console.wait() == 0, "a console that was interrupted ends with another exit code than 0")


if sys.argv[3:] == ["hang"]:
    interrupt_hanging()
    print("the terminal works")
    sys.exit(0)
interrupt_waits()
running = complete()
interrupt(running)
kill(running)
come_back()
shorten()
leave_others_file()
read_plain()
follow_link()
print("the terminal works")
