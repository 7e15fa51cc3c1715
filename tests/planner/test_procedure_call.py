"""CALL: resolution, binding, and every refusal with its text, code and place."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from coordinator.vocabulary.planned_statement import CallProcedure, Column, PlannedStatement
from shared.errors import ErrorCode, ProcessionError
from shared.plan import nodes
from shared.plan.expressions import Constant
from shared.plan.fragment import decode_fragment, encode_fragment
from shared.plan.traversal import walk
from shared.spi.procedure import ProcedureKind
from shared.spi.session import Session

Plan = Callable[..., PlannedStatement]
REWRITE = "iceberg.system.rewrite_data_files"
ROLLBACK = "iceberg.system.rollback_to_snapshot"


def bound(plan: Plan, text: str, **session: Any) -> CallProcedure:
    planned = plan(text, Session(user="t", **session)) if session else plan(text)
    assert isinstance(planned.work, CallProcedure)
    return planned.work


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lake.system.rollback_to_snapshot", {}),
        ("system.rollback_to_snapshot", {"catalog": "lake"}),
        ("rollback_to_snapshot", {"catalog": "lake", "schema": "system"}),
        ('"LAKE"."SYSTEM"."ROLLBACK_TO_SNAPSHOT"', {}),
    ],
)
def test_resolution(plan: Plan, name: str, settings: dict[str, Any]) -> None:
    work = bound(plan, f"CALL {name}('db', 't', 1)", **settings)
    assert (work.catalog, work.procedure, work.kind) == (
        "lake",
        "rollback_to_snapshot",
        ProcedureKind.COORDINATOR,
    )


@pytest.mark.parametrize("settings", [{"source": "x"}, {"catalog": "lake"}, {"catalog": "system"}])
@pytest.mark.parametrize("name", ["system.help", "system.clean_data_cache", "system.system.help"])
def test_built_in_procedures_need_no_catalog(plan: Plan, name: str, settings: dict[str, Any]) -> None:
    assert bound(plan, f"CALL {name}()", **settings).catalog == "system"


def test_positional_arguments_and_defaults(plan: Plan) -> None:
    planned = plan(f"CALL {ROLLBACK}('db', 't', -5)")
    assert isinstance(planned.work, CallProcedure)
    assert planned.work.arguments == {
        "schema": "db",
        "table_name": "t",
        "snapshot_id": -5,
        "dry_run": False,
        "older_than": None,
    }
    assert planned.columns == (Column("current_snapshot_id", "bigint"),)
    assert (planned.query_type, planned.update_type, planned.subplan) == ("DATA_DEFINITION", "CALL", None)


@pytest.mark.parametrize(("value", "column"), [("true", "would_become_current"), ("false", "current_snapshot_id")])
def test_a_dry_run_may_have_columns_of_its_own(plan: Plan, value: str, column: str) -> None:
    assert plan(f"CALL {ROLLBACK}('db', 't', 1, {value})").columns == (Column(column, "bigint"),)


@pytest.mark.parametrize(
    ("written", "strategy", "filter_text", "sorted_by"),
    [
        ("'orderkey = 1'", "binpack", "orderkey = 1", None),
        ("'orderkey = 1', ARRAY['orderkey']", "binpack", "orderkey = 1", ("orderkey",)),
        ("'TRUE'", "binpack", "TRUE", None),
        ("'sort', ARRAY['orderkey']", "sort", None, ("orderkey",)),
        ("'sort', ARRAY['orderkey'], map(), 'orderkey = 1'", "sort", "orderkey = 1", ("orderkey",)),
    ],
)
def test_a_third_text_that_is_no_strategy_is_a_filter(
    plan: Plan, written: str, strategy: str, filter_text: str | None, sorted_by: tuple[str, ...] | None
) -> None:
    """As in Presto, whose order is schema, table_name, filter, sorted_by, options."""
    arguments = bound(plan, f"CALL {REWRITE}('db', 'orders', {written})").arguments
    assert (arguments["strategy"], arguments["filter"], arguments["sorted_by"]) == (strategy, filter_text, sorted_by)


def test_a_wrong_filter_in_the_third_place_is_located(plan: Plan) -> None:
    with pytest.raises(ProcessionError) as caught:
        plan(f"CALL {REWRITE}('db', 'orders', 'orderkey = 1 AND nope = 2')")
    assert caught.value.wire_message == "line 1:74: Column 'nope' cannot be resolved"


def test_named_arguments_in_any_order_and_case(plan: Plan) -> None:
    text = (
        f"CALL {ROLLBACK}(SNAPSHOT_ID => CAST('7' AS bigint), \"Table_Name\" => 'T' || 'x', schema => 'db', "
        "dry_run => true, older_than => TIMESTAMP '2026-01-02 03:04:05')"
    )
    arguments = bound(plan, text).arguments
    assert arguments["snapshot_id"] == 7
    assert arguments["table_name"] == "Tx"
    assert arguments["dry_run"] is True
    assert arguments["older_than"] == datetime(2026, 1, 2, 3, 4, 5)


def test_arrays_and_maps(plan: Plan) -> None:
    options = "MAP(ARRAY['rewrite-all'], ARRAY['true'])"
    text = f"CALL {REWRITE}('db', 'orders', 'sort', ARRAY['orderkey DESC', 'day'], {options})"
    arguments = bound(plan, text).arguments
    assert list(arguments["sorted_by"]) == ["orderkey DESC", "day"]
    assert arguments["options"] == {"rewrite-all": "true"}


@pytest.mark.parametrize(
    "table", ["db.orders", "iceberg.db.orders", "orders", '"db"."orders"', "DB.ORDERS", " db . orders "]
)
def test_icebergs_spelling_of_a_table(plan: Plan, table: str) -> None:
    work = bound(plan, f"CALL {REWRITE}(table => '{table}')", catalog="iceberg", schema="db")
    assert (work.arguments["schema"], work.arguments["table_name"]) == ("db", "orders")
    assert work.target is not None
    assert (work.target.schema, work.target.table) == ("db", "orders")


@pytest.mark.parametrize(
    ("written", "name", "expected"),
    [
        ("sort_order => 'id DESC NULLS LAST, \"a,b\" ASC'", "sorted_by", ("id DESC NULLS LAST", '"a,b" ASC')),
        ("sort_order => 'zorder(c1,c2)'", "sorted_by", ("zorder(c1,c2)",)),
        ("sorted_by => array('orderkey', concat('d', 'ay'))", "sorted_by", ("orderkey", "day")),
        ("options => map('min-input-files','2', 'rewrite-all', 'true')", "options",
         {"min-input-files": "2", "rewrite-all": "true"}),
        ("options => map('min-input-files', 2, 'rewrite-all', true)", "options",
         {"min-input-files": "2", "rewrite-all": "true"}),
        ("options => 'min-input-files=2, rewrite-all=true'", "options",
         {"min-input-files": "2", "rewrite-all": "true"}),
        ("options => map()", "options", {}),
    ],
)  # fmt: skip
def test_values_as_spark_and_hudi_write_them(plan: Plan, written: str, name: str, expected: Any) -> None:
    arguments = bound(plan, f"CALL {REWRITE}(table => 'db.orders', {written})").arguments
    found = arguments[name]
    assert (dict(found) if isinstance(expected, dict) else tuple(found)) == expected


def test_icebergs_positions_begin_with_one_dotted_name(plan: Plan) -> None:
    arguments = bound(plan, f"CALL {ROLLBACK}('db.orders', 5)").arguments
    assert (arguments["schema"], arguments["table_name"], arguments["snapshot_id"]) == ("db", "orders", 5)
    work = bound(plan, f"CALL {REWRITE}('iceberg.db.orders', 'sort', 'zorder(a, b)', map('k', 'v'), 'price > 3')")
    assert (work.arguments["schema"], work.arguments["table_name"]) == ("db", "orders")
    assert list(work.arguments["sorted_by"]) == ["zorder(a, b)"]
    assert work.arguments["options"] == {"k": "v"}
    assert work.target is not None
    assert work.target.filter_text == "price > 3"


def test_one_name_is_a_table_of_the_sessions_schema(plan: Plan) -> None:
    work = bound(plan, f"CALL {REWRITE}('orders')", catalog="iceberg", schema="db")
    assert (work.arguments["schema"], work.arguments["table_name"]) == ("db", "orders")
    arguments = bound(plan, f"CALL {ROLLBACK}('orders', 5)", catalog="iceberg", schema="db").arguments
    assert (arguments["schema"], arguments["table_name"], arguments["snapshot_id"]) == ("db", "orders", 5)
    for settings in ({"catalog": "iceberg"}, {"catalog": "iceberg", "schema": "none"}):
        with pytest.raises(ProcessionError, match="Required procedure argument 'table_name' is missing"):
            bound(plan, f"CALL {REWRITE}('orders')", **settings)


@pytest.mark.parametrize("settings", [{"catalog": "lake", "schema": "db"}, {"catalog": "lake"}])
def test_hudis_names_without_a_schema(plan: Plan, settings: dict[str, Any]) -> None:
    assert bound(plan, "CALL rollback_to_snapshot(table => 'db.t', snapshot_id => 1)", **settings).catalog == "lake"
    assert bound(plan, "CALL help()", **settings).catalog == "system"


def test_trinos_optimize_and_its_threshold(plan: Plan) -> None:
    work = bound(plan, "ALTER TABLE iceberg.db.orders EXECUTE optimize(file_size_threshold => '10MB') WHERE price > 3")
    assert work.arguments["options"] == {"min-file-size-bytes": "10485760", "min-input-files": "2"}
    assert work.target is not None
    assert work.target.filter_text == "price > 3"
    with pytest.raises(ProcessionError, match=r"Unable to set procedure property 'file_size_threshold' to \['x'\]"):
        plan("ALTER TABLE iceberg.db.orders EXECUTE optimize(file_size_threshold => 'x')")


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("ALTER TABLE iceberg.db.orders EXECUTE rewrite_data_files(nope => 1)", "nope", "Unknown argument name: nope"),
        ("ALTER TABLE iceberg.db.orders\n EXECUTE optimize(sorted_by => 7)", "7",
         "Cannot cast type integer to array(varchar)"),
        ("ALTER TABLE iceberg.db.orders EXECUTE optimize\nWHERE status = 'it''s' AND n = 1", "n = 1",
         "Column 'n' cannot be resolved"),
        ("ALTER TABLE iceberg.db.orders EXECUTE rewrite_data_files(7)", "7)",
         "ALTER TABLE EXECUTE takes named arguments: name => value"),
        ("ALTER TABLE iceberg.db.orders EXECUTE rollback_to_snapshot(snapshot_id => 7) WHERE a = 1", "a = 1",
         "Unknown argument name: filter"),
    ],
)  # fmt: skip
def test_errors_of_execute_stand_where_they_are_written(plan: Plan, text: str, at: str, message: str) -> None:
    with pytest.raises(ProcessionError) as caught:
        plan(text)
    before = text[: text.index(at)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert caught.value.wire_message == f"line {line}:{column}: {message}"


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("TIMESTAMP '2026-10-25 02:30:00'", datetime(2026, 10, 25, 2, 30)),
        ("'2026-10-25 02:30:00'", datetime(2026, 10, 25, 2, 30)),
        ("DATE '2026-10-25'", datetime(2026, 10, 25)),
        ("current_date - INTERVAL '5' DAY", datetime(2026, 10, 20)),
        ("localtimestamp", datetime(2026, 10, 25, 2, 30)),
        ("NULL", None),
        ("CAST(NULL AS timestamp with time zone)", None),
        # The session's clock shows 02:30 twice: at half past midnight UTC, and an hour later.
        ("current_timestamp", datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
        ("current_timestamp - INTERVAL '60' MINUTE", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        ("current_timestamp - INTERVAL '5' DAY", datetime(2026, 10, 20, 1, 30, tzinfo=UTC)),
        ("TIMESTAMP '2026-10-25 02:30:00 Europe/Berlin'", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        ("TIMESTAMP '2026-10-25 02:30:00 +01:00'", datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
        ("TIMESTAMP '2026-10-24 20:30:00 America/New_York'", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        ("CAST('2026-10-25 02:30:00 +01:00' AS timestamp with time zone)", datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
        ("'2026-10-25T02:30:00+01:00'", datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
        ("'2026-10-24 20:30:00 America/New_York'", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
    ],
)
def test_moments(plan: Plan, written: str, moment: datetime | None) -> None:
    """Those with a zone are that instant, whatever the zone of the session; in every spelling of a call."""
    session = {"time_zone": "Europe/Berlin", "start": datetime(2026, 10, 25, 1, 30, tzinfo=UTC)}
    for text in (
        f"CALL {ROLLBACK}(table => 'db.t', snapshot_id => 1, older_than => {written})",
        f"CALL {ROLLBACK}('db', 't', 1, false, {written})",
        f"CALL {ROLLBACK}('db.t', 1, false, {written})",
        f"ALTER TABLE iceberg.db.t EXECUTE rollback_to_snapshot(snapshot_id => 1, older_than => {written})",
    ):
        found = bound(plan, text, **session).arguments["older_than"]
        assert (found, found and found.tzinfo) == (moment, moment and moment.tzinfo)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("'tomorrow'", "Cannot cast type varchar(8) to timestamp"),
        ("TIME '01:00'", "Cannot cast type time to timestamp"),
        ("7", "Cannot cast type integer to timestamp"),
        ("now() - INTERVAL '900000' DAY", "Value of timestamp with time zone out of range"),
        ("localtimestamp - INTERVAL '900000' DAY", "Value of timestamp out of range"),
        (
            "TIMESTAMP '0001-01-01 00:00 Europe/Berlin'",
            "'0001-01-01 00:00 Europe/Berlin' is not a valid timestamp literal",
        ),
    ],
)
def test_what_is_no_moment(plan: Plan, written: str, message: str) -> None:
    text = f"CALL {ROLLBACK}(table => 'db.t', snapshot_id => 1,\n older_than => {written})"
    with pytest.raises(ProcessionError) as caught:
        plan(text)
    assert caught.value.wire_message == f"line 2:16: {message}"


def test_target_of_a_rewrite(plan: Plan) -> None:
    planned = plan(f"CALL {REWRITE}(table => 'db.orders', where => 'price > 3')")
    assert isinstance(planned.work, CallProcedure)
    target = planned.work.target
    assert target is not None
    assert (target.snapshot_id, target.filter_text) == (290165474739832789, "price > 3")
    assert target.filter is not None
    assert planned.inputs == ("iceberg.db.orders",)
    assert planned.query_type == "CALL_DISTRIBUTED_PROCEDURE"
    assert set(planned.verb_seconds) == {"parse", "analyze", "plan", "optimize", "fragment"}


def test_rows_are_never_filtered_before_they_are_rewritten(plan: Plan) -> None:
    planned = plan(f"CALL {REWRITE}(table => 'db.orders', where => 'price > 3 AND length(comment) > 2')")
    assert planned.logical_plan is not None
    assert planned.subplan is not None
    assert any(isinstance(node, nodes.FilterNode) for node in walk(planned.logical_plan))
    physical = [node for f in planned.subplan.fragments() for node in walk(f.root)]
    assert not any(isinstance(node, nodes.FilterNode) for node in physical)
    scan = next(node for node in physical if isinstance(node, nodes.TableScanNode))
    layout = scan.table.connectorTableLayout
    assert layout is not None
    assert layout["pushdownFilterEnabled"] is False
    assert layout["remainingPredicate"]["valueBlock"] == "CgAAAEJZVEVfQVJSQVkBAAAAAAE="
    assert [d["column"] for d in layout["domainPredicate"]["columnDomains"]] == ["price"]


@pytest.mark.parametrize(("text", "kept"), [("1 = 1", None), ("FALSE", False), ("NULL", False), ("2 > 3", False)])
def test_constant_filters(plan: Plan, text: str, kept: bool | None) -> None:
    target = bound(plan, f"CALL {REWRITE}(table => 'db.orders', where => '{text}')").target
    assert target is not None
    assert (target.filter is None) is (kept is None)
    assert kept is None or isinstance(target.filter, Constant)


def test_fragments_survive_the_wire(plan: Plan) -> None:
    planned = plan(f"CALL {REWRITE}('db', 'orders')")
    assert planned.subplan is not None
    for fragment in planned.subplan.fragments():
        assert decode_fragment(encode_fragment(fragment)) == fragment
    leaf = planned.subplan.children[0].fragment
    assert leaf.partitioning.connectorHandle["partitioning"] == "SOURCE"
    assert (leaf.tableScanSchedulingOrder, leaf.outputTableWriterFragment) == (("0",), True)


S, N, P, U, I, C = (  # noqa: E741
    ErrorCode.SYNTAX_ERROR,
    ErrorCode.NOT_SUPPORTED,
    ErrorCode.PROCEDURE_NOT_FOUND,
    ErrorCode.GENERIC_USER_ERROR,
    ErrorCode.INVALID_PROCEDURE_ARGUMENT,
    ErrorCode.INVALID_CAST_ARGUMENT,
)
REFUSED: list[tuple[str, ErrorCode, str]] = [
    (f"CALL {ROLLBACK}('db', table_name => 't', snapshot_id => 1)", S,
     "line 1:1: Named and positional arguments cannot be mixed"),
    (f"\n  CALL {ROLLBACK}(schema => 'db', 't', 1)", S, "line 2:3: Named and positional arguments cannot be mixed"),
    (f"CALL {ROLLBACK}(schema => 'db', Schema => 'x')", S, "line 1:58: Duplicate procedure argument: schema"),
    (f"CALL {REWRITE}(schema => 'db', table => 'a.b')", S, "line 1:56: Duplicate procedure argument: table"),
    (f"CALL {REWRITE}(table => 'a.b', table_name => 'b')", S, "line 1:56: Duplicate procedure argument: table_name"),
    (f"CALL {REWRITE}(table => 'a.b', table => 'a.b')", S, "line 1:56: Duplicate procedure argument: table"),
    (f"CALL {REWRITE}(filter => 'a', where => 'b')", S, "line 1:55: Duplicate procedure argument: where"),
    (f"CALL {ROLLBACK}(schema => 'db',\n nope => 1)", S, "line 2:2: Unknown argument name: nope"),
    ("CALL system.help(filter => 'x')", S, "line 1:18: Unknown argument name: filter"),
    ("CALL system.help(table => 'x')", S, "line 1:18: Unknown argument name: table"),
    (f"CALL {ROLLBACK}()", S, "line 1:1: Required procedure argument 'schema' is missing"),
    (f"CALL {ROLLBACK}('db', 't')", S, "line 1:1: Required procedure argument 'snapshot_id' is missing"),
    (f"CALL {ROLLBACK}(schema => 'db')", S, "line 1:1: Required procedure argument 'table_name' is missing"),
    (f"CALL {ROLLBACK}('db', 't', 1, true, null, 6)", S, "line 1:1: Too many arguments for procedure"),
    (f"CALL {ROLLBACK}('db', 't', NULL)", I, "line 1:53: Procedure argument cannot be null: snapshot_id"),
    (f"CALL {ROLLBACK}('db', 't', 1, NULL)", I, "line 1:56: Procedure argument cannot be null: dry_run"),
    (f"CALL {ROLLBACK}(1, 't', 1)", S, "line 1:42: Cannot cast type integer to varchar"),
    (f"CALL {ROLLBACK}('db', 't', snapshot_id)", S, "line 1:53: Column 'snapshot_id' cannot be resolved"),
    (f"CALL {ROLLBACK}('db', 't', '5')", S, "line 1:53: Cannot cast type varchar(1) to bigint"),
    (f"CALL {ROLLBACK}('db', 't', CAST('x' AS bigint))", C, "line 1:53: Cannot cast 'x' to BIGINT"),
    (f"CALL {ROLLBACK}('db', 't', ?)", S, "line 1:1: Incorrect number of parameters: expected 1 but found 0"),
    ("CALL nope.system.f()", S, "line 1:1: Catalog nope does not exist"),
    ("CALL iceberg.custom.rewrite_data_files('a', 'b')", P,
     "Procedure not registered: custom.rewrite_data_files. Did you mean rewrite_data_files?"),
    ("CALL iceberg.system.rewrite_data_file('a', 'b')", P,
     "Procedure not registered: system.rewrite_data_file. Did you mean rewrite_data_files?"),
    ("CALL system.hepl()", P, "Procedure not registered: system.hepl. Did you mean help?"),
    ("CALL f()", P, "Procedure not registered: db.f"),
    ("CALL a.b.c.d()", S, "line 1:1: Too many dots in table name: a.b.c.d"),
    (f"CALL {REWRITE}('nope', 'orders')", S, "line 1:48: Schema nope does not exist"),
    (f"CALL {REWRITE}('db', 'nope')", S, "line 1:46: Table iceberg.db.nope does not exist"),
    (f"CALL {REWRITE}('db', '')", I, "line 1:46: Table name is empty"),
    (f"CALL {REWRITE}(table => '')", I, "line 1:40: Table name is empty"),
    (f"CALL {REWRITE}(table => 'a.b.c.d')", S, "line 1:40: Invalid table name: a.b.c.d"),
    (f"CALL {REWRITE}(table => 'a b')", S, "line 1:40: Invalid table name: a b"),
    (f"CALL {REWRITE}(table => 'a.''b')", S, "line 1:40: Invalid table name: a.'b"),
    (f"CALL {REWRITE}(table => 'lake.db.orders')", S,
     "line 1:40: Table lake.db.orders is not in catalog iceberg, where the procedure was called"),
    ("CALL lake.system.rewrite_data_files(table => 'orders')", S,
     "line 1:37: Schema must be specified when session schema is not set"),
    (f"CALL {REWRITE}('db', 'orders', 'nope')", N,
     "Invalid rewrite strategy: nope. Valid values are 'sort' or 'binpack'."),
    (f"CALL {REWRITE}(table => 'db.orders', filter => 'orderkey')", S,
     "line 1:73: WHERE clause must evaluate to a boolean: actual type bigint"),
    (f"CALL {REWRITE}(table => 'db.orders', filter => '1')", S,
     "line 1:73: WHERE clause must evaluate to a boolean: actual type integer"),
    (f"CALL {REWRITE}(table => 'db.orders', filter => 'n = 1')", S, "line 1:73: Column 'n' cannot be resolved"),
    (f"CALL {REWRITE}(table => 'db.orders', filter => 'status = ''x'' AND n = 1')", S,
     "line 1:92: Column 'n' cannot be resolved"),
    (f"CALL {REWRITE}(table => 'db.orders', filter => '\n n = 1')", S, "line 2:2: Column 'n' cannot be resolved"),
    (f"CALL {REWRITE}(table => 'db.orders', filter => 'n ' || '= 1')", S, "line 1:62: Column 'n' cannot be resolved"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "message"), REFUSED)
def test_refusals(plan: Plan, text: str, code: ErrorCode, message: str) -> None:
    with pytest.raises(ProcessionError) as caught:
        plan(text)
    assert (caught.value.wire_message, caught.value.code) == (message, code)


def test_without_a_session_catalog(plan: Plan) -> None:
    with pytest.raises(ProcessionError) as caught:
        plan("CALL system.rewrite_data_files('a', 'b')", Session(user="t"))
    assert caught.value.wire_message == "line 1:1: Catalog must be specified when session catalog is not set"
    with pytest.raises(ProcessionError) as caught:
        plan("CALL f()", Session(user="t"))
    assert caught.value.wire_message == "line 1:1: Schema must be specified when session schema is not set"


def test_not_within_a_transaction(plan: Plan) -> None:
    with pytest.raises(ProcessionError) as caught:
        plan("CALL system.help()", Session(user="t", transaction_id="1"))
    assert caught.value.message == "Procedures cannot be called within a transaction (use autocommit mode)"
    assert caught.value.code is N
