"""Finds a Spark that lives and does nothing: asks it something small, and tells when no answer comes."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal

from coordinator.engine.spark.connection import Connection
from coordinator.engine.spark.sessions import ask

_ASKS_OF_OTHERS = 3
"""How often a server that others run may be silent: its statements are lost when it is given up."""
SESSION_GONE = "it no longer knows this session"
State = Literal["not started", "up", "starting", "down"]


@dataclass(frozen=True, slots=True)
class SparkStatus:
    """``restarts``: embedded servers that took the place of one that ended; ``given_up``: servers that did not answer,
    or could not run statements any more; ``problem``: the last of either, or why Spark did not start.
    ``leaves_files``: writes that fail leave their files there (``named_writes.LEAVES_FILES``)."""

    state: State = "not started"
    restarts: int = 0
    given_up: int = 0
    problem: str = ""
    leaves_files: bool = False


class Watchdog:
    """Belongs to the thread that calls it."""

    def __init__(self, interval: float, deadline: float) -> None:
        self._interval = interval
        self._deadline = deadline
        self._asked = time.monotonic()
        self._silent = 0

    def problem(self, connection: Connection) -> str | None:
        """Why ``connection`` is of no use any more; asks at most once an ``interval``, blocks for the deadline."""
        begun = time.monotonic()
        if begun - self._asked < self._interval:
            return None
        answer = ask(connection.session, self._deadline)
        self._asked = time.monotonic()
        if answer == "silent" and self._asked - begun > 2 * self._deadline:
            return None  # this process stood still: nobody was there to hear the answer
        match answer:
            case "alive":
                self._silent = 0
                return None
            case "session gone":
                self._silent = 0
                return SESSION_GONE
            case "silent":
                self._silent += 1
        if connection.server is None and self._silent < _ASKS_OF_OTHERS:
            return None
        self._silent = 0
        return f"it did not answer within {self._deadline:g} s"


def gave_up(status: SparkStatus, problem: str) -> SparkStatus:
    """After a server was given up for ``problem``."""
    return replace(status, given_up=status.given_up + 1, problem=problem)
