"""FORMAT TEXT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from coordinator.explain.describe import Description, describe, hashes, names
from coordinator.explain.expressions import expression_text, type_text
from coordinator.explain.table import handle_text
from shared.plan.fragment import SimplePlanFragment, SubPlan
from shared.plan.nodes import PlanNode


class Measures(Protocol):
    """What was measured, as lines of text."""

    def of_fragment(self, fragment: SimplePlanFragment) -> Iterable[str]: ...

    def of_node(self, node: PlanNode, described: Description) -> Iterable[str]: ...


def logical_text(plan: PlanNode) -> str:
    """One plan, a node a line, sources indented."""
    return "".join(_node_lines(plan, 0, distributed=False))


def distributed_text(subplan: SubPlan, measured: Measures | None = None) -> str:
    """Every fragment with how its rows leave it, in the order of their numbers, and with what was measured."""
    fragments = sorted(subplan.fragments(), key=lambda fragment: int(fragment.id))
    return "".join(fragment_text(fragment, measured) for fragment in fragments)


def fragment_text(fragment: SimplePlanFragment, measured: Measures | None = None) -> str:
    """One fragment: what it gives out and its nodes."""
    scheme = fragment.partitioningScheme
    arguments = ", ".join(expression_text(argument) for argument in scheme.partitioning.arguments)
    replicated = " (replicate nulls and any)" if scheme.replicateNullsAndAny is True else ""
    head = [
        f"Fragment {fragment.id} [{handle_text(fragment.partitioning)}]\n",
        *_lines("    ", [] if measured is None else measured.of_fragment(fragment)),
        f"    Output layout: [{names(scheme.outputLayout)}]\n",
        f"    Output partitioning: {handle_text(scheme.partitioning.handle)}{replicated} [{arguments}]"
        f"{hashes(scheme.hashColumn)}\n",
        f"    Output encoding: {scheme.encoding}\n",
        f"    Stage Execution Strategy: {fragment.stageExecutionDescriptor.stageExecutionStrategy}\n",
    ]
    return "".join((*head, *_node_lines(fragment.root, 1, distributed=True, measured=measured), "\n"))


def _node_lines(node: PlanNode, level: int, *, distributed: bool, measured: Measures | None = None) -> list[str]:
    described = describe(node, distributed=distributed)
    indent = "    " * level
    lines = [f"{indent}- {_title(described)} => [{_outputs(described)}]\n"]
    if measured is not None:
        lines.extend(_lines(f"{indent}        ", measured.of_node(node, described)))
    lines.extend(f"{indent}        {detail}\n" for detail in described.details)
    for source in described.sources:
        lines.extend(_node_lines(source, level + 1, distributed=distributed, measured=measured))
    return lines


def _lines(indent: str, texts: Iterable[str]) -> Iterator[str]:
    return (f"{indent}{text}\n" for text in texts)


def _title(described: Description) -> str:
    if described.remote_sources:
        return f"{described.name}{described.identifier}"
    return f"{described.name}[PlanNodeId {','.join(described.ids)}]{described.identifier}"


def _outputs(described: Description) -> str:
    return ", ".join(f"{variable.name}:{type_text(variable.type)}" for variable in described.outputs)
