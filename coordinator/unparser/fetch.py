"""A plan with a Fetch as work in two passes: the SQL below it, and the look-ups that the coordinator starts after."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from coordinator.planner.planned_statement import FetchRows, LikelyRows, RunOnSpark, Work
from shared.plan.nodes import FetchNode, OutputNode, PlanNode
from shared.plan.traversal import output_variables

WorkOf = Callable[[OutputNode], Work]


def fetch_work(
    root: OutputNode, before: OutputNode, work_of: WorkOf, max_rows: int, likely: tuple[PlanNode, int] | None = None
) -> Work:
    """The work of ``root``, whose source is a Fetch; ``before`` is the same query without it.

    ``likely`` is a faster plan of what is below the Fetch, right when it gives so many rows.

    Only rows that Spark reads have positions: a query that runs elsewhere runs as it was before.
    """
    fetch = root.source
    assert isinstance(fetch, FetchNode)
    otherwise = work_of(before)
    if not isinstance(otherwise, RunOnSpark):
        return otherwise
    below = output_variables(fetch.source)

    def pass_over(source: PlanNode) -> RunOnSpark:
        work = work_of(replace(root, source=source, columnNames=tuple(v.name for v in below), outputVariables=below))
        assert isinstance(work, RunOnSpark), "what reads the same tables runs on the same engine"
        return work

    return FetchRows(
        first=pass_over(fetch.source),
        likely=None if likely is None else LikelyRows(pass_over(likely[0]), likely[1]),
        columns=tuple(variable.name for variable in below),
        look_ups=fetch.lookUps,
        output=tuple(variable.name for variable in root.outputVariables),
        otherwise=otherwise,
        max_rows=max_rows,
    )
