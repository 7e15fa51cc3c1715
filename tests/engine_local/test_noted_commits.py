"""A write that has landed is a success, whatever becomes of the question which snapshot it made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.engine.executor import Executor
from shared.errors import ErrorCode, ProcessionError
from tests.execution import FakeExecution


def noted(answer: Any) -> int | None:
    def committed_snapshot(schema: str, table: str, query_id: str) -> int | None:
        if isinstance(answer, Exception):
            raise answer
        found: int | None = answer
        return found

    tables = SimpleNamespace(committed_snapshot=committed_snapshot)
    catalogs: Any = SimpleNamespace(capabilities=lambda _catalog: SimpleNamespace(committed=tables))
    nothing: Any = None
    execution = FakeExecution()
    Executor(catalogs, nothing, nothing, nothing)._note_commit("lake", "db", "t", execution)
    return execution.committed_snapshot


def test_the_snapshot_is_noted() -> None:
    assert (noted(7), noted(None)) == (7, None)


@pytest.mark.parametrize("failure", [ProcessionError(ErrorCode.NOT_FOUND, "gone"), RuntimeError("x"), KeyError("y")])
def test_a_question_that_fails_fails_no_statement(failure: Exception) -> None:
    assert noted(failure) is None
