"""A pool of converter processes: each holds Velox, answers one request at a time, and may die without harm.

A process that misses its deadline is killed and replaced; one that crashes is replaced and its request answered with
a failure. Requests wait in line for a free process, up to a bound. No process outlives the service.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sidecar.messages import LENGTH, Options, Reply, Request

_BOOT_SECONDS = 60.0
_RESTART_SECONDS = 1.0


class PoolError(Exception):
    """A request that got no answer from a converter process."""


class CrashedError(PoolError):
    """The process died on the request."""


class DeadlineError(PoolError):
    """The process did not answer in time and was killed."""


class BusyError(PoolError):
    """Too many requests wait already, or none could be served in time."""


@dataclass(slots=True, eq=False)
class _Child:
    """A converter process and its connection."""

    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def is_dead(self) -> bool:
        return self.process.returncode is not None or self.reader.at_eof()

    async def ask(self, payload: bytes) -> bytes:
        self.writer.write(LENGTH.pack(len(payload)) + payload)
        await self.writer.drain()
        return await self.receive()

    async def receive(self) -> bytes:
        (size,) = LENGTH.unpack(await self.reader.readexactly(LENGTH.size))
        return await self.reader.readexactly(size)

    async def kill(self) -> None:
        self.writer.close()
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


class Pool:
    """Life cycle: ``start``, ``ask`` from any task, ``stop``."""

    def __init__(
        self, size: int, *, deadline_seconds: float = 10.0, max_waiting: int = 256, options: Options | None = None
    ) -> None:
        self.size = size
        self.options = options or Options()
        self.deadline_seconds = deadline_seconds
        self.max_waiting = max_waiting
        self.crashes = 0
        self.kills = 0
        self._idle: deque[_Child] = deque()
        self._waiters: deque[asyncio.Future[_Child]] = deque()
        self._all: set[_Child] = set()
        self._spawning: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._stopped = False
        self._ready = asyncio.Event()

    @property
    def ready(self) -> bool:
        """At least one process has booted."""
        return self._ready.is_set()

    @property
    def processes(self) -> tuple[int, ...]:
        """Ids of the living processes."""
        return tuple(c.process.pid for c in self._all)

    def start(self) -> None:
        """Starts all processes without waiting for them."""
        for _ in range(self.size):
            self._spawn_later()

    async def wait_ready(self) -> None:
        """Waits for the first process."""
        await self._ready.wait()

    async def stop(self) -> None:
        """Kills all processes and waits for their end."""
        self._stopped = True
        for task in self._spawning:
            task.cancel()
        await asyncio.gather(*self._spawning, return_exceptions=True)
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(BusyError("The service is stopping"))
        await asyncio.gather(*(c.kill() for c in list(self._all)), *self._ending)
        self._all.clear()
        self._idle.clear()

    async def ask(self, request: Request, deadline_seconds: float | None = None) -> Reply:
        """Raises CrashedError, DeadlineError or BusyError."""
        seconds = self.deadline_seconds if deadline_seconds is None else deadline_seconds
        child = await self._take(seconds)
        while child.is_dead:  # killed while idle, which is not this request's doing
            self.crashes += 1
            self._replace(child)
            child = await self._take(seconds)
        try:
            async with asyncio.timeout(seconds):
                answer = await child.ask(msgspec.msgpack.encode(request))
        except TimeoutError:
            self.kills += 1
            self._replace(child)
            raise DeadlineError(f"Velox did not answer within {seconds:g} s") from None
        except (OSError, asyncio.IncompleteReadError):
            self.crashes += 1
            code = await self._end_of(child)
            self._replace(child)
            raise CrashedError(f"Velox crashed on the plan fragment ({code})") from None
        except asyncio.CancelledError:
            self._replace(child)  # its answer is still to come and belongs to nobody
            raise
        self._give(child)
        return msgspec.msgpack.decode(answer, type=Reply)

    async def _take(self, seconds: float) -> _Child:
        if self._idle:
            return self._idle.popleft()
        if len(self._waiters) >= self.max_waiting:
            raise BusyError(f"{len(self._waiters)} plan fragments are waiting already")
        waiter: asyncio.Future[_Child] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(seconds):
                return await waiter
        except BaseException as e:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._give(waiter.result())  # it came at the same moment
            if isinstance(e, TimeoutError):
                raise BusyError(f"No converter process was free within {seconds:g} s") from None
            raise
        finally:
            with contextlib.suppress(ValueError):
                self._waiters.remove(waiter)

    def _give(self, child: _Child) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(child)
                return
        self._idle.append(child)

    def _replace(self, child: _Child) -> None:
        self._all.discard(child)
        task = asyncio.ensure_future(child.kill())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        self._spawn_later()

    async def _end_of(self, child: _Child) -> str:
        try:
            async with asyncio.timeout(1):
                code = await child.process.wait()
        except TimeoutError:
            return "connection lost"
        return signal.Signals(-code).name if code < 0 else f"exit {code}"

    def _spawn_later(self) -> None:
        if self._stopped:
            return
        task = asyncio.ensure_future(self._spawn())
        self._spawning.add(task)
        task.add_done_callback(self._spawning.discard)

    async def _spawn(self) -> None:
        """One booted process into the idle ones; tries again after a pause when it does not boot."""
        while not self._stopped:
            child = None
            try:
                child = await _start_child(self.options)
                self._all.add(child)
                async with asyncio.timeout(_BOOT_SECONDS):
                    await child.receive()
            except (TimeoutError, OSError, asyncio.IncompleteReadError):
                if child is not None:
                    self._all.discard(child)
                    await child.kill()
                await asyncio.sleep(_RESTART_SECONDS)
                continue
            self._ready.set()
            self._give(child)
            return


async def _start_child(options: Options) -> _Child:
    ours, theirs = socket.socketpair()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "sidecar.velox.worker",
            str(theirs.fileno()),
            str(os.getpid()),
            msgspec.json.encode(options).decode(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(_import_path())},
            pass_fds=(theirs.fileno(),),
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    try:
        reader, writer = await asyncio.open_connection(sock=ours, limit=1 << 26)
    except BaseException:
        # Nobody knows of the process yet: whoever stops the pool now would leave it.
        ours.close()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    return _Child(process, reader, writer)


def _import_path() -> list[str]:
    """So that the child finds this package from any directory."""
    given = os.environ.get("PYTHONPATH")
    return [str(Path(__file__).resolve().parents[1]), *([given] if given else [])]
