"""What the service is told of the statements of others: tables that they read, and tables that they changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from coordinator.maintenance.create import Maintenance
from coordinator.maintenance.records import TableKey
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows, WriteRows
from coordinator.vocabulary.table_versions import TableVersion
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from shared.spi.table_writes import TableWrite

READ = TableVersion("lake", "db", "read", None, "digest")
WRITE = WriteRows(TableWrite("lake", "db", "written", "INSERT", "", ""))
INSERT = PlannedStatement("INSERT", (), WRITE, update_type="INSERT", table_versions=(READ,))
SELECT = PlannedStatement("SELECT", (), ReturnRows(()), table_versions=(READ,))


class Told:
    """Stands in for the service."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.written: list[str] = []

    def scanned(self, tables: Iterable[TableKey]) -> None:
        self.read += map(str, tables)

    def committed(self, table: TableKey) -> None:
        self.written.append(str(table))


@pytest.mark.parametrize(
    ("planned", "user", "error", "read", "written"),
    [
        (SELECT, "ann", None, ["lake.db.read"], []),
        (INSERT, "ann", None, [], ["lake.db.written"]),
        (INSERT, "ann", ProcessionError(ErrorCode.USER_CANCELED, "cancelled"), [], []),
        (INSERT, "maintenance", None, [], []),
        (SELECT, "maintenance", None, [], []),
        (replace(INSERT, work=ReturnRows(())), "ann", None, [], []),
        (None, "ann", None, [], []),
    ],
)
def test_reads_are_counted_and_writes_are_triggers_but_not_those_of_the_service(
    planned: PlannedStatement | None, user: str, error: ProcessionError | None, read: list[str], written: list[str]
) -> None:
    told = Told()
    view = SimpleNamespace(own=lambda session: session.user == "maintenance")
    made = Maintenance(cast(Any, told), cast(Any, view), cast(Any, None))
    query = SimpleNamespace(planned=planned, session=Session(user=user), error=error)
    made.query_ended(cast(Any, query))
    assert (told.read, told.written) == (read, written)
