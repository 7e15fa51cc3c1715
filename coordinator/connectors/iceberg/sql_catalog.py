"""SQL catalogs, whose tables are made by whoever comes first: several coordinators may come at once."""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy.exc import DBAPIError

_LOOKS = 4
"""Where each table is made by itself (SQLite), each may be lost to another; with all of them there, a look suffices."""


def sql_catalog(name: str, properties: Mapping[str, str]) -> SqlCatalog:
    """The catalog, its tables made where they are missing. Raises SQLAlchemy's errors.

    PyIceberg looks for the tables and makes them in two steps. Who makes them second fails, and finds them when it
    looks again.
    """
    for looks in range(1, _LOOKS + 1):
        try:
            return SqlCatalog(name, **properties)
        except DBAPIError as error:
            # No statement: the database was not even reached, and its time-out is not waited for again and again.
            if not error.statement or looks == _LOOKS:
                raise
    raise AssertionError("the last look returns or raises")
