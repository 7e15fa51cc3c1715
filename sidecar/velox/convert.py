"""A whole fragment to a Velox plan: post-order over the nodes, one operator function each."""

from __future__ import annotations

from dataclasses import dataclass

from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import (
    AggregationNode,
    AssignUniqueId,
    CallDistributedProcedureNode,
    DeleteNode,
    DistinctLimitNode,
    DistributedMaintenanceNode,
    EnforceSingleRowNode,
    ExchangeNode,
    FetchNode,
    FilterNode,
    GroupIdNode,
    IndexJoinNode,
    IndexSourceNode,
    JoinNode,
    LimitNode,
    LookUpNode,
    MarkDistinctNode,
    MergeJoinNode,
    MergeProcessorNode,
    MergeWriterNode,
    MetadataDeleteNode,
    OffsetNode,
    OutputNode,
    PlanNode,
    ProcedureFinishNode,
    ProjectNode,
    RemoteSourceNode,
    RowNumberNode,
    SampleNode,
    SemiJoinNode,
    SortNode,
    SpatialJoinNode,
    SpiTopNRowNumberNode,
    StatisticsWriterNode,
    TableFinishNode,
    TableScanNode,
    TableWriterMergeNode,
    TableWriterNode,
    TopNNode,
    TopNRowNumberNode,
    UnnestNode,
    UpdateNode,
    ValuesNode,
    WindowNode,
)
from sidecar.velox.operators import aggregate, exchanges, joins, offset, rows, scan, windows
from sidecar.velox.refusal import internal_error, located, unsupported
from sidecar.velox.relation import Conversion, Relation


@dataclass(frozen=True, slots=True)
class ConvertedFragment:
    """The Velox plan as JSON, the row type of every node by id, and the VALUES nodes by id with their row counts."""

    root: Relation
    relations: dict[str, Relation]
    values: dict[str, int]


def convert(fragment: SimplePlanFragment, *, resolve: bool = True) -> ConvertedFragment:
    """Raises RefusalError; with ``resolve`` every column reference is checked against its source's columns."""
    context = Conversion(resolve)
    converter = _Converter(context)
    root = fragment.root
    relation = converter.node(root)
    if not isinstance(root, OutputNode):
        with located(None, root.id):
            relation = exchanges.fragment_output(fragment.partitioningScheme, relation, context)
    values = {node_id: count for node_id, (count, _) in context.values.items()}
    return ConvertedFragment(relation, converter.relations, values)


class _Converter:
    """Remembers every node's relation, for cutting deep plans."""

    def __init__(self, context: Conversion) -> None:
        self.context = context
        self.relations: dict[str, Relation] = {}

    def node(self, plan: PlanNode) -> Relation:
        with located(plan.sourceLocation, plan.id):
            relation = self._convert(plan)
        self.relations[plan.id] = relation
        return relation

    def _convert(self, plan: PlanNode) -> Relation:
        match plan:
            case TableScanNode():
                return scan.table_scan(plan)
            case IndexSourceNode():
                return scan.index_source(plan)
            case ValuesNode():
                return rows.values(plan, self.context)
            case RemoteSourceNode():
                return exchanges.remote_source(plan)
            case ExchangeNode():
                return exchanges.exchange(plan, [self.node(s) for s in plan.sources], self.context)
            case JoinNode() | MergeJoinNode() | SpatialJoinNode() | SemiJoinNode() | IndexJoinNode():
                return self._join(plan)
            case (
                TableFinishNode()
                | CallDistributedProcedureNode()
                | DistributedMaintenanceNode()
                | ProcedureFinishNode()
                | MetadataDeleteNode()
                | UpdateNode()
                | MergeProcessorNode()
                | MergeWriterNode()
                | StatisticsWriterNode()
                | OffsetNode()
                | FetchNode()
                | LookUpNode()
            ):
                raise unknown_node(str(type(plan).__struct_config__.tag))
            case TableWriterNode() | DeleteNode():
                # The target travels apart from the plan, and the checking endpoint is given none.
                raise unsupported("Unsupported table writer handle: null")
            case FilterNode() if (keep := joins.semi_join_filter(plan)) is not None:
                semi = plan.source
                assert isinstance(semi, SemiJoinNode)
                source, filtering = self.node(semi.source), self.node(semi.filteringSource)
                return joins.filtered_semi_join(plan, semi, source, filtering, self.context, keep=keep)
            case ProjectNode() if (found := offset.offset_limit(plan)) is not None:
                limited = offset.limited(plan, found, self.node(found.source))
                return limited or self._unary(plan, self.node(plan.source))
            case SampleNode():
                return self.node(plan.source)
            case _:
                return self._unary(plan, self.node(plan.source))

    def _join(self, plan: JoinNode | MergeJoinNode | SpatialJoinNode | SemiJoinNode | IndexJoinNode) -> Relation:
        match plan:
            case JoinNode():
                return joins.join(plan, self.node(plan.left), self.node(plan.right), self.context)
            case MergeJoinNode():
                return joins.merge_join(plan, self.node(plan.left), self.node(plan.right), self.context)
            case SpatialJoinNode():
                return joins.spatial_join(plan, self.node(plan.left), self.node(plan.right), self.context)
            case SemiJoinNode():
                return joins.semi_join(plan, self.node(plan.source), self.node(plan.filteringSource), self.context)
            case IndexJoinNode():
                joins.index_join_type(plan)
                return joins.index_join(plan, self.node(plan.probeSource), self.node(plan.indexSource), self.context)

    def _unary(self, plan: PlanNode, source: Relation) -> Relation:  # noqa: C901 - a table of nodes
        context = self.context
        match plan:
            case FilterNode():
                return rows.filter_(plan, source, context)
            case ProjectNode():
                return rows.project(plan, source, context)
            case OutputNode():
                return exchanges.output(plan, source, context)
            case AggregationNode():
                return aggregate.aggregation(plan, source, context)
            case GroupIdNode():
                return aggregate.group_id(plan, source, context)
            case LimitNode():
                return rows.limit(plan, source)
            case DistinctLimitNode():
                return rows.distinct_limit(plan, source, context)
            case SortNode():
                return rows.sort(plan, source, context)
            case TopNNode():
                return rows.top_n(plan, source, context)
            case WindowNode():
                return windows.window(plan, source, context)
            case RowNumberNode():
                return windows.row_number(plan, source, context)
            case TopNRowNumberNode() | SpiTopNRowNumberNode():
                return windows.top_n_row_number(plan, source, context)
            case MarkDistinctNode():
                return rows.mark_distinct(plan, source, context)
            case EnforceSingleRowNode():
                return rows.enforce_single_row(plan, source)
            case AssignUniqueId():
                return rows.assign_unique_id(plan, source)
            case UnnestNode():
                return rows.unnest(plan, source, context)
            case TableWriterMergeNode():
                return exchanges.table_writer_merge(plan, source)
            case _:
                raise unknown_node(str(type(plan).__struct_config__.tag))


def unknown_node(tag: str) -> Exception:
    """Presto C++'s refusal of a node that it does not know."""
    return internal_error(f"Unknown plan node type {tag}")
