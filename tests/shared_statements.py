"""What SQLAlchemy compiled for one SQLite catalog serves the others of the process as well.

It keeps compiled statements by database, and nearly every test of tables has a database of its own: a tenth of the CPU
time of such tests went into compiling the same few statements.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Engine
from sqlalchemy.util import LRUCache


class _Compiled(LRUCache[Any, Any]):
    """By the kind of database in place of the database, which stands first in a key."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_of_kind(key), default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_of_kind(key), value)


_compiled = _Compiled(2_000)


def share() -> None:
    """From now on in this process."""
    type.__setattr__(Engine, "_compiled_cache", property(_of_engine, _set))


def _of_engine(engine: Engine) -> Any:
    return _compiled if type(engine.dialect) is SQLiteDialect_pysqlite else vars(engine)["_compiled_cache"]


def _set(engine: Engine, cache: Any) -> None:
    vars(engine)["_compiled_cache"] = cache


def _of_kind(key: Any) -> Any:
    return (type(key[0]), *key[1:])
