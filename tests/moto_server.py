"""moto's server, which looks through the folder of its own package for every request: here it does so once."""

from __future__ import annotations

from moto import backends
from moto.server import ThreadedMotoServer

_FOUND = tuple(backends.list_of_moto_modules())


def moto_server() -> ThreadedMotoServer:
    """Not started yet, on a free port of this machine."""
    backends.list_of_moto_modules = lambda: _FOUND
    return ThreadedMotoServer("127.0.0.1", 0, verbose=False)
