"""Plans to SQL of an engine: PlanNode → sqlglot tree → text."""

from __future__ import annotations

from coordinator.planner.planned_statement import RunLocally, RunOnSpark
from coordinator.planner.query.subqueries import children
from coordinator.sql.tokens import too_large
from coordinator.unparser.relations import Relations
from shared.errors import ErrorLocation, ProcessionError
from shared.plan.nodes import OutputNode, PlanNode, TableScanNode


def unparse(root: OutputNode, dialect: str) -> str:
    """The SQL of a logical plan in dialect ``spark`` or ``duckdb``; columns come in the plan's order.

    Raises ProcessionError NOT_SUPPORTED for what the engine cannot do with Presto's meaning.
    """
    try:
        return str(Relations(dialect).root(root).sql(dialect=dialect, comments=False))
    except RecursionError as error:
        raise too_large(ErrorLocation(1, 1)) from error


def work_of(root: OutputNode) -> RunLocally | RunOnSpark:
    """Where a query runs: locally when it reads no table, else on Spark with its snapshots pinned.

    What reads no table and is beyond the local engine runs on Spark as well.
    """
    if reads_tables(root):
        return RunOnSpark(unparse(root, "spark"))
    try:
        return RunLocally(unparse(root, "duckdb"))
    except ProcessionError as local:
        try:
            return RunOnSpark(unparse(root, "spark"))
        except ProcessionError:
            raise local from None


def reads_tables(root: PlanNode) -> bool:
    """Whether any table is scanned."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, TableScanNode):
            return True
        stack.extend(children(node))
    return False
