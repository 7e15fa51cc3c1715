"""SET SESSION, USE, PREPARE, transactions, SHOW and DESCRIBE through the whole line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coordinator.planning.session_statements import PROPERTIES
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows, SessionChange
from coordinator.vocabulary.session_properties import check_value
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

Plan = Callable[..., PlannedStatement]
PREPARED = {
    "call": "CALL iceberg.system.rollback_to_snapshot(?, 't', snapshot_id => 1)",
    "ok": "CALL iceberg.system.rollback_to_snapshot(?, 't', ?)",
    "query": "SELECT ? + 1 AS x, 'a'",
}


def session(**fields: Any) -> Session:
    return Session(user="t", catalog="iceberg", schema="db", prepared_statements=PREPARED, **fields)


def rows(planned: PlannedStatement) -> list[tuple[Any, ...]]:
    assert isinstance(planned.work, ReturnRows)
    return list(planned.work.rows)


@pytest.mark.parametrize(
    ("text", "change", "update_type"),
    [
        (
            "SET SESSION query_max_stage_count = 2 + 3",
            SessionChange(set_session={"query_max_stage_count": "5"}),
            "SET SESSION",
        ),
        (
            "SET SESSION optimizer_rule_prune_unreferenced_outputs = false",
            SessionChange(set_session={"optimizer_rule_prune_unreferenced_outputs": "false"}),
            "SET SESSION",
        ),
        (
            "RESET SESSION query_max_stage_count",
            SessionChange(clear_session=("query_max_stage_count",)),
            "RESET SESSION",
        ),
        ("SET TIME ZONE 'Asia/Tokyo'", SessionChange(set_session={"time_zone_id": "Asia/Tokyo"}), "SET SESSION"),
        ("SET TIME ZONE '+' || '5'", SessionChange(set_session={"time_zone_id": "+05:00"}), "SET SESSION"),
        ("SET TIME ZONE INTERVAL '10' HOUR", SessionChange(set_session={"time_zone_id": "+10:00"}), "SET SESSION"),
        (
            "SET TIME ZONE INTERVAL -'08:30' HOUR TO MINUTE",
            SessionChange(set_session={"time_zone_id": "-08:30"}),
            "SET SESSION",
        ),
        ("SET TIME ZONE INTERVAL '0' MINUTE", SessionChange(set_session={"time_zone_id": "UTC"}), "SET SESSION"),
        ("SET TIME ZONE LOCAL", SessionChange(clear_session=("time_zone_id",)), "RESET SESSION"),
        ("USE lake.empty", SessionChange(set_catalog="lake", set_schema="empty"), "USE"),
        ("USE empty", SessionChange(set_catalog="iceberg", set_schema="empty"), "USE"),
        ("PREPARE P FROM SELECT ?", SessionChange(added_prepare={"p": "SELECT ?"}), "PREPARE"),
        ("DEALLOCATE PREPARE ok", SessionChange(deallocated_prepare=("ok",)), "DEALLOCATE"),
    ],
)
def test_session_statements(plan: Plan, text: str, change: SessionChange, update_type: str) -> None:
    planned = plan(text, session())
    assert (planned.session_change, planned.update_type) == (change, update_type)
    assert rows(planned) == [(True,)]
    assert [(c.name, c.type) for c in planned.columns] == [("result", "boolean")]


def test_transactions(plan: Plan) -> None:
    started = plan("START TRANSACTION", session(client_transaction_support=True))
    assert started.session_change.started_transaction_id
    committed = plan("COMMIT", session(transaction_id="x"))
    assert (committed.session_change.clear_transaction_id, committed.update_type) == (True, "COMMIT")


@pytest.mark.parametrize(
    ("text", "fields", "code", "message"),
    [
        ("SET SESSION nope = 1", {}, "SYNTAX_ERROR", "line 1:1: Session property nope does not exist"),
        ("SET SESSION lake.nope = 1", {}, "SYNTAX_ERROR", "line 1:1: Session property lake.nope does not exist"),
        ("SET SESSION nope.x = 1", {}, "SYNTAX_ERROR", "line 1:1: Catalog nope does not exist"),
        ("RESET SESSION nope", {}, "SYNTAX_ERROR", "line 1:1: Session property nope does not exist"),
        (
            "SET SESSION join_distribution_type = 'NOPE'",
            {},
            "INVALID_SESSION_PROPERTY",
            "join_distribution_type must be one of BROADCAST, PARTITIONED, AUTOMATIC, got: NOPE",
        ),
        (
            "SET SESSION query_max_run_time = 'soon'",
            {},
            "INVALID_SESSION_PROPERTY",
            "query_max_run_time must be a valid duration, got: soon",
        ),
        (
            "SHOW CATALOGS",
            {"properties": {"nope": "1"}},
            "INVALID_SESSION_PROPERTY",
            "Unknown session property nope",
        ),
        (
            "SHOW CATALOGS",
            {"properties": {"query_max_stage_count": "x"}},
            "INVALID_SESSION_PROPERTY",
            "query_max_stage_count must be a valid integer, got: x",
        ),
        ("SET TIME ZONE 'Mars/Base'", {}, "NOT_SUPPORTED", "Time zone not supported: Mars/Base"),
        (
            "SET TIME ZONE INTERVAL '90' SECOND",
            {},
            "INVALID_FUNCTION_ARGUMENT",
            "Invalid time zone offset interval: interval contains seconds",
        ),
        ("SET TIME ZONE INTERVAL '15' HOUR", {}, "INVALID_FUNCTION_ARGUMENT", "Invalid offset minutes 900"),
        ("SET SESSION time_zone_id = '../x'", {}, "NOT_SUPPORTED", "Time zone not supported: ../x"),
        ("USE nope.x", {}, "SYNTAX_ERROR", "Catalog does not exist: nope"),
        ("USE nope", {}, "SYNTAX_ERROR", "Schema does not exist: iceberg.nope"),
        ("EXECUTE nope", {}, "NOT_FOUND", "Prepared statement not found: nope"),
        ("DEALLOCATE PREPARE nope", {}, "NOT_FOUND", "Prepared statement not found: nope"),
        ("START TRANSACTION", {}, "INCOMPATIBLE_CLIENT", "Client does not support transactions"),
        ("COMMIT", {}, "NOT_IN_TRANSACTION", "No transaction in progress"),
        ("ROLLBACK", {}, "NOT_IN_TRANSACTION", "No transaction in progress"),
        ("SHOW TABLES FROM nope", {}, "SYNTAX_ERROR", "line 1:1: Schema 'nope' does not exist"),
        ("SHOW SCHEMAS FROM nope", {}, "SYNTAX_ERROR", "line 1:1: Catalog 'nope' does not exist"),
        ("DESCRIBE nope", {}, "SYNTAX_ERROR", "line 1:1: Table 'iceberg.db.nope' does not exist"),
        ("DESCRIBE nope.t", {}, "SYNTAX_ERROR", "line 1:1: Schema 'nope' does not exist"),
        ("DROP TABLE t", {}, "SYNTAX_ERROR", "line 1:1: Table 'iceberg.db.t' does not exist"),
        ("GRANT SELECT ON t TO u", {}, "NOT_SUPPORTED", "This connector does not support grants"),
        ("CREATE ROLE r", {}, "NOT_SUPPORTED", "This connector does not support creating roles"),
        ("DROP VIEW v", {}, "SYNTAX_ERROR", "line 1:1: View 'iceberg.db.v' does not exist"),
        ("CREATE VIEW v AS SELECT 1", {}, "NOT_SUPPORTED", "This connector does not support creating views"),
        ("CREATE TYPE t AS bigint", {}, "NOT_SUPPORTED", "line 1:1: CREATE TYPE is not supported"),
        (
            "EXECUTE ok USING 'db'",
            {},
            "SYNTAX_ERROR",
            "line 1:1: Incorrect number of parameters: expected 2 but found 1",
        ),
        ("EXECUTE call USING 'db'", {}, "SYNTAX_ERROR", "line 1:1: Named and positional arguments cannot be mixed"),
        ("EXECUTE ok USING 'db', 'long text'", {}, "SYNTAX_ERROR", "line 1:50: Cannot cast type varchar(9) to bigint"),
        ("SELECT ?", {}, "SYNTAX_ERROR", "line 1:1: Incorrect number of parameters: expected 1 but found 0"),
    ],
)
def test_refusals(plan: Plan, text: str, fields: dict[str, Any], code: str, message: str) -> None:
    with pytest.raises(ProcessionError) as caught:
        plan(text, session(**fields))
    assert (caught.value.wire_message, caught.value.code) == (message, ErrorCode[code])


@pytest.mark.parametrize("text", ["SHOW TABLES", "SHOW SCHEMAS", "USE x"])
def test_no_session_catalog(plan: Plan, text: str) -> None:
    with pytest.raises(ProcessionError) as caught:
        plan(text, Session(user="t"))
    assert caught.value.wire_message == "line 1:1: Catalog must be specified when session catalog is not set"


def test_execute(plan: Plan) -> None:
    planned = plan("EXECUTE ok USING 'db', -7", session())
    assert planned.work.arguments["snapshot_id"] == -7  # type: ignore[union-attr]
    assert planned.prepared_sql == PREPARED["ok"]
    assert rows(plan("EXECUTE query USING 41", session())) == [(42, "a")]
    assert rows(plan("EXECUTE IMMEDIATE 'SELECT ?, ''?''' USING 'x'", session())) == [("x", "?")]
    assert "snapshot_id => 9" in rows(plan("EXPLAIN EXECUTE ok USING 'a', 9", session()))[0][0]


def test_describe_prepared(plan: Plan) -> None:
    assert rows(plan("DESCRIBE INPUT ok", session())) == [(0, "varchar"), (1, "bigint")]
    assert rows(plan("DESCRIBE INPUT query", session())) == [(0, "integer")]
    assert rows(plan("DESCRIBE OUTPUT ok", session())) == [
        ("current_snapshot_id", "", "", "", "bigint", 8, False),
    ]
    assert [row[0] for row in rows(plan("DESCRIBE OUTPUT query", session()))] == ["x", "_col1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SHOW CATALOGS", [("iceberg",), ("lake",)]),
        ("SHOW CATALOGS LIKE '%k_'", [("lake",)]),
        ("SHOW CATALOGS LIKE 'x_%' ESCAPE 'x'", []),
        ("SHOW SCHEMAS FROM lake LIKE 'd%'", [("db",)]),
        ("SHOW TABLES", [("orders",)]),
        ("SHOW TABLES FROM lake.empty", []),
        ("SHOW SESSION LIKE 'query_max_stage_count'",
         [("query_max_stage_count", "5", "100", "integer", "Maximum number of stages a query can have")]),
        ("DESCRIBE lake.db.orders", [
            ("orderkey", "bigint", "", "", 19, None, None),
            ("status", "varchar", "partition key", "", None, None, None),
            ("price", "decimal(12,2)", "", "", 12, 2, None),
            ("day", "date", "", "", None, None, None),
            ("comment", "varchar(79)", "", "", None, None, 79),
        ]),
        ("SELECT 1, 'a' || 'b'", [(1, "ab")]),
        ("SELECT x * 2 FROM (VALUES 1, 2, 3) t(x) WHERE x > 1 LIMIT 5", [(4,), (6,)]),
        ("EXPLAIN (TYPE VALIDATE) SELECT day FROM orders", [(True,)]),
    ],
)  # fmt: skip
def test_rows(plan: Plan, text: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(plan(text, session(properties={"query_max_stage_count": "5"}))) == expected


def test_show_functions(plan: Plan) -> None:
    found = rows(plan("SHOW FUNCTIONS LIKE 'regexp_like'", session()))
    assert found
    assert {row[0] for row in found} == {"regexp_like"}
    assert {row[1] for row in found} == {"boolean"}


def test_every_default_is_a_value_of_its_property() -> None:
    for declared in PROPERTIES.values():
        if declared.default:
            check_value(declared, declared.default)


def test_explain_analyze_is_refused_before_anything_runs(plan: Plan) -> None:
    with pytest.raises(ProcessionError) as caught:
        plan("EXPLAIN ANALYZE CALL system.help()")
    assert caught.value.code is ErrorCode.NOT_SUPPORTED


def test_prepared_statements_fit_a_header(plan: Plan) -> None:
    """Python's HTTP client fails at a longer header, and forgets why."""
    assert plan(f"PREPARE p FROM SELECT '{'%' * 19_000}'", session()).session_change.added_prepare.keys() == {"p"}
    with pytest.raises(
        ProcessionError, match="too long for the header in which clients keep it: it takes 600"
    ) as caught:
        plan(f"PREPARE p FROM SELECT '{'%' * 20_000}'", session())
    assert caught.value.code is ErrorCode.QUERY_TEXT_TOO_LARGE


def test_values_of_properties_fit_a_header(plan: Plan) -> None:
    for name, value, message in (
        ("spark_settings", "x" * 60_001, "clients keep it: it takes 60001 bytes"),
        ("query_max_run_time", "1" * 1_000 + "s", "query_max_run_time"),
    ):
        with pytest.raises(ProcessionError, match=message) as caught:
            plan(f"SET SESSION {name} = '{value}'", session())
        assert caught.value.code is ErrorCode.INVALID_SESSION_PROPERTY
