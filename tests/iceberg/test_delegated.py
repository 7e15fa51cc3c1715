"""Which calls go to Iceberg's own procedure, and their texts: names, strings, sort columns, options and filters."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.expressions import And, EqualTo, GreaterThan, In, IsNull, LessThan, NotEqualTo, NotIn, NotNull, Or
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

from coordinator.connectors.iceberg.rewrite.asked.sorted_by import SortColumn, parse_sorted_by, sort_order_text
from coordinator.connectors.iceberg.rewrite.delegated import rewritten_rows
from coordinator.connectors.iceberg.spark_sql import quoted_name, quoted_path, quoted_string, where_clause
from shared.errors import ErrorCode, ProcessionError

BATCH = pa.table({"id": pa.array(range(10), pa.int64()), "name": ["x"] * 10})
FIELDS = [
    ("id", LongType()), ("it's `x`", StringType()), ("flag", BooleanType()), ("price", DecimalType(9, 2)),
    ("score", DoubleType()), ("day", DateType()), ("at", TimestampType()), ("zoned", TimestamptzType()),
    ("raw", BinaryType()), ("${env:HOME}", LongType()),
]  # fmt: skip
SCHEMA = Schema(*(NestedField(i, name, kind, required=False) for i, (name, kind) in enumerate(FIELDS, start=1)))


def _only_iceberg_writes(table: Table) -> None:
    """From now on, new files of the table are in a format that our kernels do not write."""
    with table.transaction() as transaction:
        transaction.set_properties({"write.format.default": "orc"})


def statement(lake: Any, **given: Any) -> str:
    """The one statement that a call sends to Spark, which is not there."""
    with pytest.raises(ProcessionError) as failure:
        lake.rewrite("t", given.pop("options", None), given.pop("predicate", None), **given)
    assert failure.value.code is ErrorCode.NO_NODES_AVAILABLE
    (sql,) = lake.workers.statements
    assert lake.workers.tasks == 0
    assert lake.connector.journal.open_entries("lab") == []
    return str(sql)


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({"options": {"partial-progress.enabled": "TRUE", "partial-progress.max-commits": "3", "output-spec-id": "0"}},
         "options => map('output-spec-id', '0', 'partial-progress.enabled', 'TRUE', "
         "'partial-progress.max-commits', '3')"),
        ({"options": {"output-spec-id": "0", "min-file-size-bytes": "0", "max-file-size-bytes": "900"}},
         "options => map('max-file-size-bytes', '900', 'min-file-size-bytes', '0', 'output-spec-id', '0', "
         "'target-file-size-bytes', '500')"),
        ({"strategy": "sort", "sorted_by": ["ID desc", '"name" NULLS LAST'], "options": {"output-spec-id": "0"}},
         "strategy => 'sort', sort_order => '\\u0060id\\u0060 DESC NULLS LAST, \\u0060name\\u0060 ASC NULLS LAST', "
         "options => map('output-spec-id', '0')"),
        ({"strategy": "SORT", "sorted_by": ["zorder(id, Name)"],
          "options": {"max-output-size": "8", "output-spec-id": "0"}},
         "strategy => 'sort', sort_order => 'zorder(\\u0060id\\u0060, \\u0060name\\u0060)', "
         "options => map('max-output-size', '8', 'output-spec-id', '0')"),
    ],
)  # fmt: skip
def test_the_statement_of_a_delegated_call(lake: Any, given: dict[str, Any], arguments: str) -> None:
    _only_iceberg_writes(lake.create("t", [BATCH] * 6))
    start = "CALL `lab`.system.rewrite_data_files(table => '\\u0060lab\\u0060.\\u0060db\\u0060.\\u0060t\\u0060', "
    assert statement(lake, **given) == f"{start}{arguments})"


@pytest.mark.parametrize(
    "properties",
    [{"write.parquet.bloom-filter-enabled.column.tags.element": "true"}, {"write.format.default": "ORC"}],
)
def test_what_the_table_asks_of_its_files_matters_when_there_is_work(lake: Any, properties: dict[str, str]) -> None:
    table = lake.create("t", [BATCH.append_column("tags", pa.array([["x"]] * 10))] * 4)
    with table.transaction() as transaction:
        transaction.set_properties(properties)
    assert lake.rewrite("t")["rewritten_data_files_count"] == 0
    assert lake.workers.statements == []
    assert "rewrite-all" in statement(lake, options={"rewrite-all": "true"})


def test_an_empty_table_needs_no_spark(lake: Any) -> None:
    lake.other.create_table("db.t", schema=BATCH.schema)
    assert set(lake.rewrite("t", strategy="sort", sorted_by=["id"]).values()) == {0}
    assert lake.workers.statements == []


WRONG_SORTS = [
    (["zorder(id)", "name"], "Cannot mix zorder function with regular column names in sorted_by."),
    (["zorder(id)", "ZORDER(name)"], "Multiple zorder(...) expressions are not supported in sorted_by"),
    (["zorder(id,"], "Malformed zorder(...) expression: zorder(id,"),
    (["hilbert(id)", "name"], "Cannot mix hilbert function with regular column names in sorted_by."),
    (["zorder()"], "Malformed zorder(...) expression: zorder()"),
    (["zorder(id) desc"], "Malformed zorder(...) expression: zorder(id) desc"),
    (["id down"], "Unable to parse sort field: [id down]"),
    (["id; DROP TABLE t"], "Unable to parse sort field: [id; DROP TABLE t]"),
    ([""], "Unable to parse sort field: []"),
]
NAMED = {"schema": "db", "table_name": "t"}


@pytest.mark.parametrize(("sorted_by", "message"), WRONG_SORTS)
def test_wrong_sort_columns_are_refused_before_the_statement_queues(
    lake: Any, sorted_by: list[str], message: str
) -> None:
    with pytest.raises(ProcessionError) as failure:
        lake.procedure("rewrite_data_files").validate({**NAMED, "strategy": "sort", "sorted_by": sorted_by})
    assert failure.value.message.startswith(message)
    assert failure.value.code is ErrorCode.INVALID_PROCEDURE_ARGUMENT


@pytest.mark.parametrize(
    ("sorted_by", "code", "message"),
    [
        (["nope"], ErrorCode.COLUMN_NOT_FOUND, "Column not found: nope"),
        (["zorder(id, a, b)"], ErrorCode.COLUMN_NOT_FOUND,
         "Z-order column(s) not found in table: [a, b]. Available columns: [id, name]"),
        (None, ErrorCode.INVALID_PROCEDURE_ARGUMENT,
         "Cannot sort data without a valid sort order: table db.t is unsorted and sorted_by is not given"),
    ],
)  # fmt: skip
def test_sort_columns_are_looked_up(lake: Any, sorted_by: Any, code: ErrorCode, message: str) -> None:
    lake.create("t", [BATCH])
    with pytest.raises(ProcessionError) as failure:
        lake.rewrite("t", strategy="sort", sorted_by=sorted_by)
    assert (failure.value.code, failure.value.message) == (code, message)


def test_sorting_keeps_the_order_of_the_table(lake: Any) -> None:
    table = lake.create("t", [BATCH])
    with table.update_sort_order() as update:
        from pyiceberg.transforms import IdentityTransform

        update.desc("id", IdentityTransform())
    with pytest.raises(ProcessionError, match="incompatible with the target table's internal sort order"):
        lake.rewrite("t", strategy="sort", sorted_by=["id"])
    _only_iceberg_writes(lake.table("t"))
    every = {"rewrite-all": "true"}
    assert "DESC NULLS LAST, " in statement(lake, strategy="sort", sorted_by=["id DESC", "name"], options=every)
    lake.workers.statements.clear()
    assert "sort_order" not in statement(lake, strategy="sort", options=every)


def test_hilbert_is_ours_alone(lake: Any) -> None:
    _only_iceberg_writes(lake.create("t", [BATCH] * 5))
    with pytest.raises(ProcessionError, match="hilbert is not known to Iceberg's own procedure") as failure:
        lake.rewrite("t", {"rewrite-all": "true"}, strategy="sort", sorted_by=["hilbert(id, name)"])
    assert failure.value.code is ErrorCode.NOT_SUPPORTED
    assert lake.workers.statements == []


def test_sort_options_belong_to_sorting(lake: Any) -> None:
    procedure = lake.procedure("rewrite_data_files")
    for name in ("compression-factor", "var-length-contribution"):
        with pytest.raises(ProcessionError, match="not supported by the action or the rewriter BIN-PACK"):
            procedure.validate({**NAMED, "options": {name: "1"}})
    with pytest.raises(ProcessionError, match="the rewriter SORT"):
        procedure.validate({**NAMED, "strategy": "sort", "options": {"max-output-size": "1"}})
    with pytest.raises(ProcessionError, match="compression-factor must be > 0, got: -1"):
        procedure.validate({**NAMED, "strategy": "sort", "options": {"compression-factor": "-1"}})
    procedure.validate({**NAMED, "strategy": "sort", "sorted_by": ["zorder(id)"], "options": {"max-output-size": "1"}})


def test_quoted_names_and_directions() -> None:
    parsed = parse_sorted_by(['"a ""b"" c" desc nulls first', "d"])
    assert parsed.columns == (SortColumn('a "b" c', "DESC", "FIRST"), SortColumn("d"))
    assert sort_order_text(parsed) == '`a "b" c` DESC NULLS FIRST, `d` ASC NULLS FIRST'


@settings(max_examples=200)
@given(st.text(st.characters(codec="utf-8"), max_size=20))
def test_strings_and_names_cannot_end_early(text: str) -> None:
    inside = quoted_string(text)[1:-1]
    assert not set(inside) & set("'\"`$")
    assert inside.encode().decode("utf-8").count("\\") == inside.count("\\u")
    pieces = inside.split("\\u")
    assert pieces[0] + "".join(chr(int(p[:4], 16)) + p[4:] for p in pieces[1:]) == text
    if text and "${" not in text:
        assert quoted_name(text)[1:-1].replace("``", "") == text.replace("`", "")
        assert quoted_path(["a", text]) == f"`a`.{quoted_name(text)}"


PRINTED: list[tuple[Any, str | None]] = [
    (EqualTo("id", 5), "`id` = 5L"),
    (EqualTo("id", -(1 << 63)), "`id` = -9223372036854775808L"),
    (NotEqualTo("it's `x`", "a'); DROP TABLE t; --\\"),
     "`it's ``x``` <> 'a\\u0027); DROP TABLE t; --\\u005c'"),
    (EqualTo("it's `x`", "${env:HOME} é"), "`it's ``x``` = '\\u0024{env:HOME} é'"),
    (And(GreaterThan("id", 1), Or(EqualTo("flag", True), IsNull("day"))),
     "(`id` > 1L AND (`flag` = TRUE OR `day` IS NULL))"),
    (In("id", {3, 1}), "`id` IN (1L, 3L)"),
    (NotIn("it's `x`", {"b", "a"}), "`it's ``x``` NOT IN ('a', 'b')"),
    (EqualTo("price", Decimal("1.50")), "`price` = CAST('1.50' AS DECIMAL(9,2))"),
    (LessThan("score", 1e300), "`score` < CAST('1e+300' AS DOUBLE)"),
    (EqualTo("day", "2026-02-01"), "`day` = DATE '2026-02-01'"),
    (EqualTo("at", "2026-02-01T01:02:03.000004"), "`at` = TIMESTAMP_NTZ '2026-02-01 01:02:03.000004'"),
    (EqualTo("zoned", "2026-02-01T01:00:00+02:00"), "`zoned` = TIMESTAMP_LTZ '2026-01-31 23:00:00.000000+00:00'"),
    (NotNull("raw"), "`raw` IS NOT NULL"),
    # What Spark cannot compare selects every file, beside what it can.
    (EqualTo("raw", b"x"), None),
    (And(EqualTo("raw", b"x"), EqualTo("id", 1)), "`id` = 1L"),
    (Or(EqualTo("raw", b"x"), EqualTo("id", 1)), None),
    (In("id", set(range(2000))), None),
]  # fmt: skip


@pytest.mark.parametrize(("predicate", "text"), PRINTED)
def test_filters_as_spark_sql(predicate: Any, text: str | None) -> None:
    assert where_clause(predicate, SCHEMA) == text


def test_a_name_that_spark_would_replace_is_refused() -> None:
    with pytest.raises(ProcessionError, match="Spark cannot be given the name") as failure:
        where_clause(EqualTo("${env:HOME}", 1), SCHEMA)
    assert failure.value.code is ErrorCode.NOT_SUPPORTED


def snapshot(number: int, operation: str, **summary: str) -> Any:
    from pyiceberg.table.snapshots import Operation

    named = {name.replace("_", "-"): value for name, value in summary.items()}
    return SimpleNamespace(
        snapshot_id=number, summary=SimpleNamespace(operation=Operation(operation), additional_properties=named)
    )


def test_rows_are_those_of_the_calls_own_commits() -> None:
    old = snapshot(1, "replace", deleted_data_files="2", added_data_files="1", removed_files_size="10")
    first = snapshot(2, "replace", deleted_data_files="2", added_data_files="1", removed_files_size="10",
                     added_records="7")  # fmt: skip
    append = snapshot(3, "append", added_data_files="2", added_records="100")
    other = snapshot(4, "replace", deleted_data_files="9", added_data_files="1", removed_files_size="99",
                     added_records="50")  # fmt: skip
    second = snapshot(5, "replace", deleted_data_files="3", removed_files_size="20")
    dangling = snapshot(6, "replace", removed_delete_files="1")
    snapshots = [old, first, append, other, second, dangling]
    known = frozenset({1})
    assert rewritten_rows(snapshots, known, (2, 1, 10)) == 7
    assert rewritten_rows(snapshots, known, (5, 1, 30)) == 7, "two commits of one call, the second all deleted"
    assert rewritten_rows(snapshots, known, (9, 1, 99)) == 50
    vector = snapshot(7, "replace", deleted_data_files="4", added_data_files="4", removed_files_size="44",
                      removed_delete_files="1", added_records="3")  # fmt: skip
    assert rewritten_rows([*snapshots, vector], known, (4, 4, 40)) == 3, "bytes of a deletion vector are not counted"
    assert rewritten_rows([old, append], known, (2, 1, 10)) is None


CONFLICT = (
    "Spark failed: (java.lang.RuntimeException) Cannot commit rewrite because of a ValidationException or "
    "CommitFailedException. This usually means that this rewrite has conflicted with another concurrent Iceberg "
    "operation."
)


@pytest.mark.parametrize(
    ("message", "code", "retriable"),
    [
        (CONFLICT, ErrorCode.TRANSACTION_CONFLICT, True),
        ("Spark failed: (org.apache.iceberg.exceptions.CommitFailedException) Table metadata changed",
         ErrorCode.TRANSACTION_CONFLICT, True),
        ("Spark failed: (org.apache.iceberg.exceptions.CommitStateUnknownException) Timed out",
         ErrorCode.PROCEDURE_CALL_FAILED, False),
        ("Spark failed: (java.lang.UnsupportedOperationException) Cannot read variant", ErrorCode.NOT_SUPPORTED, False),
        ("Spark failed: (java.lang.IllegalArgumentException) No such", ErrorCode.INVALID_PROCEDURE_ARGUMENT, False),
        ("Spark failed: the disk burns", ErrorCode.REMOTE_TASK_ERROR, True),
    ],
)  # fmt: skip
def test_failures_of_iceberg_have_our_codes(
    lake: Any, monkeypatch: Any, message: str, code: ErrorCode, retriable: bool
) -> None:
    _only_iceberg_writes(lake.create("t", [BATCH]))

    def fail(_sql: str, *, description: str) -> Any:
        raise ProcessionError(ErrorCode.REMOTE_TASK_ERROR, message)

    monkeypatch.setattr(lake.workers, "run_sql", fail)
    before = lake.files("t")
    with pytest.raises(ProcessionError) as failure:
        lake.rewrite("t", {"rewrite-all": "true"})
    assert (failure.value.code, failure.value.retriable) == (code, retriable)
    assert message.rpartition(") ")[2].removeprefix("Spark failed: ") in failure.value.message
    assert "java.lang" not in failure.value.message
    assert lake.files("t") == before
