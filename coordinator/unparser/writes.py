"""A planned write as Spark's statement around its target."""

from __future__ import annotations

from dataclasses import replace

from coordinator.planner.row_changes import RowChange
from coordinator.planner.writes import PlannedWrite
from coordinator.unparser import unparse_for_spark
from coordinator.unparser.row_changes import changed_rows
from coordinator.unparser.scans import RelationOf
from coordinator.unparser.trees import name
from coordinator.vocabulary.planned_statement import WriteRows
from shared.plan.nodes import FilterNode, OutputNode, PlanNode, ProjectNode, TableWriterNode, ValuesNode
from shared.plan.traversal import walk

_MOST_ROWS_OF_A_FILE = 10_000
_NOT_GROWING = (ValuesNode, ProjectNode, FilterNode)


def write_work(planned: PlannedWrite, logical: OutputNode, relation_of: RelationOf) -> WriteRows:
    """The statement of the optimized plan. Raises ProcessionError NOT_SUPPORTED for what Spark cannot compute."""
    if planned.write.no_rows:
        return WriteRows(planned.write)
    if isinstance(planned.change, RowChange):
        before, after, inputs = changed_rows(planned.change, logical, relation_of)
        return WriteRows(replace(planned.write, before=before, after=after), inputs)
    writer = next(node for node in walk(logical) if isinstance(node, TableWriterNode))
    sql, inputs = unparse_for_spark(writer.source, writer.columns, relation_of)
    columns = ", ".join(name(column).sql(dialect="spark") for column in writer.columnNames)
    if _is_small(writer.source):
        sql = f"SELECT /*+ COALESCE(1) */ * FROM ({sql})"  # noqa: S608 - the planned query itself
    whole = planned.write.refresh is not None and planned.write.refresh.how == "whole"
    before = "INSERT OVERWRITE" if whole else "INSERT INTO"
    write = replace(planned.write, before=before, after=f"({columns}) {sql}")
    return WriteRows(write, inputs)


def _is_small(source: PlanNode) -> bool:
    """Whether the rows are those of VALUES, no more than these: one file takes them, Spark would write one a core."""
    nodes = list(walk(source))
    rows = sum(len(node.rows) for node in nodes if isinstance(node, ValuesNode))
    return all(isinstance(node, _NOT_GROWING) for node in nodes) and rows <= _MOST_ROWS_OF_A_FILE
