"""Changes and rewrites of rows that lost to other commits: which run again, and how the last time."""

from __future__ import annotations

import pytest

from coordinator.dispatch.races import last_race, lost_race
from coordinator.vocabulary.planned_statement import CallProcedure, Column, PlannedStatement, RunLocally, WriteRows
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ProcedureKind
from shared.spi.table_writes import TableWrite, WriteKind

ROWS = (RunLocally("SELECT 1"), (Column("$file", "varchar"),))
CONFLICT = ProcessionError(ErrorCode.TRANSACTION_CONFLICT, "another commit won", retriable=True)


def planned(kind: WriteKind = "UPDATE", *, own: bool = True, after: str = "AS x USING y") -> PlannedStatement:
    write = TableWrite("iceberg", "db", "t", kind, "MERGE INTO", after)
    return PlannedStatement("UPDATE", (), WriteRows(write, rows=ROWS if own else None))


def call(kind: ProcedureKind) -> PlannedStatement:
    return PlannedStatement("CALL", (), CallProcedure("iceberg", "rewrite_data_files", kind, {}))


@pytest.mark.parametrize(
    ("kind", "error", "lost"),
    [
        (ProcedureKind.TABLE_DATA_REWRITE, CONFLICT, True),
        (ProcedureKind.TABLE_DATA_REWRITE, ProcessionError(ErrorCode.TRANSACTION_CONFLICT, "a part landed"), False),
        (ProcedureKind.TABLE_DATA_REWRITE, ProcessionError(ErrorCode.NOT_FOUND, "gone", retriable=True), False),
        (ProcedureKind.COORDINATOR, CONFLICT, False),
        (ProcedureKind.MAINTENANCE, CONFLICT, False),
    ],
)
def test_which_calls_race_again(kind: ProcedureKind, error: ProcessionError, lost: bool) -> None:
    assert lost_race(call(kind), error) is lost_race(call(kind), error, "spark") is lost
    assert last_race(call(kind)) == call(kind)


@pytest.mark.parametrize(
    ("statement", "error", "lost"),
    [
        (planned(), CONFLICT, True),
        (planned(after=""), CONFLICT, True),
        (planned(own=False), CONFLICT, False),
        (planned("INSERT"), CONFLICT, False),
        (planned(), ProcessionError(ErrorCode.TRANSACTION_CONFLICT, "it was committed"), False),
        (planned(), ProcessionError(ErrorCode.DIVISION_BY_ZERO, "by zero"), False),
    ],
)
def test_who_races_again(statement: PlannedStatement, error: ProcessionError, lost: bool) -> None:
    assert lost_race(statement, error) is lost_race(statement, error, "coordinator") is lost
    assert not lost_race(statement, error, "spark"), "it has read its table again by itself"


def test_the_last_race_is_spark_s_where_it_can() -> None:
    assert last_race(planned()) == planned(own=False)
    assert last_race(planned(after="")) == planned(after=""), "Spark does not load the table"
