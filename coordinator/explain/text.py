"""FORMAT TEXT."""

from __future__ import annotations

from coordinator.explain.describe import Description, describe, hashes, names
from coordinator.explain.expressions import expression_text, type_text
from coordinator.explain.table import handle_text
from shared.plan.fragment import SimplePlanFragment, SubPlan
from shared.plan.nodes import PlanNode


def logical_text(plan: PlanNode) -> str:
    """One plan, a node a line, sources indented."""
    return "".join(_node_lines(plan, 0, distributed=False))


def distributed_text(subplan: SubPlan) -> str:
    """Every fragment with how its rows leave it, in the order of their numbers."""
    fragments = sorted(subplan.fragments(), key=lambda fragment: int(fragment.id))
    return "".join(fragment_text(fragment) for fragment in fragments)


def fragment_text(fragment: SimplePlanFragment) -> str:
    """One fragment: what it gives out and its nodes."""
    scheme = fragment.partitioningScheme
    arguments = ", ".join(expression_text(argument) for argument in scheme.partitioning.arguments)
    replicated = " (replicate nulls and any)" if scheme.replicateNullsAndAny is True else ""
    head = [
        f"Fragment {fragment.id} [{handle_text(fragment.partitioning)}]\n",
        f"    Output layout: [{names(scheme.outputLayout)}]\n",
        f"    Output partitioning: {handle_text(scheme.partitioning.handle)}{replicated} [{arguments}]"
        f"{hashes(scheme.hashColumn)}\n",
        f"    Output encoding: {scheme.encoding}\n",
        f"    Stage Execution Strategy: {fragment.stageExecutionDescriptor.stageExecutionStrategy}\n",
    ]
    return "".join((*head, *_node_lines(fragment.root, 1, distributed=True), "\n"))


def _node_lines(node: PlanNode, level: int, *, distributed: bool) -> list[str]:
    described = describe(node, distributed=distributed)
    indent = "    " * level
    lines = [f"{indent}- {_title(described)} => [{_outputs(described)}]\n"]
    lines.extend(f"{indent}        {detail}\n" for detail in described.details)
    for source in described.sources:
        lines.extend(_node_lines(source, level + 1, distributed=distributed))
    return lines


def _title(described: Description) -> str:
    if described.remote_sources:
        return f"{described.name}{described.identifier}"
    return f"{described.name}[PlanNodeId {','.join(described.ids)}]{described.identifier}"


def _outputs(described: Description) -> str:
    return ", ".join(f"{variable.name}:{type_text(variable.type)}" for variable in described.outputs)
