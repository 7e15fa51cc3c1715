"""The coordinator's end of one process of the embedded engine; blocking, one statement at a time."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

from coordinator.engine.embedded.messages import LENGTH, Answer, EngineSettings, Statement

_COMMAND = "import gc, sys; gc.disable(); from coordinator.engine.embedded.worker import main; main(sys.argv[1:])"
_START_SECONDS = 60.0
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "MALLOC_ARENA_MAX")


class ProcessEndedError(Exception):
    """The process went away: it was killed, for memory or by ``kill``, or crashed."""


class EngineProcess:
    """A child; made by ``start``, ends by ``kill``."""

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket, alive: int) -> None:
        self._process, self._connection, self._alive = process, connection, alive
        self._answers = connection.makefile("rb")

    @property
    def pid(self) -> int:
        return self._process.pid

    @classmethod
    def start(cls, settings: EngineSettings) -> EngineProcess:
        """A process that is ready. Raises ProcessEndedError and OSError."""
        ours, theirs = socket.socketpair()
        ended, alive = os.pipe()
        try:
            # It ends when the pipe does, whichever thread of ours made it.
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and text
                [sys.executable, "-c", _COMMAND, str(theirs.fileno()), str(ended)],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), ended),
                env={name: os.environ[name] for name in _KEPT if name in os.environ} | {"PYTHONPATH": _path()},
            )
        except BaseException:
            ours.close()
            os.close(alive)
            raise
        finally:
            theirs.close()
            os.close(ended)
        made = cls(process, ours, alive)
        try:
            ours.settimeout(_START_SECONDS)
            made._exchange(settings)
            ours.settimeout(None)
        except BaseException:
            made.kill()
            raise
        return made

    def run(self, statement: Statement) -> Answer:
        """Raises ProcessEndedError, also when another thread kills the process."""
        return self._exchange(statement)

    def kill(self) -> None:
        """End the process at once; safe from any thread, and twice."""
        self._process.kill()
        self._process.wait()
        if self._alive >= 0:
            alive, self._alive = self._alive, -1
            os.close(alive)
            self._answers.close()
            self._connection.close()

    def _exchange(self, message: object) -> Answer:
        try:
            body = pickle.dumps(message)
            self._connection.sendall(LENGTH.pack(len(body)) + body)
            head = self._answers.read(LENGTH.size)
            if len(head) == LENGTH.size:
                (length,) = LENGTH.unpack(head)
                answer: Answer = pickle.loads(self._answers.read(length))  # noqa: S301 - from our own child
                return answer
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise ProcessEndedError(str(error)) from error
        raise ProcessEndedError("it closed its connection")


def _path() -> str:
    return os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
