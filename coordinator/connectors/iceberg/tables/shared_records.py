"""All records of unfinished work of one catalog, together: begun in the shared database, and taken over there."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from coordinator.connectors.iceberg.tables.work_records import SHARED, WorkPlace, WorkRecords
from coordinator.values.migrations import Migration, NewerSchemaError, migrate
from coordinator.values.shared_work import SharedWork
from shared.errors import ErrorCode, ProcessionError


def _first(connection: sa.Connection) -> None:
    names = ("work_rewrite_calls", "work_unfinished_tables", "work_open_writes", "work_open_commits")
    SHARED.create_all(connection, [SHARED.tables[name] for name in names])


def _second(connection: sa.Connection) -> None:
    SHARED.create_all(connection, [SHARED.tables["work_open_expiries"]])


def _third(connection: sa.Connection) -> None:
    SHARED.create_all(connection, [SHARED.tables["work_open_drops"]])


MIGRATIONS: tuple[Migration, ...] = (_first, _second, _third)
"""In their order."""
_LOCK = 0x70726F65


def share(place: WorkPlace, kinds: Sequence[WorkRecords], shared: SharedWork) -> None:
    """Keep records in the shared database from now on, and those of the file too. Raises ProcessionError."""
    try:
        migrate(shared.engine, "work_migrations", MIGRATIONS, _LOCK)
        for records in kinds:
            records.move_from_file(shared)
    except (sa.exc.SQLAlchemyError, NewerSchemaError) as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        message = f"The journal of {place.catalog} cannot be kept in the database of the coordinators: {reason}"
        raise ProcessionError(ErrorCode.ICEBERG_COMMIT_ERROR, message, retriable=True) from error
    place.shared = shared


def take_over(place: WorkPlace, kinds: Sequence[WorkRecords]) -> int:
    """Make this coordinator's what those that ended have left open; how many records. Raises SQLAlchemy's errors.

    All kinds in one step: a commit and the call that it belongs to have one owner.
    """
    shared = place.shared
    if shared is None:
        return 0
    left = sa.or_(*(sa.exists().where(records.unowned(shared)) for records in kinds))
    with shared.engine.begin() as connection:
        if not connection.execute(sa.select(left)).scalar():
            return 0
        return sum(records.take_over(connection, shared) for records in kinds)
