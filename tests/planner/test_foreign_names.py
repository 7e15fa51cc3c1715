"""Names of Presto's and Trino's that are planned here: session properties, ``kill_query``, arguments of EXECUTE."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.connectors.system.procedures.kill_query import KillQuery
from coordinator.dispatch.runtime_state import DispatcherState
from coordinator.vocabulary.planned_statement import CallProcedure, PlannedStatement, SessionChange
from shared.errors import ErrorCode, ProcessionError
from shared.spi.access_control import AccessDeniedError
from shared.spi.session import Session

Plan = Callable[..., PlannedStatement]
SESSION = Session(user="t", catalog="iceberg", schema="db", query_id="20260101_000000_00001_aaaaa")


def test_a_property_of_prestos_is_taken_with_a_warning(plan: Plan) -> None:
    planned = plan("SET SESSION task_concurrency = 4 + 4", SESSION)
    assert planned.session_change == SessionChange(set_session={"task_concurrency": "8"})
    (warning,) = planned.warnings
    assert warning.message == "Session property task_concurrency of Presto has no effect here"
    given = Session(user="t", properties={"task_concurrency": "8", "legacy_timestamp": "false"})
    assert plan("RESET SESSION task_concurrency", given).session_change == SessionChange(
        clear_session=("task_concurrency",)
    )
    for text, session in (
        ("SET SESSION task_concurency = 8", SESSION),
        ("SELECT 1", Session(user="t", properties={"task_concurency": "8"})),
        ("SET SESSION iceberg.task_concurrency = 8", SESSION),
        ("SET SESSION task_concurrency = NULL", SESSION),
    ):
        with pytest.raises(ProcessionError):
            plan(text, session)


def test_execute_takes_trinos_order_and_least_age(plan: Plan) -> None:
    call = plan("ALTER TABLE orders EXECUTE rollback_to_snapshot(7)", SESSION).work
    assert isinstance(call, CallProcedure)
    assert (call.procedure, call.arguments["snapshot_id"]) == ("rollback_to_snapshot", 7)
    with pytest.raises(ProcessionError) as refused:
        plan("ALTER TABLE orders EXECUTE expire_snapshots('90m')", SESSION)
    assert refused.value.message == (
        "Retention specified (1.50h) is shorter than the minimum retention configured in the system (7.00d). Minimum "
        "retention can be changed with iceberg.expire-snapshots.min-retention configuration property or "
        "iceberg.expire_snapshots_min_retention session property"
    )


def test_kill_query_is_in_the_schema_runtime(plan: Plan) -> None:
    for name in ("system.runtime.kill_query", "system.system.kill_query", "system.kill_query"):
        call = plan(f"CALL {name}('a', 'why')", SESSION).work
        assert isinstance(call, CallProcedure)
        assert (call.catalog, call.procedure, dict(call.arguments)) == (
            *("system", "kill_query"),
            {"query_id": "a", "message": "why"},
        )
    with pytest.raises(ProcessionError, match="Procedure not registered: runtime"):
        plan("CALL system.runtime.help()", SESSION)


class Running:
    """As much of a query as is asked for."""

    def __init__(self, *, done: bool) -> None:
        self.session, self.state, self.error = Session(user="other"), SimpleNamespace(done=done), ""

    def fail(self, error: ProcessionError) -> bool:
        self.error = f"{error.code.name}: {error.message}"
        return True

    def call_on_loop(self, callback: Callable[[], None]) -> None:
        callback()


def test_a_query_is_ended_for_who_may() -> None:
    queries = {"running": Running(done=False), "done": Running(done=True)}
    dispatcher: Any = SimpleNamespace(registry=queries)

    def check(session: Session, _owner: Session) -> None:
        if session.user == "stranger":
            raise AccessDeniedError("Cannot kill query")

    state = DispatcherState(dispatcher, lambda: None, lambda _session, _owner: True, check)  # type: ignore[arg-type,return-value]
    procedure = KillQuery(lambda: state)

    def kill(query_id: str, user: str = "t") -> object:
        context: Any = SimpleNamespace(session=Session(user=user, query_id="own"))
        return procedure.call(context, {"query_id": query_id, "message": "why"}).rows

    with pytest.raises(AccessDeniedError):
        kill("running", "stranger")
    assert queries["running"].error == ""
    assert kill("running") == [(True,)]
    assert queries["running"].error == "ADMINISTRATIVELY_KILLED: Query killed. Message: why"
    for query_id, message, code in (
        ("done", "Target query is not running: done", ErrorCode.NOT_SUPPORTED),
        ("none", "Target query not found: none", ErrorCode.NOT_FOUND),
        ("own", "A query cannot kill itself", ErrorCode.NOT_SUPPORTED),
    ):
        with pytest.raises(ProcessionError) as refused:
            kill(query_id)
        assert (refused.value.message, refused.value.code) == (message, code)
