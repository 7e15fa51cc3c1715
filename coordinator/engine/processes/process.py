"""The coordinator's end of one process that runs SQL; blocking, one statement at a time."""

from __future__ import annotations

import os
import pickle
import select
import socket
import struct
from typing import Protocol

from coordinator.engine.processes.nursery import Nursery, NurseryEndedError

LENGTH = struct.Struct("<Q")
_START_SECONDS = 60.0
_SOCKET_BYTES = 1 << 20


class Buffer(Protocol):
    """Bytes, and what shows some."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class ProcessEndedError(Exception):
    """The process went away: it was killed, for memory or by ``kill``, or crashed."""


class EngineProcess:
    """A child; made by ``start``, ends by ``kill``. Frames are an 8-byte little-endian length and so many bytes."""

    def __init__(self, pid: int, connection: socket.socket, alive: int, nursery: Nursery) -> None:
        self.pid = pid
        self._connection, self._alive, self._nursery = connection, alive, nursery
        self._answers = connection.makefile("rb")

    @classmethod
    def start(cls, nursery: Nursery, worker: int, settings: object) -> EngineProcess:
        """A process that is ready: it was told its settings. Raises ProcessEndedError and OSError."""
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BYTES)
        ended, alive = os.pipe()
        try:
            # It ends when the pipe does, whichever thread of ours made it.
            pid = nursery.fork(worker, [theirs.fileno(), ended])
        except BaseException as error:
            ours.close()
            os.close(alive)
            if isinstance(error, NurseryEndedError):
                raise ProcessEndedError(str(error)) from error
            raise
        finally:
            theirs.close()
            os.close(ended)
        made = cls(pid, ours, alive, nursery)
        try:
            ours.settimeout(_START_SECONDS)
            made.send(pickle.dumps(settings))
            made.receive()
            ours.settimeout(None)
        except BaseException:
            made.kill()
            raise
        return made

    def send(self, *parts: Buffer) -> None:
        """One frame of these bytes. Raises ProcessEndedError, also when another thread kills the process."""
        views = [memoryview(part).cast("B") for part in parts]
        try:
            self._connection.sendall(LENGTH.pack(sum(map(len, views))))
            for view in views:
                self._connection.sendall(view)
        except (OSError, ValueError) as error:
            raise ProcessEndedError(str(error)) from error

    def receive(self) -> bytes:
        """The next frame. Raises ProcessEndedError."""
        try:
            head = self._answers.read(LENGTH.size)
            if len(head) == LENGTH.size:
                (length,) = LENGTH.unpack(head)
                frame = self._answers.read(length)
                if len(frame) == length:
                    return frame
        except (OSError, ValueError) as error:
            raise ProcessEndedError(str(error)) from error
        raise ProcessEndedError("it closed its connection")

    def ended(self) -> bool:
        """Whether a process that waits for a statement has gone: it has nothing to say."""
        return bool(select.select([self._connection], [], [], 0)[0])

    def kill(self) -> None:
        """End the process at once; safe from any thread, and twice."""
        alive, self._alive = self._alive, -1
        if alive >= 0:
            self._nursery.end(self.pid)
            os.close(alive)
            self._answers.close()  # who reads has met the end by now
            self._connection.close()
