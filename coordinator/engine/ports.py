"""Ports of children, which have to be known before the children listen there."""

from __future__ import annotations

import socket


def reserved_port() -> tuple[int, socket.socket]:
    """A free port of this machine, and what has to be closed once it is not needed any more.

    While the socket is open nobody else is given the port, yet a child may listen on it: both sockets say that their
    address may be used again, and this one does not listen. A port that was free a moment ago may be gone by the time
    that a child has started.
    """
    holding = socket.socket()
    holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holding.bind(("127.0.0.1", 0))
    return int(holding.getsockname()[1]), holding
