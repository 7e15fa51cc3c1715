"""Ports of servers that tests start: nobody else is given one between its choice and the server's start."""

from __future__ import annotations

import atexit

from coordinator.engine.ports import reserved_port


def free_port() -> int:
    """Held until the tests end; a server of theirs may listen on it."""
    port, holding = reserved_port()
    atexit.register(holding.close)
    return port
