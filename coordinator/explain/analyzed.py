"""EXPLAIN ANALYZE: a plan with what its run showed, in Presto's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coordinator.explain.describe import Description, describe
from coordinator.explain.figures import Figured, Figures, figured, input_rows
from coordinator.explain.json_format import distributed_trees, pretty
from coordinator.explain.operators import Operator
from coordinator.explain.text import distributed_text
from shared.plan.fragment import SimplePlanFragment, SubPlan
from shared.plan.nodes import PlanNode, RemoteSourceNode, TableScanNode
from shared.plan.traversal import sources, walk
from shared.units import format_data_size, format_duration


@dataclass(frozen=True, slots=True)
class Run:
    """What running the statement showed; ``operators`` in the order of a walk from the root."""

    engine: str
    seconds: float
    rows: int
    size: int
    verb_seconds: Mapping[str, float]
    operators: Sequence[Operator]


@dataclass(frozen=True, slots=True)
class NodeStats:
    """Of one printed node, which may stand for several of the plan; None for what is not known."""

    input_rows: int | None
    output_rows: int | None
    output_size: int | None
    seconds: float | None
    pipeline: float | None
    memory: int | None


class Stats:
    """What was measured, by the nodes of a plan."""

    def __init__(self, subplan: SubPlan, operators: Sequence[Operator], returned: int | None) -> None:
        self.figured: Figured = figured(subplan, operators, returned)
        self._roots = {fragment.id: fragment.root for fragment in subplan.fragments()}
        self._cpu = sum(figures.seconds or 0.0 for figures in self.figured.nodes.values())

    def node(self, node: PlanNode, described: Description) -> NodeStats | None:
        """None for a node of which nothing is known."""
        ids = described.ids if described.ids[-1] == node.id else (*described.ids, node.id)
        known = [self.figured.nodes[each] for each in dict.fromkeys(ids) if each in self.figured.nodes]
        if not known or (all(_empty(figures) for figures in known)):
            return None
        top = self.figured.nodes.get(node.id, Figures())
        return NodeStats(
            self._input(node, described),
            top.rows,
            top.size,
            _total([figures.seconds for figures in known]),
            _total([figures.pipeline for figures in known]),
            max((figures.memory for figures in known if figures.memory is not None), default=None),
        )

    def _input(self, node: PlanNode, described: Description) -> int | None:
        below: list[PlanNode] = list(described.sources)
        if isinstance(node, RemoteSourceNode):
            below = [self._roots[name] for name in node.sourceFragmentIds if name in self._roots]
        if below:
            return input_rows(below, self.figured.nodes)
        scan = next((each for each in walk(node) if isinstance(each, TableScanNode)), None)
        figures = None if scan is None else self.figured.nodes.get(scan.id)
        if figures is None or scan is None:
            return None
        return figures.read_rows if figures.read_rows is not None else figures.rows

    def of_node(self, node: PlanNode, described: Description) -> Iterator[str]:
        stats = self.node(node, described)
        if stats is None:
            yield "CPU: ?, Output: ? rows (?B)"
            return
        parts = [self._cpu_text(stats.seconds)]
        if stats.input_rows is not None:
            parts.append(f"Input: {_rows(stats.input_rows)}")
        parts.append(f"Output: {_rows(stats.output_rows)} ({_size(stats.output_size)})")
        if "Filter" in described.name and stats.input_rows is not None and stats.output_rows is not None:
            dropped = 100 * (1 - stats.output_rows / stats.input_rows) if stats.input_rows else None
            parts.append(f"Filtered: {_percent(dropped)}")
        yield ", ".join(parts)
        if stats.memory is not None:
            yield f"Peak memory: {format_data_size(stats.memory)}"
        if stats.pipeline is not None:
            yield f"Pipeline that ends here: {format_duration(stats.pipeline)}"

    def _cpu_text(self, seconds: float | None) -> str:
        if seconds is None:
            return "CPU: ?"
        return f"CPU: {format_duration(seconds)} ({_percent(100 * seconds / self._cpu if self._cpu else None)})"

    def of_fragment(self, fragment: SimplePlanFragment) -> Iterator[str]:
        nodes = walk(fragment.root)
        known = [self.figured.nodes[node.id] for node in nodes if node.id in self.figured.nodes]
        spent = _total([figures.seconds for figures in known])
        leaves = [self._input(node, describe(node, distributed=True)) for node in nodes if not sources(node)]
        read = None if None in leaves else sum(count or 0 for count in leaves)
        root = self.figured.nodes.get(fragment.root.id, Figures())
        cpu = "?" if spent is None else format_duration(spent)
        yield f"CPU: {cpu}, Input: {_rows(read)}, Output: {_rows(root.rows)} ({_size(root.size)})"

    def as_json(self, node: PlanNode, described: Description) -> dict[str, object] | None:
        """Named as Presto's; what is not known is left out."""
        stats = self.node(node, described)
        if stats is None:
            return None
        found: dict[str, object | None] = {
            "planNodeId": described.ids[-1],
            "planNodeCpuTime": None if stats.seconds is None else format_duration(stats.seconds),
            "planNodeInputPositions": stats.input_rows,
            "planNodeOutputPositions": stats.output_rows,
            "planNodeOutputDataSize": None if stats.output_size is None else format_data_size(stats.output_size),
            "planNodePeakMemory": None if stats.memory is None else format_data_size(stats.memory),
            "pipelineTime": None if stats.pipeline is None else format_duration(stats.pipeline),
        }
        return {name: value for name, value in found.items() if value is not None}


