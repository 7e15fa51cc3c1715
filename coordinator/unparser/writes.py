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
from shared.plan.nodes import OutputNode, TableWriterNode
from shared.plan.traversal import walk


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
    write = replace(planned.write, before="INSERT INTO", after=f"({columns}) {sql}")
    return WriteRows(write, inputs)
