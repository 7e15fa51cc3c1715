"""moto's server, which looks through the folder of its own package for every request: here it does so once.

It looks every half second whether it is to end: here every twentieth.
"""

from __future__ import annotations

from moto import backends
from moto.server import ThreadedMotoServer
from werkzeug.serving import BaseWSGIServer

_FOUND = tuple(backends.list_of_moto_modules())


def moto_server() -> ThreadedMotoServer:
    """Not started yet, on a free port of this machine."""
    backends.list_of_moto_modules = lambda: _FOUND
    BaseWSGIServer.serve_forever.__defaults__ = (0.05,)
    return ThreadedMotoServer("127.0.0.1", 0, verbose=False)
