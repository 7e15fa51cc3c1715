"""Numbered steps that bring a database to the schema of this version; SQLite takes them, and so does PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import time

from sqlalchemy import BigInteger, Column, Connection, Engine, Integer, MetaData, Table, insert, select, text

Migration = Callable[[Connection], None]
"""One that has been shipped is never changed, only followed by another."""


class NewerSchemaError(Exception):
    """The database was made by a newer version."""


def migrate(engine: Engine, name: str, migrations: Sequence[Migration], lock: int) -> None:
    """Take the steps that the table ``name`` does not list, under a lock: of several that start, one does it.

    Raises NewerSchemaError and SQLAlchemy's errors.
    """
    steps = Table(
        name,
        MetaData(),
        Column("number", Integer, primary_key=True),
        Column("applied", BigInteger, nullable=False),
    )
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": lock})
        steps.create(connection, checkfirst=True)
        known = max(connection.execute(select(steps.c.number)).scalars(), default=0)
        if known > len(migrations):
            raise NewerSchemaError(f"it has schema {known}, of a newer version; this one knows {len(migrations)}")
        for number, step in enumerate(migrations[known:], start=known + 1):
            step(connection)
            connection.execute(insert(steps).values(number=number, applied=int(time() * 1e6)))
