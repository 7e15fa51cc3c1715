"""SQL catalogs: databases that may be restarted, be away, and be met by several coordinators before any table is there.

PyIceberg makes the connections; what it is told here is that none is waited for without end, and that each is looked at
before it is used again, which a restart of the database has ended.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

_LOOKS = 4
"""Where each table is made by itself (SQLite), each may be lost to another; with all of them there, a look suffices."""
_DEADLINES = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""Of libpq, which otherwise waits for a host that is cut off as long as the system does: minutes or hours."""


def sql_catalog(name: str, properties: Mapping[str, str]) -> SqlCatalog:
    """The catalog, its tables made where they are missing. Raises SQLAlchemy's errors.

    PyIceberg looks for the tables and makes them in two steps. Who makes them second fails, and finds them when it
    looks again.
    """
    uri = with_deadlines(properties["uri"])
    pinged = {} if uri.startswith("sqlite") else {"pool_pre_ping": "true"}
    for looks in range(1, _LOOKS + 1):
        try:
            return SqlCatalog(name, **{**pinged, **properties, "uri": uri})
        except DBAPIError as error:
            # No statement: the database was not even reached, and its time-out is not waited for again and again.
            if not error.statement or looks == _LOOKS:
                raise
    raise AssertionError("the last look returns or raises")


def with_deadlines(uri: str) -> str:
    """The address of a PostgreSQL with limits for what it does not say itself; others as they are."""
    if not uri.startswith("postgresql+psycopg2:"):
        return uri
    url = make_url(uri)
    return url.set(query={**_DEADLINES, **url.query}).render_as_string(hide_password=False)
