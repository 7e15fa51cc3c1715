"""A planned write as Spark's statement around its target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from sqlglot import exp

from coordinator.expressions.builders import typed
from coordinator.expressions.types import holds_time
from coordinator.planner.incremental import Part
from coordinator.planner.row_changes import RowChange
from coordinator.planner.writes import PlannedWrite
from coordinator.unparser import LIMITS, unparse_for_spark, work_of
from coordinator.unparser.beside_spark import RowsOfWrite, beside_spark
from coordinator.unparser.constant_query import constant_rows
from coordinator.unparser.engine_choice import EngineLimits
from coordinator.unparser.own_changes import changes_times, little_change, own_change
from coordinator.unparser.row_changes import changed_rows
from coordinator.unparser.scans import RelationOf
from coordinator.unparser.stored_json import holds_json, stored_json
from coordinator.unparser.trees import column, name
from coordinator.vocabulary.planned_statement import Column, WriteRows
from shared.errors import ProcessionError
from shared.plan.expressions import Variable
from shared.plan.nodes import FilterNode, OutputNode, PlanNode, ProjectNode, TableScanNode, TableWriterNode, ValuesNode
from shared.plan.traversal import walk
from shared.spi.materialized_views import Refresh
from shared.spi.relation import AppendedRows, CatalogTable, Relation, SentRelation
from shared.spi.table_writes import TableWrite

_MOST_ROWS_OF_A_FILE = 10_000
_NOT_GROWING = (ValuesNode, ProjectNode, FilterNode)


def write_work(
    planned: PlannedWrite, logical: OutputNode, relation_of: RelationOf, limits: EngineLimits = LIMITS
) -> WriteRows:
    """The statement of the optimized plan. Raises ProcessionError NOT_SUPPORTED for what Spark cannot compute."""
    replaces = planned.write.creation is not None and planned.write.creation.replaces
    if planned.write.no_rows and not replaces:
        return WriteRows(planned.write)
    if isinstance(planned.change, RowChange):
        if changes_times(planned.change, logical):
            return own_change(planned, planned.change, logical, relation_of, limits)
        before, after, inputs = changed_rows(planned.change, logical, relation_of)
        little = little_change(planned.change, logical, relation_of, limits)
        return WriteRows(replace(planned.write, before=before, after=after), inputs, little)
    writer = next(node for node in walk(logical) if isinstance(node, TableWriterNode))
    refresh = planned.write.refresh
    own = planned.write.kind == "INSERT" and refresh is None and not replaces and _may_be_own(writer, relation_of)
    if own and any(holds_time(typed(variable)) for variable in writer.columns):
        return _own_rows(planned.write, writer, relation_of, limits)
    if refresh is not None and refresh.how != "whole":
        relation_of = _new_rows(refresh, relation_of)
    try:
        sql, inputs = unparse_for_spark(writer.source, writer.columns, relation_of)
    except ProcessionError:
        if not own:
            raise
        return _own_rows(planned.write, writer, relation_of, limits)
    sql = _with_variants(sql, writer.columns)
    columns = ", ".join(name(column).sql(dialect="spark") for column in writer.columnNames)
    if _is_small(writer.source):
        sql = f"SELECT /*+ COALESCE(1) */ * FROM ({sql})"  # noqa: S608 - the planned query itself
    if replaces:  # and makes none where it is gone meanwhile: its files would go where those of any table go
        return WriteRows(replace(planned.write, before="REPLACE TABLE", after=_named(sql, writer)), inputs)
    if planned.merged is not None:
        given = [column.name for column in writer.columns]
        after = _merge(sql, dict(zip(writer.columnNames, given, strict=True)), planned.merged)
        return WriteRows(replace(planned.write, before="MERGE INTO", after=after), inputs)
    before = "INSERT OVERWRITE" if refresh is not None and refresh.how == "whole" else "INSERT INTO"
    write = replace(planned.write, before=before, after=f"({columns}) {sql}")
    return WriteRows(write, inputs, _few_rows(writer, relation_of, limits) if own else None)


def _may_be_own(writer: TableWriterNode, relation_of: RelationOf) -> bool:
    """Whether rows may be written without Spark: PyIceberg has no JSON, and what a client sends Spark alone reads."""
    if any(holds_json(typed(variable)) for variable in writer.columns):
        return False
    scans = (node for node in walk(writer.source) if isinstance(node, TableScanNode))
    return not any(isinstance(relation_of(scan), SentRelation) for scan in scans)


def _own_rows(write: TableWrite, writer: TableWriterNode, relation_of: RelationOf, limits: EngineLimits) -> WriteRows:
    """Without a statement for Spark, which cannot compute or write its rows."""
    return WriteRows(replace(write, before="INSERT INTO"), rows=_query(writer, relation_of, limits))


def _few_rows(writer: TableWriterNode, relation_of: RelationOf, limits: EngineLimits) -> RowsOfWrite | None:
    few = _is_small(writer.source)
    return beside_spark(lambda: _query(writer, relation_of, limits), limits, few=few)


def _query(writer: TableWriterNode, relation_of: RelationOf, limits: EngineLimits) -> RowsOfWrite:
    """What is written, on whichever engine suits it."""
    query = OutputNode(
        id=writer.id, source=writer.source, columnNames=writer.columnNames, outputVariables=writer.columns
    )
    columns = tuple(Column(n, v.type) for n, v in zip(writer.columnNames, writer.columns, strict=True))
    return constant_rows(query) or work_of(query, relation_of, limits), columns


def _named(sql: str, writer: TableWriterNode) -> str:
    """The query with the columns' own names, which the table takes from it."""
    named = zip(writer.columns, writer.columnNames, strict=True)
    listed = ", ".join(
        exp.alias_(column(v.name), given, quoted=True).sql(dialect="spark", comments=False) for v, given in named
    )
    return f"SELECT {listed} FROM ({sql})"  # noqa: S608 - names quoted, the planned query itself


