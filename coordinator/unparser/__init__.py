"""Plans to SQL of an engine: PlanNode → sqlglot tree → text."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.planner.planned_statement import RunLocally, RunOnSpark, SelectRows
from coordinator.sql.lexer import too_large
from coordinator.unparser.engine_choice import runs_locally
from coordinator.unparser.kept_zones import with_zones_as_text
from coordinator.unparser.relations import Relations
from coordinator.unparser.row_selection import row_selection
from coordinator.unparser.scans import RelationOf, Scans
from shared.errors import ErrorLocation, ProcessionError
from shared.plan.expressions import Variable
from shared.plan.nodes import OutputNode, PlanNode
from shared.spi.relation import Input


def unparse(root: OutputNode, dialect: str, relation_of: RelationOf) -> str:
    """The SQL of a logical plan in dialect ``spark`` or ``duckdb``; columns come in the plan's order.

    Raises ProcessionError NOT_SUPPORTED for what the engine cannot do with Presto's meaning.
    """
    return _unparse(root, dialect, relation_of)[0]


def work_of(root: OutputNode, relation_of: RelationOf, *, copies: bool = False) -> RunLocally | RunOnSpark | SelectRows:
    """Where a query runs: locally when all that it reads is small and at hand, else on Spark with snapshots pinned.

    What is beyond the local engine runs on Spark as well. ``copies``: Spark is told which joins are REPLICATED.
    """
    root = with_zones_as_text(root)
    if (selected := row_selection(root, relation_of)) is not None:
        return selected
    if not runs_locally(root, relation_of):
        return RunOnSpark(*_unparse(root, "spark", relation_of, copies=copies))
    try:
        return RunLocally(*_unparse(root, "duckdb", relation_of))
    except ProcessionError as local:
        try:
            return RunOnSpark(*_unparse(root, "spark", relation_of))
        except ProcessionError:
            raise local from None


def _unparse(
    root: OutputNode, dialect: str, relation_of: RelationOf, *, copies: bool = False
) -> tuple[str, tuple[Input, ...]]:
    scans = Scans(dialect, relation_of)
    try:
        sql = str(Relations(dialect, scans, copies).root(root).sql(dialect=dialect, comments=False, copy=False))
    except RecursionError as error:
        raise too_large(ErrorLocation(1, 1)) from error
    return sql, tuple(scans.inputs)


def unparse_for_spark(
    source: PlanNode, columns: Sequence[Variable], relation_of: RelationOf
) -> tuple[str, tuple[Input, ...]]:
    """The SELECT of a plan in Spark's dialect with exactly ``columns``, and what it reads beside Spark's tables."""
    names = tuple(column.name for column in columns)
    root = OutputNode(id="", source=source, columnNames=names, outputVariables=tuple(columns))
    return _unparse(root, "spark", relation_of)
