"""The coordinator's end of one planner process."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

from coordinator.security.child_environment import planner_environment
from coordinator.validation.worker import LENGTH, Change, PlannerFactory
from coordinator.vocabulary.nesting import too_deep
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ProcessionError
from shared.spi.session import Session

_COMMAND = "import sys; from coordinator.validation.worker import main; main(sys.argv[1:])"
_CLOSE_SECONDS = 2.0
_LARGE = 1 << 20


class PlannerProcessEndedError(Exception):
    """The process went away: it crashed, was killed, or could not be talked to."""


class PlannerProcess:
    """One child with one request at a time. Made by ``start``; ends by ``aclose`` or ``kill``."""

    def __init__(
        self, process: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self.changes = 0
        """How many changes it has been told of, by whoever tells."""

    @property
    def pid(self) -> int:
        return self._process.pid

    @classmethod
    async def start(cls, factory: PlannerFactory, warm_up: str | None, timeout_seconds: float) -> PlannerProcess:
        """A process that is ready to plan. Raises what its factory raised (as ProcessionError),
        PlannerProcessEndedError or TimeoutError."""
        ours, theirs = socket.socketpair()
        try:
            # From the loop's own thread: a child that dies with its parent dies with the thread that made it.
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and text
                [sys.executable, "-c", _COMMAND, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=_environment(factory),
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        try:
            reader, writer = await asyncio.open_unix_connection(sock=ours)
        except BaseException:  # also when the pool is closed meanwhile
            ours.close()
            process.kill()
            await asyncio.to_thread(process.wait)
            raise
        planner = cls(process, reader, writer)
        try:
            async with asyncio.timeout(timeout_seconds):
                await planner._exchange(pickle.dumps((sys.path, pickle.dumps(factory), warm_up)))
        except BaseException:
            await planner.kill()
            raise
        return planner

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        """Raises the statement's ProcessionError, or PlannerProcessEndedError. A cancelled call leaves the process
        in the middle of an answer: kill it."""
        planned = await self._exchange(pickle.dumps((text, session)))
        assert isinstance(planned, PlannedStatement)
        return planned

    async def change(self, value: object) -> None:
        """Tell its planner of a change. Raises PlannerProcessEndedError."""
        await self._exchange(pickle.dumps(Change(value)))

    async def kill(self) -> None:
        """End the process at once and wait until it is gone."""
        self._process.kill()
        self._writer.close()
        await asyncio.to_thread(self._process.wait)

    async def aclose(self) -> None:
        """Let the process end by itself, which it does between statements; kill it when it does not."""
        self._writer.close()
        if await self._exit_code() is None:
            await self.kill()

    async def _exchange(self, body: bytes) -> object:
        try:
            self._writer.write(LENGTH.pack(len(body)))
            self._writer.write(body)
            await self._writer.drain()
            (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
            frame = await self._reader.readexactly(length)
        except (EOFError, OSError) as error:
            raise PlannerProcessEndedError(await self._obituary()) from error
        try:
            answer = _read(frame)
        except RecursionError as error:  # the process is well, and would plan the same again
            raise too_deep() from error
        if isinstance(answer, ProcessionError):
            raise answer
        return answer

    async def _exit_code(self) -> int | None:
        """The exit code, negative for a signal; None when the process stays alive for longer than it should."""
        try:
            return await asyncio.to_thread(self._process.wait, _CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            return None

    async def _obituary(self) -> str:
        code = await self._exit_code()
        if code is None:
            return "it closed its connection"
        return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def _read(frame: bytes) -> object:
    """Of a large plan without the collector, which looks at all that was made so far over and over: five times faster,
    and the event loop, which others share, stands still as much less."""
    if len(frame) < _LARGE:
        return pickle.loads(frame)  # noqa: S301 - from our own child
    gc.disable()
    try:
        return pickle.loads(frame)  # noqa: S301
    finally:
        gc.enable()


def _environment(factory: PlannerFactory) -> dict[str, str]:
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    return planner_environment(getattr(factory, "etc", None)) | {"PYTHONPATH": paths}
