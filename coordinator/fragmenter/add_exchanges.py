"""Puts exchanges between nodes whose rows must be spread differently (Presto's AddExchanges)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from coordinator.fragmenter import partitioning
from coordinator.fragmenter.distribution import (
    Distributed,
    Spread,
    broadcast,
    build_side,
    gather,
    remote_exchange,
    repartition,
)
from coordinator.fragmenter.lower_distinct import lower_distinct
from coordinator.fragmenter.lower_offset import lower_offset
from coordinator.fragmenter.partial_aggregation import split_aggregation
from coordinator.vocabulary.identifiers import PlanNodeIds
from coordinator.vocabulary.session_properties import session_flag, session_value
from shared.plan import nodes
from shared.plan.expressions import Variable
from shared.plan.nodes import PlanNode
from shared.plan.traversal import output_variables, sources, with_sources
from shared.spi.session import Session


def add_exchanges(plan: PlanNode, session: Session) -> PlanNode:
    """``plan`` with every exchange that it needs; ids of new nodes follow those of the plan."""
    ids = PlanNodeIds.after(plan)
    return _Placement(ids, session).place(lower_distinct(lower_offset(plan, ids), ids)).node


class _Placement:
    """One pass over one plan: the ids that it hands out and the session that decides between join methods."""

    def __init__(self, ids: PlanNodeIds, session: Session) -> None:
        self._ids = ids
        self._partial = session_flag(session, "push_aggregation_through_exchange")
        self._broadcast = session_value(session, "join_distribution_type").upper() == "BROADCAST"

    def place(self, node: PlanNode) -> Distributed:  # noqa: C901  (one case a kind of node)
        """``node`` over sources that are spread as it needs them."""
        match node:
            case nodes.TableScanNode() | nodes.IndexSourceNode():
                return Distributed(node, Spread.SOURCE)
            case nodes.DistributedMaintenanceNode():
                return Distributed(node, Spread.ALL_WORKERS)
            case nodes.FilterNode() | nodes.UnnestNode() | nodes.SampleNode() | nodes.AssignUniqueId():
                return self._keep(node)
            case nodes.ProjectNode() | nodes.GroupIdNode() | nodes.CallDistributedProcedureNode():
                return self._keep(node)
            case nodes.TableWriterNode() | nodes.DeleteNode() | nodes.UpdateNode():
                return self._keep(node)
            case nodes.MergeProcessorNode() | nodes.MergeWriterNode():
                return self._keep(node)
            case nodes.AggregationNode():
                return self._aggregation(node)
            case nodes.WindowNode():
                return self._by_keys(node, node.source, node.specification.partitionBy)
            case nodes.RowNumberNode():
                return self._row_numbers(node, node.partitionBy)
            case nodes.TopNRowNumberNode() | nodes.SpiTopNRowNumberNode():
                return self._row_numbers(node, node.specification.partitionBy)
            case nodes.MarkDistinctNode():
                return self._by_keys(node, node.source, node.distinctVariables)
            case nodes.TopNNode() | nodes.LimitNode() | nodes.SortNode():
                return self._two_steps(node)
            case nodes.JoinNode():
                return self._join(node)
            case nodes.SemiJoinNode():
                return self._semi_join(node)
            case nodes.ExchangeNode():
                return self._union(node)
            case nodes.TableFinishNode() | nodes.ProcedureFinishNode():
                # The coordinator is a task of its own: an exchange even where one worker task has all rows.
                below = self.place(node.source).node
                return _single(node, [remote_exchange(self._ids, "GATHER", partitioning.SINGLE, below)])
            case nodes.FetchNode():
                # Also the coordinator's: it starts the look-ups once it has the rows' positions, in their order.
                below = self.place(node.source).node
                if not (isinstance(below, nodes.ExchangeNode) and below.scope == "REMOTE_STREAMING"):
                    below = remote_exchange(self._ids, "GATHER", partitioning.SINGLE, below)
                return _single(node, [below, *node.lookUps])
            case _:
                return _single(node, [gather(self._ids, self.place(source)) for source in sources(node)])

    def _keep(self, node: PlanNode) -> Distributed:
        below = self.place(sources(node)[0])
        kept = {variable.name for variable in output_variables(node)}
        keys = below.keys if all(key.name in kept for key in below.keys) else ()
        return Distributed(with_sources(node, [below.node]), below.spread, keys)

    def _by_keys(self, node: PlanNode, source: PlanNode, keys: Sequence[Variable]) -> Distributed:
        return self._over(node, self.place(source), keys)

    def _over(self, node: PlanNode, below: Distributed, keys: Sequence[Variable]) -> Distributed:
        if below.spread is Spread.SINGLE or not keys:
            return _single(node, [gather(self._ids, below)])
        spread = repartition(self._ids, below, keys)
        return Distributed(with_sources(node, [spread.node]), Spread.HASH, spread.keys)

    def _row_numbers(
        self,
        node: nodes.RowNumberNode | nodes.TopNRowNumberNode | nodes.SpiTopNRowNumberNode,
        keys: Sequence[Variable],
    ) -> Distributed:
        """With a limit, a partial step where the rows are: no more rows of a partition need to cross the exchange."""
        below = self.place(node.source)
        together = below.spread is Spread.SINGLE or (below.keys and below.keys == tuple(keys))
        if node.maxRowCountPerPartition is None or together:
            return self._over(node, below, keys)
        partial = replace(node, id=self._ids.next(), source=below.node, partial=True)
        return self._over(node, Distributed(partial, below.spread, below.keys), keys)

    def _aggregation(self, node: nodes.AggregationNode) -> Distributed:
        """A partial step where the rows are, so that states cross the exchange instead of rows."""
        # A grouping set () has a row even for no input: only one task may make it.
        grouping = node.groupingSets
        keys = () if grouping.globalGroupingSets else grouping.groupingKeys
        below = self.place(node.source)
        together = below.spread is Spread.SINGLE or (below.keys and below.keys == tuple(keys))
        steps = None if together or not self._partial else split_aggregation(node, below.node, self._ids)
        if steps is None:
            return self._over(node, below, keys)
        partial, final = steps
        return self._over(final, Distributed(partial, below.spread), keys)

    def _two_steps(self, node: nodes.TopNNode | nodes.LimitNode | nodes.SortNode) -> Distributed:
        below = self.place(node.source)
        if below.spread is Spread.SINGLE:
            return _single(node, [below.node])
        if isinstance(node, nodes.SortNode):
            partial: PlanNode = replace(node, source=below.node, isPartial=True)
            merged = gather(self._ids, Distributed(partial, below.spread), node.orderingScheme)
            return Distributed(merged, Spread.SINGLE)
        partial = replace(node, id=self._ids.next(), source=below.node, step="PARTIAL")
        gathered = gather(self._ids, Distributed(partial, below.spread))
        return Distributed(replace(node, source=gathered, step="FINAL"), Spread.SINGLE)

    def _join(self, node: nodes.JoinNode) -> Distributed:
        left, right = self.place(node.left), self.place(node.right)
        replicable = node.type in {"INNER", "LEFT"}
        wanted = node.distributionType or ("REPLICATED" if self._broadcast or not node.criteria else "PARTITIONED")
        if left.spread is Spread.SINGLE or (not node.criteria and not replicable):
            both = [gather(self._ids, left), self._build_side(node, gather(self._ids, right))]
            return _single(replace(node, distributionType="PARTITIONED", dynamicFilters={}), both)
        if wanted == "REPLICATED" and replicable:
            joined = replace(node, distributionType="REPLICATED", dynamicFilters={})
            copied = self._build_side(node, broadcast(self._ids, right))
            return Distributed(with_sources(joined, [left.node, copied]), left.spread, left.keys)
        outer = repartition(self._ids, left, [clause.left for clause in node.criteria])
        inner = repartition(self._ids, right, [clause.right for clause in node.criteria])
        joined = replace(node, distributionType="PARTITIONED", dynamicFilters={})
        keys = () if node.type == "FULL" else (inner.keys if node.type == "RIGHT" else outer.keys)
        built = self._build_side(node, inner.node)
        return Distributed(with_sources(joined, [outer.node, built]), Spread.HASH, keys)

    def _build_side(self, node: nodes.JoinNode, right: PlanNode) -> PlanNode:
        return build_side(self._ids, right, [clause.right for clause in node.criteria])

    def _semi_join(self, node: nodes.SemiJoinNode) -> Distributed:
        # Always replicated: a NULL or an empty filtering side must be seen by every task (NOT IN).
        source, filtering = self.place(node.source), self.place(node.filteringSource)
        joined = replace(node, distributionType="REPLICATED", dynamicFilters={})
        if source.spread is Spread.SINGLE:
            return _single(joined, [source.node, gather(self._ids, filtering)])
        below = [source.node, broadcast(self._ids, filtering)]
        return Distributed(with_sources(joined, below), source.spread, source.keys)

    def _union(self, node: nodes.ExchangeNode) -> Distributed:
        placed = [self.place(source) for source in node.sources]
        below = [source.node for source in placed]
        layout = node.partitioningScheme.outputLayout
        scheme = partitioning.scheme(partitioning.SINGLE, layout)
        scope = "LOCAL" if all(source.spread is Spread.SINGLE for source in placed) else "REMOTE_STREAMING"
        union = replace(node, type="GATHER", scope=scope, partitioningScheme=scheme)
        return _single(union, below)


def _single(node: PlanNode, below: Sequence[PlanNode]) -> Distributed:
    return Distributed(with_sources(node, below), Spread.SINGLE)
