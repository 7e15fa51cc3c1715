"""``procession sql`` on a pseudo-terminal: its keyboard and its screen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

ROOT = Path(__file__).parents[3]

# Ctrl-C becomes a signal only for the session whose controlling terminal it is typed at, and is ignored by children
# of a shell's background job, as a test run may be one.
OWN_TERMINAL = (
    "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


class Terminal:
    """A child whose keyboard and screen we hold."""

    def __init__(self, home: Path, *arguments: str, rows: int = 40, columns: int = 120, **environment: str) -> None:
        keyboard, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        inherited = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
        own = {"HOME": str(home), "XDG_STATE_HOME": str(home), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        command = [sys.executable, "-c", OWN_TERMINAL, "-m", "coordinator", "sql", *arguments]
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=ROOT,
            env=inherited | own | environment,
            start_new_session=True,
        )
        os.close(theirs)
        self._screen = keyboard
        self._drawn = self._seen = ""
        self.colored = False

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def enter(self, line: str) -> None:
        """A line and Return."""
        self.type(line + "\r")

    def expect(self, pattern: str, seconds: float = 60.0) -> str:
        """What was printed up to the pattern, escape sequences taken out."""
        deadline = time.monotonic() + seconds
        while (found := re.search(pattern, self._seen)) is None:
            assert time.monotonic() < deadline, f"{pattern!r} not in {self._seen!r}"
            if select.select([self._screen], [], [], 0.2)[0]:
                self._drawn += os.read(self._screen, 65536).decode(errors="replace")
                self.colored = self.colored or "\x1b[0;38;5;" in self._drawn
                # What was read may end amid an escape sequence, which is taken out once all of it is there.
                whole = re.search(r"\x1b\[?[0-9;?]*\Z", self._drawn)
                end = whole.start() if whole else len(self._drawn)
                self._seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self._drawn[:end])
                self._drawn = self._drawn[end:]
        text, self._seen = self._seen[: found.end()], self._seen[found.end() :]
        return text

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._screen)
