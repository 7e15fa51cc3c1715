"""Numbered steps that bring a database to the schema of this version; SQLite takes them, and so does PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from time import time

from sqlalchemy import BigInteger, Column, Connection, Engine, Integer, MetaData, Table, insert, select, text

Migration = Callable[[Connection], None]
"""One that has been shipped is never changed, only followed by another."""


class NewerSchemaError(Exception):
    """The database was made by a newer version, in a way that this one cannot work with."""


def migrate(
    engine: Engine, name: str, migrations: Sequence[Migration], lock: int, breaking: Collection[int] = ()
) -> None:
    """Take the steps that the table ``name`` does not list, under a lock: of several that start, one does it.

    An older version works with what newer ones have only added, so that both run side by side while one replaces the
    other. ``breaking``: numbers of the steps that it cannot work with; the table ``<name>_breaking`` lists them for it.
    Raises NewerSchemaError and SQLAlchemy's errors.
    """
    steps, breaks = _listed(name), _listed(f"{name}_breaking")
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": lock})
        for table in (steps, breaks):
            table.create(connection, checkfirst=True)
        known, last_break = _newest(connection, steps), _newest(connection, breaks)
        if last_break > len(migrations):
            raise NewerSchemaError(f"it has schema {last_break}, of a newer version; this one knows {len(migrations)}")
        for number, step in enumerate(migrations[known:], start=known + 1):
            step(connection)
            for table in (steps, breaks) if number in breaking else (steps,):
                connection.execute(insert(table).values(number=number, applied=int(time() * 1e6)))


def _listed(name: str) -> Table:
    columns = Column("number", Integer, primary_key=True), Column("applied", BigInteger, nullable=False)
    return Table(name, MetaData(), *columns)


def _newest(connection: Connection, steps: Table) -> int:
    return max(connection.execute(select(steps.c.number)).scalars(), default=0)
