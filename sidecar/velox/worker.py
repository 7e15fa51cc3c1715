"""Main of a converter process: boots Velox, says so, then answers one frame at a time until the service is gone.

Run as ``python -m sidecar.velox.worker FD``, FD being its end of a socket pair. Leaves by ``os._exit``: a normal exit
after Velox has run aborts in its static destructors.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import time

import msgspec

from sidecar.messages import (
    LENGTH,
    CrashRequest,
    ExpressionsRequest,
    FunctionsRequest,
    Options,
    PlanRequest,
    Reply,
    Request,
)

_PR_SET_PDEATHSIG = 1
RECURSION_LIMIT = 3000
_NICENESS = 2
"""A little below the processes that answer HTTP, which need little; at 10 a busy machine starves conversions."""


def main(descriptor: int, parent: int, options: Options) -> None:
    """Never returns."""
    _die_with(parent)
    connection = socket.socket(fileno=descriptor)
    sys.setrecursionlimit(RECURSION_LIMIT)
    try:
        from sidecar.velox import folding, registry, runtime, service, types

        runtime.boot()
        types.read_char_as_varchar(options.char_as_varchar)
        service.warm_up()
        os.nice(_NICENESS)  # not before: a busy machine would keep it from starting
        _send(connection, b"ready")
        decoder = msgspec.msgpack.Decoder(Request)
        while True:
            request = decoder.decode(_receive(connection))
            match request:
                case PlanRequest():
                    reply = service.answer(request, options)
                case ExpressionsRequest():
                    reply = folding.answer(request)
                case FunctionsRequest():
                    reply = Reply(ok=True, body=registry.functions())
                case CrashRequest(hang=True):
                    time.sleep(3600)
                case CrashRequest():
                    os.kill(os.getpid(), signal.SIGSEGV)
            _send(connection, msgspec.msgpack.encode(reply))
    except (EOFError, OSError, KeyboardInterrupt):
        pass
    finally:
        os._exit(0)


def _die_with(parent: int) -> None:
    """The kernel kills this process with its parent, also while native code is busy."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the service ends us in order
    if os.getppid() != parent:
        os._exit(0)


def _receive(connection: socket.socket) -> bytes:
    (size,) = LENGTH.unpack(_exactly(connection, LENGTH.size))
    return _exactly(connection, size)


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def _send(connection: socket.socket, payload: bytes) -> None:
    connection.sendall(LENGTH.pack(len(payload)) + payload)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), msgspec.json.decode(sys.argv[3], type=Options))