def _with_variants(sql: str, columns: Sequence[Variable]) -> str:
    """The query with JSON as the table stores it."""
    if not any(holds_json(typed(variable)) for variable in columns):
        return sql
    made = [exp.alias_(stored_json(column(v.name), typed(v)), v.name, quoted=True) for v in columns]
    listed = ", ".join(each.sql(dialect="spark", comments=False) for each in made)
    return f"SELECT {listed} FROM ({sql})"  # noqa: S608 - names quoted, the planned query itself


def _new_rows(refresh: Refresh, relation_of: RelationOf) -> RelationOf:
    """Scans of what came since the last refresh, up to the snapshot that was planned."""
    kept = refresh.view.materialized
    assert kept is not None
    last = {(base.schema, base.table): base.snapshot_id for base in kept.base_tables}
    until = {(base.schema, base.table): base.snapshot_id for base in refresh.base_tables}

    def ask(scan: TableScanNode) -> Relation:
        relation = relation_of(scan)
        assert isinstance(relation, CatalogTable), "a table that Spark cannot read is told before"
        handle = scan.table.connectorHandle
        name = (str(handle["schemaName"]), str(handle["icebergTableName"]["tableName"]))
        return AppendedRows(relation.parts, last[name], until[name])

    return ask


def _merge(sql: str, columns: Mapping[str, str], parts: Mapping[str, Part]) -> str:
    """What stands behind the target's name: groups of new rows are merged into those that are there.

    ``columns`` are those of the target, each with its name in ``sql``.
    """
    names = {column: name(column).sql(dialect="spark") for column in columns}
    given = ", ".join(f"{name(columns[c]).sql(dialect='spark')} AS {names[c]}" for c in columns)
    keys = [f"kept.{names[c]} <=> new.{names[c]}" for c in columns if parts[c] == "key"]
    values = [f"{names[c]} = {_merged(names[c], parts[c])}" for c in columns if parts[c] != "key"]
    listed = ", ".join(names.values())
    matched = f" WHEN MATCHED THEN UPDATE SET {', '.join(values)}" if values else ""
    inserted = ", ".join(f"new.{each}" for each in names.values())
    return (
        f"AS kept USING (SELECT {given} FROM ({sql})) AS new ON {' AND '.join(keys) or 'true'}{matched} "  # noqa: S608
        f"WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({inserted})"
    )


def _merged(column: str, part: Part) -> str:
    match part:
        case "count":
            return f"kept.{column} + new.{column}"
        case "sum":
            return f"coalesce(kept.{column} + new.{column}, kept.{column}, new.{column})"
        case "least" | "greatest":
            return f"{part}(kept.{column}, new.{column})"
        case "key":
            raise AssertionError("keys stay")
        case _:
            assert_never(part)


def _is_small(source: PlanNode) -> bool:
    """Whether the rows are those of VALUES, no more than these: one file takes them, Spark would write one a core."""
    nodes = list(walk(source))
    rows = sum(len(node.rows) for node in nodes if isinstance(node, ValuesNode))
    return all(isinstance(node, _NOT_GROWING) for node in nodes) and rows <= _MOST_ROWS_OF_A_FILE
