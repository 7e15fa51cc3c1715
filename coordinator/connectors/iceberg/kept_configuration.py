"""PyIceberg's own configuration, read once a process.

It looks for its file in three folders and through the whole environment whenever it reads a table's metadata, makes a
scan or writes: a fiftieth of the CPU time of small commits. Neither changes while the service runs.
"""

from __future__ import annotations

from functools import cache

from pyiceberg.typedef import FrozenDict, RecursiveDict
from pyiceberg.utils.config import Config

_read = Config.__init__


def keep_configuration() -> None:
    """From now on in this process."""
    type.__setattr__(Config, "__init__", _kept)


def _kept(config: Config) -> None:
    config.config = _once()


@cache
def _once() -> RecursiveDict:
    found = Config.__new__(Config)
    _read(found)
    return FrozenDict(**found.config)
