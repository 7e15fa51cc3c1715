"""The prompt of ``procession sql`` on a real pseudo-terminal: statements over lines, Ctrl-C, history, quit."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
LONG = (
    "SELECT count(*) FROM UNNEST(sequence(1, 10000)) AS a (x) CROSS JOIN UNNEST(sequence(1, 10000)) AS b (y) "
    "CROSS JOIN UNNEST(sequence(1, 10000)) AS c (z) WHERE x * y * z = 7"
)

# Ctrl-C becomes a signal only for the session whose controlling terminal it is typed at, and is ignored by children
# of a shell's background job, as a test run may be one.
OWN_TERMINAL = (
    "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


class Terminal:
    """A child whose keyboard and screen we hold."""

    def __init__(self, server: str, state: Path) -> None:
        keyboard, theirs = pty.openpty()
        environment = os.environ | {"XDG_STATE_HOME": str(state), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        command = [sys.executable, "-c", OWN_TERMINAL, "-m", "coordinator", "sql", "--server", server]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=environment, start_new_session=True
        )
        os.close(theirs)
        self._screen = keyboard
        self._drawn = self._seen = ""

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def expect(self, pattern: str, seconds: float = 30.0) -> str:
        """What was printed up to the pattern, escape sequences taken out."""
        deadline = time.monotonic() + seconds
        while (found := re.search(pattern, self._seen)) is None:
            assert time.monotonic() < deadline, f"{pattern!r} not in {self._seen!r}"
            if select.select([self._screen], [], [], 0.2)[0]:
                self._drawn += os.read(self._screen, 65536).decode(errors="replace")
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


@pytest.fixture
def terminal(server: str, tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(server, tmp_path)
    try:
        # The blank after the prompt is drawn as a move of the cursor.
        opened.expect("procession>")
        yield opened
    finally:
        opened.close()


def test_a_statement_over_two_lines_runs_at_its_semicolon(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type("SELECT 40 + 2\r")
    terminal.type("AS answer;\r")
    terminal.expect(r"answer\n-+\n +42\n\(1 row\)")
    terminal.type("quit\r")
    assert terminal.process.wait(20) == 0
    history = (tmp_path / "procession" / "history").read_text()
    assert "+SELECT 40 + 2\n+AS answer;" in history


def test_an_error_returns_to_the_prompt(terminal: Terminal) -> None:
    terminal.type("SELECT nope;\r")
    terminal.expect("Column 'nope' cannot be resolved")
    terminal.type("SELECT 1;\r")
    terminal.expect(r"\(1 row\)")


def test_ctrl_c_cancels_the_running_statement_and_keeps_the_prompt(terminal: Terminal, server: str) -> None:
    terminal.type(f"{LONG};\r")
    deadline = time.monotonic() + 30
    while not [q for q in queries(server) if q["state"] in ("STARTING", "RUNNING")]:
        assert time.monotonic() < deadline, queries(server)
        time.sleep(0.1)
    terminal.type("\x03")
    terminal.expect(r"Query \S+ was canceled")
    assert queries(server)[0]["errorCode"]["name"] == "USER_CANCELED"
    terminal.type("SELECT 1;\r")
    terminal.expect(r"\(1 row\)")


def queries(server: str) -> list[dict]:
    return [q for q in httpx.get(f"{server}/v1/query", timeout=30).json() if "10000" in q["query"]]
