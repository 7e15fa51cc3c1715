"""FORMAT GRAPHVIZ: a cluster a fragment, Presto's colours."""

from __future__ import annotations

from itertools import count

from coordinator.explain.describe import Description, describe
from coordinator.explain.table import handle_text
from shared.plan.fragment import SubPlan
from shared.plan.nodes import PlanNode

_COLOURS = {
    "Output": "white",
    "Aggregate": "chartreuse3",
    "Filter": "yellow",
    "Project": "bisque",
    "TopN": "darksalmon",
    "Sort": "aliceblue",
    "PartialSort": "aliceblue",
    "TableScan": "deepskyblue",
    "Values": "deepskyblue",
    "Scan": "deepskyblue",
    "InnerJoin": "orange",
    "LeftJoin": "orange",
    "RightJoin": "orange",
    "FullJoin": "orange",
    "CrossJoin": "orange",
    "SemiJoin": "orange",
    "Window": "darkolivegreen4",
    "Unnest": "crimson",
    "MarkDistinct": "violet",
    "Limit": "gray83",
    "TableWriter": "cyan",
    "CallDistributedProcedure": "cyan",
    "DistributedMaintenance": "cyan",
    "TableFinish": "hotpink",
    "ProcedureFinish": "hotpink",
    "Remote": "gold",
    "Local": "gold",
}
_ESCAPED = str.maketrans({c: f"\\{c}" for c in '<>{}"|'} | {"\n": "\\n"})


def logical_graphviz(plan: PlanNode) -> str:
    """``digraph logical_plan`` with one cluster."""
    return "digraph logical_plan {\n" + _Drawing().cluster(0, "SINGLE", plan) + "}\n"


def distributed_graphviz(subplan: SubPlan) -> str:
    """``digraph distributed_plan`` with a cluster for each fragment and the edges between them."""
    drawing = _Drawing()
    clusters = [
        drawing.cluster(int(fragment.id), handle_text(fragment.partitioning), fragment.root)
        for fragment in sorted(subplan.fragments(), key=lambda fragment: int(fragment.id))
    ]
    return "digraph distributed_plan {\n" + "".join(clusters) + drawing.remote_edges() + "}\n"


class _Drawing:
    """Numbers the nodes of one picture and remembers where the fragments begin."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._roots: dict[str, int] = {}
        self._remote: list[tuple[int, str]] = []

    def cluster(self, number: int, label: str, root: PlanNode) -> str:
        nodes: list[str] = []
        edges: list[str] = []
        self._roots[str(number)] = self._draw(root, nodes, edges)
        head = f'subgraph cluster_{number} {{\nlabel = "{label}"\n'
        return head + "".join(nodes) + "}\n" + "".join(edges)

    def _draw(self, node: PlanNode, nodes: list[str], edges: list[str]) -> int:
        described, number = describe(node, distributed=True), next(self._numbers)
        nodes.append(
            f'plannode_{number}[label="{{{_label(described)}}}", style="rounded, filled", '
            f"shape=record, fillcolor={_colour(described.name)}];\n"
        )
        self._remote.extend((number, fragment) for fragment in described.remote_sources)
        for source in described.sources:
            edges.append(f"plannode_{number} -> plannode_{self._draw(source, nodes, edges)};\n")
        return number

    def remote_edges(self) -> str:
        edges = (f"plannode_{number} -> plannode_{self._roots[fragment]};\n" for number, fragment in self._remote)
        return "".join(edges)


def _label(described: Description) -> str:
    parts = [described.name + described.identifier, "".join(f"{detail}\n" for detail in described.details)]
    return "|".join(part.translate(_ESCAPED) for part in parts if part)


def _colour(name: str) -> str:
    exact = _COLOURS.get(name.partition("(")[0].partition("[")[0])
    if exact is not None:
        return exact
    return next((colour for prefix, colour in _COLOURS.items() if name.startswith(prefix)), "white")
