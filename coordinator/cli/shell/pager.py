"""Output that leaves the screen goes through a pager; what fits on it is printed."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType

from rich.cells import cell_len

_LESS = ("-FXRSn",)


def pager_command(named: str | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The program and its arguments, or nothing: an empty name means no pager, no name ``$PAGER`` or ``less``."""
    words = shlex.split(environment.get("PAGER", "less") if named is None else named)
    if not words or shutil.which(words[0]) is None:
        return ()
    if words == ["less"] and "LESS" not in environment:
        return (*words, *_LESS)
    return tuple(words)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ctrl-C is the pager's; the pager itself must not inherit this."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Pager(io.TextIOBase):
    """What is written waits until it fills the screen; only then the pager is started."""

    def __init__(self, command: Sequence[str], size: os.terminal_size | None = None) -> None:
        self._command = command
        self._size = size or shutil.get_terminal_size()
        self._waiting: list[str] = []
        self._lines = 0
        self._process: subprocess.Popen[str] | None = None
        self._open = ExitStack()

    def __enter__(self) -> Pager:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout.write("".join(self._waiting))
        sys.stdout.flush()
        self._waiting = []
        self._open.close()

    def isatty(self) -> bool:
        """Values are shown on a terminal in either case."""
        return True

    def write(self, text: str) -> int:
        """Raises BrokenPipeError once the reader has left the pager."""
        if not self._command:
            sys.stdout.write(text)
        elif self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(text)
        else:
            self._waiting.append(text)
            lines = text.split("\n")
            self._lines += len(lines) - 1
            if self._lines >= self._size.lines - 1 or any(cell_len(line) > self._size.columns for line in lines):
                self._start()
        return len(text)

    def flush(self) -> None:
        """Nothing before the end: what follows may need a pager after all."""

    def _start(self) -> None:
        waiting, self._waiting = "".join(self._waiting), []
        process = subprocess.Popen(self._command, stdin=subprocess.PIPE, text=True, errors="replace")  # noqa: S603
        self._process = process
        self._open.enter_context(_ignoring_interrupts())
        self._open.callback(process.wait)
        self._open.callback(_close, process)
        self.write(waiting)


def _close(process: subprocess.Popen[str]) -> None:
    with suppress(BrokenPipeError):  # they have read enough
        if process.stdin is not None:
            process.stdin.close()
