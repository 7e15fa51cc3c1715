"""Cuts a plan at its remote exchanges into a SubPlan of fragments, numbered from the root as Presto does."""

from __future__ import annotations

from itertools import count

from coordinator.fragmenter import partitioning
from coordinator.fragmenter.add_exchanges import add_exchanges
from coordinator.fragmenter.procedure_source import drop_procedure_filters
from coordinator.vocabulary.session_properties import session_value
from coordinator.vocabulary.source_locations import inherit_locations
from shared.errors import ErrorCode, ProcessionError
from shared.plan import nodes
from shared.plan.expressions import Variable
from shared.plan.fragment import UNGROUPED_EXECUTION, SimplePlanFragment, SubPlan
from shared.plan.nodes import PartitioningHandle, PartitioningScheme, PlanNode
from shared.plan.traversal import output_variables, sources, walk, with_sources
from shared.spi.session import Session


def fragment(plan: PlanNode, session: Session) -> SubPlan:
    """The physical plan of an optimized logical one.

    Raises ProcessionError QUERY_HAS_TOO_MANY_STAGES past session property ``query_max_stage_count``.
    """
    physical = inherit_locations(add_exchanges(drop_procedure_filters(plan), session))
    scheme = partitioning.scheme(partitioning.SINGLE, output_variables(physical))
    subplan = _Cutter().cut(physical, scheme)
    stages, limit = sum(1 for _ in subplan.fragments()), int(session_value(session, "query_max_stage_count"))
    if stages > limit:
        message = f"Number of stages in the query ({stages}) exceeds the allowed maximum ({limit})"
        raise ProcessionError(ErrorCode.QUERY_HAS_TOO_MANY_STAGES, message)
    return subplan


class _Cutter:
    """Numbers the fragments of one plan."""

    def __init__(self) -> None:
        self._numbers = count()

    def cut(self, root: PlanNode, scheme: PartitioningScheme) -> SubPlan:
        """The fragment of ``root``, whose rows leave it by ``scheme``, and those below it."""
        number = str(next(self._numbers))
        children: list[SubPlan] = []
        cut = self._replace_exchanges(root, children)
        return SubPlan(_fragment(number, cut, scheme), tuple(children))

    def _replace_exchanges(self, node: PlanNode, children: list[SubPlan]) -> PlanNode:
        if isinstance(node, nodes.ExchangeNode) and node.scope == "REMOTE_STREAMING":
            return self._remote_source(node, children)
        return with_sources(node, [self._replace_exchanges(source, children) for source in sources(node)])

    def _remote_source(self, node: nodes.ExchangeNode, children: list[SubPlan]) -> PlanNode:
        layout = node.partitioningScheme.outputLayout
        below = []
        for source, inputs in zip(node.sources, node.inputs, strict=True):
            renamed = dict(zip(layout, inputs, strict=True))
            old = node.partitioningScheme.partitioning
            arguments = [renamed.get(a, a) for a in old.arguments if isinstance(a, Variable)]
            below.append(self.cut(source, partitioning.scheme(old.handle, inputs, arguments)))
        children.extend(below)
        return nodes.RemoteSourceNode(
            id=node.id,
            sourceLocation=node.sourceLocation,
            sourceFragmentIds=tuple(child.fragment.id for child in below),
            outputVariables=layout,
            ensureSourceOrdering=node.ensureSourceOrdering,
            orderingScheme=node.orderingScheme,
            exchangeType=node.type,
            encoding=partitioning.COLUMNAR,
        )


def _fragment(number: str, root: PlanNode, scheme: PartitioningScheme) -> SimplePlanFragment:
    inside = list(walk(root))
    variables: dict[str, Variable] = {}
    for node in inside:
        for variable in output_variables(node):
            variables.setdefault(variable.key, variable)
    writers = (nodes.CallDistributedProcedureNode, nodes.TableWriterNode)
    return SimplePlanFragment(
        id=number,
        root=root,
        variables=tuple(variables.values()),
        partitioning=_partitioning(inside),
        tableScanSchedulingOrder=tuple(_scheduling_order(root)),
        partitioningScheme=scheme,
        stageExecutionDescriptor=UNGROUPED_EXECUTION,
        outputTableWriterFragment=any(isinstance(node, writers) for node in inside),
    )


def _partitioning(inside: list[PlanNode]) -> PartitioningHandle:
    types = {type(node) for node in inside}
    if types & {nodes.TableFinishNode, nodes.ProcedureFinishNode, nodes.MetadataDeleteNode, nodes.FetchNode}:
        return partitioning.COORDINATOR
    if nodes.TableScanNode in types:
        return partitioning.SOURCE
    if nodes.DistributedMaintenanceNode in types:
        return partitioning.ALL_WORKERS
    remote = [node for node in inside if isinstance(node, nodes.RemoteSourceNode)]
    if any(source.exchangeType == "REPARTITION" for source in remote):
        return partitioning.FIXED_HASH
    return partitioning.SINGLE


def _scheduling_order(node: PlanNode) -> list[str]:
    """Scans of build sides first, as Presto schedules them."""
    if isinstance(node, nodes.TableScanNode):
        return [node.id]
    below = sources(node)
    if isinstance(node, nodes.JoinNode | nodes.SemiJoinNode | nodes.SpatialJoinNode):
        below = below[::-1]
    return [number for source in below for number in _scheduling_order(source)]