def analyzed_text(subplan: SubPlan, run: Run, *, verbose: bool = False) -> str:
    """FORMAT TEXT: the plan, then the operators of the engine, each with the node that it is of."""
    planning = ", ".join(f"{verb} {format_duration(taken)}" for verb, taken in run.verb_seconds.items())
    output = f"Output: {run.rows} rows ({format_data_size(run.size)})"
    head = f"Ran on {run.engine} in {format_duration(run.seconds)}. {output}. {planning}\n\n"
    stats = Stats(subplan, run.operators, run.rows)
    return head + distributed_text(subplan, stats) + "".join(_operator_lines(run, stats.figured, verbose=verbose))


def analyzed_json(subplan: SubPlan, run: Run) -> str:
    """FORMAT JSON: by fragment; nodes have ``stats``, the output fragment the run's and the engine's operators."""
    stats = Stats(subplan, run.operators, run.rows)
    plan = distributed_trees(subplan, stats.as_json)
    output = plan[min(plan, key=int)]
    root = output["plan"]
    if isinstance(root, dict):
        known = root.get("stats") or {"planNodeId": root["id"]}
        returned = {"planNodeOutputPositions": run.rows, "planNodeOutputDataSize": format_data_size(run.size)}
        root["stats"] = known | returned
    output["stats"] = {
        "engine": "spark" if run.engine == "Spark" else "coordinator",
        "executionTime": format_duration(run.seconds),
        **{f"{verb}Time": format_duration(taken) for verb, taken in run.verb_seconds.items()},
    }
    output["operators"] = _operator_trees(run.operators, stats.figured)
    return pretty(plan)


def _operator_lines(run: Run, found: Figured, *, verbose: bool) -> Iterator[str]:
    titled: set[str] = set()
    for place, operator in enumerate(run.operators):
        if operator.engine not in titled:
            titled.add(operator.engine)
            yield f"{operator.engine} operators\n"
        metrics = {name: value for name, value in operator.metrics.items() if value or verbose}
        shown = [f"{name}: {value}" for name, value in metrics.items()]
        if operator.seconds is not None:
            shown.append(f"CPU: {format_duration(operator.seconds)}")
        node = found.of_operator.get(place)
        of = "" if node is None else f" of PlanNodeId {node}"
        indent, counters = "    " * (operator.depth + 1), f" [{', '.join(shown)}]" if shown else ""
        yield f"{indent}- {operator.name}{counters}{of}\n"
        if verbose:
            yield from (f"{indent}        {note}\n" for note in operator.notes)


def _operator_trees(operators: Sequence[Operator], found: Figured) -> list[dict[str, object]]:
    roots: list[dict[str, object]] = []
    path: list[tuple[int, list[dict[str, object]]]] = [(-1, roots)]
    for place, operator in enumerate(operators):
        while path[-1][0] >= operator.depth:
            path.pop()
        children: list[dict[str, object]] = []
        shown: dict[str, object] = {"name": operator.name, "metrics": dict(operator.metrics), "children": children}
        if operator.seconds is not None:
            shown["cpuTime"] = format_duration(operator.seconds)
        if place in found.of_operator:
            shown["planNodeId"] = found.of_operator[place]
        path[-1][1].append(shown)
        path.append((operator.depth, children))
    return roots


def _empty(figures: Figures) -> bool:
    return figures == Figures()


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _rows(count: int | None) -> str:
    return "? rows" if count is None else "1 row" if count == 1 else f"{count} rows"


def _size(size: int | None) -> str:
    return "?B" if size is None else format_data_size(size)


def _percent(value: float | None) -> str:
    return "?%" if value is None else f"{value:.2f}%"
