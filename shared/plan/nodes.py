"""Plan nodes: frozen Structs tagged with Presto's ``@type``, with Presto's wire fields in Presto's order.

SPI nodes are tagged ``.Name``, engine nodes with their full class name. Handles of connectors are plain JSON
objects, since each connector owns its own shape. Fields that are ``None`` are absent on the wire.
Source: ``presto_protocol_core.yml`` and fragments captured from a Presto 0.296 coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from shared.plan.expressions import Call, FunctionHandle, RowExpression, SourceLocation, Variable

ENGINE = "com.facebook.presto.sql.planner.plan."

Step = Literal["PARTIAL", "FINAL", "INTERMEDIATE", "SINGLE"]
SortOrder = Literal["ASC_NULLS_FIRST", "ASC_NULLS_LAST", "DESC_NULLS_FIRST", "DESC_NULLS_LAST"]


class Wire(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Base of the parts of a node that carry no tag."""


class Node(msgspec.Struct, frozen=True, tag_field="@type", omit_defaults=True, kw_only=True):
    """Base of every plan node: ``id`` is unique in a plan."""

    sourceLocation: SourceLocation | None = None
    id: str


class Ordering(Wire, frozen=True, kw_only=True):
    variable: Variable
    sortOrder: SortOrder


class OrderingScheme(Wire, frozen=True, kw_only=True):
    orderBy: tuple[Ordering, ...]


class PartitioningHandle(Wire, frozen=True, kw_only=True):
    """``connectorHandle`` is ``{"@type": "$remote", "partitioning": …, "function": …}`` for the system's own."""

    connectorId: str | None = None
    transactionHandle: object | None = None
    connectorHandle: dict[str, Any]


class Partitioning(Wire, frozen=True, kw_only=True):
    handle: PartitioningHandle
    arguments: tuple[RowExpression, ...]


class PartitioningScheme(Wire, frozen=True, kw_only=True):
    partitioning: Partitioning
    outputLayout: tuple[Variable, ...]
    hashColumn: Variable | None = None
    replicateNullsAndAny: bool | msgspec.UnsetType = msgspec.UNSET
    scaleWriters: bool | msgspec.UnsetType = msgspec.UNSET
    encoding: str | None = None
    bucketToPartition: tuple[int, ...] | None = None


class TableHandle(Wire, frozen=True, kw_only=True):
    """A connector's table as the plan carries it; the three inner objects belong to the connector."""

    connectorId: str
    connectorHandle: dict[str, Any]
    transaction: object | None = None
    connectorTableLayout: dict[str, Any] | None = None


class TableScanNode(Node, frozen=True, kw_only=True, tag=".TableScanNode"):
    table: TableHandle
    outputVariables: tuple[Variable, ...]
    assignments: dict[str, dict[str, Any]]


class FilterNode(Node, frozen=True, kw_only=True, tag=".FilterNode"):
    source: PlanNode
    predicate: RowExpression


class Assignments(Wire, frozen=True, kw_only=True):
    assignments: dict[str, RowExpression]


class ProjectNode(Node, frozen=True, kw_only=True, tag=".ProjectNode"):
    source: PlanNode
    assignments: Assignments
    locality: str | None = None


class GroupingSets(Wire, frozen=True, kw_only=True):
    groupingKeys: tuple[Variable, ...]
    groupingSetCount: int
    globalGroupingSets: tuple[int, ...]


class Aggregation(Wire, frozen=True, kw_only=True):
    call: Call
    filter: RowExpression | None = None
    orderBy: OrderingScheme | None = None
    distinct: bool | msgspec.UnsetType = msgspec.UNSET
    mask: Variable | None = None
    arguments: tuple[RowExpression, ...] | msgspec.UnsetType = msgspec.UNSET
    functionHandle: FunctionHandle | None = None


class AggregationNode(Node, frozen=True, kw_only=True, tag=".AggregationNode"):
    source: PlanNode
    aggregations: dict[str, Aggregation]
    groupingSets: GroupingSets
    preGroupedVariables: tuple[Variable, ...] | msgspec.UnsetType = msgspec.UNSET
    step: Step
    hashVariable: Variable | None = None
    groupIdVariable: Variable | None = None
    aggregationId: int | None = None
    aggregationOutputs: object | None = None


class EquiJoinClause(Wire, frozen=True, kw_only=True):
    left: Variable
    right: Variable


class JoinNode(Node, frozen=True, kw_only=True, tag=".JoinNode"):
    type: Literal["INNER", "LEFT", "RIGHT", "FULL"]
    left: PlanNode
    right: PlanNode
    criteria: tuple[EquiJoinClause, ...]
    outputVariables: tuple[Variable, ...]
    filter: RowExpression | None = None
    leftHashVariable: Variable | None = None
    rightHashVariable: Variable | None = None
    distributionType: Literal["PARTITIONED", "REPLICATED"] | None = None
    dynamicFilters: dict[str, Variable] | msgspec.UnsetType = msgspec.UNSET


class MergeJoinNode(Node, frozen=True, kw_only=True, tag=".MergeJoinNode"):
    type: Literal["INNER", "LEFT", "RIGHT", "FULL"]
    left: PlanNode
    right: PlanNode
    criteria: tuple[EquiJoinClause, ...]
    outputVariables: tuple[Variable, ...]
    filter: RowExpression | None = None
    leftHashVariable: Variable | None = None
    rightHashVariable: Variable | None = None


class SemiJoinNode(Node, frozen=True, kw_only=True, tag=".SemiJoinNode"):
    source: PlanNode
    filteringSource: PlanNode
    sourceJoinVariable: Variable
    filteringSourceJoinVariable: Variable
    semiJoinOutput: Variable
    sourceHashVariable: Variable | None = None
    filteringSourceHashVariable: Variable | None = None
    distributionType: Literal["PARTITIONED", "REPLICATED"] | None = None
    dynamicFilters: dict[str, Variable] | msgspec.UnsetType = msgspec.UNSET


class SpatialJoinNode(Node, frozen=True, kw_only=True, tag=".SpatialJoinNode"):
    type: Literal["INNER", "LEFT"]
    left: PlanNode
    right: PlanNode
    outputVariables: tuple[Variable, ...]
    probeGeometryVariable: Variable | None = None
    buildGeometryVariable: Variable | None = None
    radiusVariable: Variable | None = None
    filter: RowExpression
    leftPartitionVariable: Variable | None = None
    rightPartitionVariable: Variable | None = None
    kdbTree: str | None = None
    distributionType: str


class IndexSourceNode(Node, frozen=True, kw_only=True, tag=".IndexSourceNode"):
    indexHandle: dict[str, Any]
    tableHandle: TableHandle
    lookupVariables: tuple[Variable, ...]
    outputVariables: tuple[Variable, ...]
    assignments: dict[str, dict[str, Any]]
    currentConstraint: object | None = None


class IndexJoinNode(Node, frozen=True, kw_only=True, tag=".IndexJoinNode"):
    type: str
    probeSource: PlanNode
    indexSource: PlanNode
    criteria: tuple[EquiJoinClause, ...]
    filter: RowExpression | None = None
    probeHashVariable: Variable | None = None
    indexHashVariable: Variable | None = None
    lookupVariables: tuple[Variable, ...] | msgspec.UnsetType = msgspec.UNSET


class TopNNode(Node, frozen=True, kw_only=True, tag=".TopNNode"):
    source: PlanNode
    count: int
    orderingScheme: OrderingScheme
    step: Step


class SortNode(Node, frozen=True, kw_only=True, tag=".SortNode"):
    source: PlanNode
    orderingScheme: OrderingScheme
    isPartial: bool
    partitionBy: tuple[Variable, ...] | msgspec.UnsetType = msgspec.UNSET


class LimitNode(Node, frozen=True, kw_only=True, tag=".LimitNode"):
    source: PlanNode
    count: int
    step: Step


class DistinctLimitNode(Node, frozen=True, kw_only=True, tag=".DistinctLimitNode"):
    source: PlanNode
    limit: int
    partial: bool
    distinctVariables: tuple[Variable, ...]
    hashVariable: Variable | None = None
    timeoutMillis: int | msgspec.UnsetType = msgspec.UNSET


class ValuesNode(Node, frozen=True, kw_only=True, tag=".ValuesNode"):
    outputVariables: tuple[Variable, ...]
    rows: tuple[tuple[RowExpression, ...], ...]
    valuesNodeLabel: str | None = None


class WindowSpecification(Wire, frozen=True, kw_only=True):
    partitionBy: tuple[Variable, ...]
    orderingScheme: OrderingScheme | None = None


class WindowFrame(Wire, frozen=True, kw_only=True):
    type: Literal["RANGE", "ROWS", "GROUPS"]
    startType: str
    startValue: Variable | None = None
    sortKeyCoercedForFrameStartComparison: Variable | None = None
    endType: str
    endValue: Variable | None = None
    sortKeyCoercedForFrameEndComparison: Variable | None = None
    originalStartValue: str | None = None
    originalEndValue: str | None = None


class WindowFunction(Wire, frozen=True, kw_only=True):
    functionCall: Call
    frame: WindowFrame
    ignoreNulls: bool
    functionHandle: FunctionHandle | None = None


class WindowNode(Node, frozen=True, kw_only=True, tag=".WindowNode"):
    source: PlanNode
    specification: WindowSpecification
    windowFunctions: dict[str, WindowFunction]
    hashVariable: Variable | None = None
    prePartitionedInputs: tuple[Variable, ...] | msgspec.UnsetType = msgspec.UNSET
    preSortedOrderPrefix: int | msgspec.UnsetType = msgspec.UNSET


class UnnestNode(Node, frozen=True, kw_only=True, tag=".UnnestNode"):
    source: PlanNode
    replicateVariables: tuple[Variable, ...]
    unnestVariables: dict[str, tuple[Variable, ...]]
    ordinalityVariable: Variable | None = None


class MarkDistinctNode(Node, frozen=True, kw_only=True, tag=".MarkDistinctNode"):
    source: PlanNode
    markerVariable: Variable
    distinctVariables: tuple[Variable, ...]
    hashVariable: Variable | None = None


class OutputNode(Node, frozen=True, kw_only=True, tag=".OutputNode"):
    source: PlanNode
    columnNames: tuple[str, ...]
    outputVariables: tuple[Variable, ...]


class TableWriterNode(Node, frozen=True, kw_only=True, tag=".TableWriterNode"):
    source: PlanNode
    rowCountVariable: Variable
    fragmentVariable: Variable
    tableCommitContextVariable: Variable
    columns: tuple[Variable, ...]
    columnNames: tuple[str, ...]
    notNullColumnVariables: tuple[Variable, ...]
    partitioningScheme: PartitioningScheme | None = None
    statisticsAggregation: Any | None = None
    taskCountIfScaledWriter: int | None = None
    isTemporaryTableWriter: bool | msgspec.UnsetType = msgspec.UNSET


class CallDistributedProcedureNode(Node, frozen=True, kw_only=True, tag=ENGINE + "CallDistributedProcedureNode"):
    """Writes the rows of ``source`` on workers; the procedure itself stays with the coordinator, as Presto's target."""

    source: PlanNode
    rowCountVariable: Variable
    fragmentVariable: Variable
    tableCommitContextVariable: Variable
    columns: tuple[Variable, ...]
    columnNames: tuple[str, ...]
    notNullColumnVariables: tuple[Variable, ...]
    partitioningScheme: PartitioningScheme | None = None


class DistributedMaintenanceNode(Node, frozen=True, kw_only=True, tag="procession.DistributedMaintenanceNode"):
    """Runs a maintenance kernel once on every executor (ours; seed 000's MAINTENANCE subtype)."""

    procedureName: str
    outputVariables: tuple[Variable, ...]


class ProcedureFinishNode(Node, frozen=True, kw_only=True, tag="procession.ProcedureFinishNode"):
    """Gathers what the executors of a DistributedMaintenance returned and finishes in the coordinator (ours)."""

    source: PlanNode
    procedureName: str
    outputVariables: tuple[Variable, ...]


class TableFinishNode(Node, frozen=True, kw_only=True, tag=".TableFinishNode"):
    source: PlanNode
    rowCountVariable: Variable
    statisticsAggregation: Any | None = None
    statisticsAggregationDescriptor: object | None = None


class DeleteNode(Node, frozen=True, kw_only=True, tag=".DeleteNode"):
    source: PlanNode
    rowId: Variable | None = None
    outputVariables: tuple[Variable, ...]
    inputDistribution: object | None = None


class MetadataDeleteNode(Node, frozen=True, kw_only=True, tag=".MetadataDeleteNode"):
    target: dict[str, Any] | None = None
    tableHandle: TableHandle | None = None
    output: Variable


class UpdateNode(Node, frozen=True, kw_only=True, tag=ENGINE + "UpdateNode"):
    source: PlanNode
    rowId: Variable | None = None
    columnValueAndRowIdSymbols: tuple[Variable, ...]
    outputVariables: tuple[Variable, ...]


class MergeProcessorNode(Node, frozen=True, kw_only=True, tag=ENGINE + "MergeProcessorNode"):
    """Turns the merge row of each joined row into the operations on the target (MERGE)."""

    source: PlanNode
    target: dict[str, Any] | None = None
    rowIdSymbol: Variable
    mergeRowSymbol: Variable
    dataColumnSymbols: tuple[Variable, ...]
    redistributionColumnSymbols: tuple[Variable, ...]
    outputs: tuple[Variable, ...]


class MergeWriterNode(Node, frozen=True, kw_only=True, tag=ENGINE + "MergeWriterNode"):
    source: PlanNode
    target: dict[str, Any] | None = None
    projectedSymbols: tuple[Variable, ...]
    partitioningScheme: PartitioningScheme | None = None
    outputs: tuple[Variable, ...]


class ExchangeNode(Node, frozen=True, kw_only=True, tag=ENGINE + "ExchangeNode"):
    type: Literal["GATHER", "REPARTITION", "REPLICATE"]
    scope: Literal["LOCAL", "REMOTE_STREAMING", "REMOTE_MATERIALIZED"]
    partitioningScheme: PartitioningScheme
    sources: tuple[PlanNode, ...]
    inputs: tuple[tuple[Variable, ...], ...]
    ensureSourceOrdering: bool
    orderingScheme: OrderingScheme | None = None


class RemoteSourceNode(Node, frozen=True, kw_only=True, tag=ENGINE + "RemoteSourceNode"):
    sourceFragmentIds: tuple[str, ...]
    outputVariables: tuple[Variable, ...]
    ensureSourceOrdering: bool
    orderingScheme: OrderingScheme | None = None
    exchangeType: Literal["GATHER", "REPARTITION", "REPLICATE"]
    encoding: str | msgspec.UnsetType = msgspec.UNSET
    transportType: str | None = None


class GroupIdNode(Node, frozen=True, kw_only=True, tag=ENGINE + "GroupIdNode"):
    source: PlanNode
    groupingSets: tuple[tuple[Variable, ...], ...]
    groupingColumns: dict[str, Variable]
    aggregationArguments: tuple[Variable, ...]
    groupIdVariable: Variable


class RowNumberNode(Node, frozen=True, kw_only=True, tag=ENGINE + "RowNumberNode"):
    source: PlanNode
    partitionBy: tuple[Variable, ...]
    rowNumberVariable: Variable
    maxRowCountPerPartition: int | None = None
    partial: bool
    hashVariable: Variable | None = None


class TopNRowNumberNode(Node, frozen=True, kw_only=True, tag=ENGINE + "TopNRowNumberNode"):
    source: PlanNode
    specification: WindowSpecification
    rankingType: str | None = None
    rowNumberVariable: Variable
    maxRowCountPerPartition: int
    partial: bool
    hashVariable: Variable | None = None


class SpiTopNRowNumberNode(Node, frozen=True, kw_only=True, tag=".TopNRowNumberNode"):
    """The same node as newer coordinators (0.297 on) tag it, with a ranking type."""

    source: PlanNode
    specification: WindowSpecification
    rankingType: str | None = None
    rowNumberVariable: Variable
    maxRowCountPerPartition: int
    partial: bool
    hashVariable: Variable | None = None


class EnforceSingleRowNode(Node, frozen=True, kw_only=True, tag=ENGINE + "EnforceSingleRowNode"):
    source: PlanNode


class AssignUniqueId(Node, frozen=True, kw_only=True, tag=ENGINE + "AssignUniqueId"):
    source: PlanNode
    idVariable: Variable


class SampleNode(Node, frozen=True, kw_only=True, tag=ENGINE + "SampleNode"):
    source: PlanNode
    sampleRatio: float
    sampleType: str


class OffsetNode(Node, frozen=True, kw_only=True, tag=ENGINE + "OffsetNode"):
    source: PlanNode
    count: int


class RowPosition(Wire, frozen=True, kw_only=True):
    """The variables that say where a row is: the source that holds it and, in order, which row it is there."""

    rowSource: Variable
    refColumns: tuple[Variable, ...]


class LookUpNode(Node, frozen=True, kw_only=True, tag="procession.LookUpNode"):
    """Reads columns of a table's rows at given positions, as a scan of the same snapshot would (ours; DESIGN §7)."""

    table: TableHandle
    rowPosition: RowPosition
    outputVariables: tuple[Variable, ...]
    assignments: dict[str, dict[str, Any]]


class FetchNode(Node, frozen=True, kw_only=True, tag="procession.FetchNode"):
    """Each row of ``source`` with the columns that its look-ups find at the row's positions (ours; DESIGN §7).

    A position that is NULL gives NULLs. Where look-ups share an output variable, each row has at most one position.
    """

    source: PlanNode
    lookUps: tuple[LookUpNode, ...]
    outputVariables: tuple[Variable, ...]


class TableWriterMergeNode(Node, frozen=True, kw_only=True, tag=ENGINE + "TableWriterMergeNode"):
    source: PlanNode
    rowCountVariable: Variable
    fragmentVariable: Variable
    tableCommitContextVariable: Variable
    statisticsAggregation: Any | None = None


class StatisticsWriterNode(Node, frozen=True, kw_only=True, tag=ENGINE + "StatisticsWriterNode"):
    source: PlanNode
    rowCountVariable: Variable
    rowCountEnabled: bool | msgspec.UnsetType = msgspec.UNSET
    descriptor: object | None = None


PlanNode = (
    TableScanNode
    | FilterNode
    | ProjectNode
    | AggregationNode
    | JoinNode
    | MergeJoinNode
    | SemiJoinNode
    | SpatialJoinNode
    | IndexSourceNode
    | IndexJoinNode
    | TopNNode
    | SortNode
    | LimitNode
    | DistinctLimitNode
    | ValuesNode
    | WindowNode
    | UnnestNode
    | MarkDistinctNode
    | OutputNode
    | TableWriterNode
    | CallDistributedProcedureNode
    | DistributedMaintenanceNode
    | ProcedureFinishNode
    | TableFinishNode
    | DeleteNode
    | MetadataDeleteNode
    | UpdateNode
    | MergeProcessorNode
    | MergeWriterNode
    | ExchangeNode
    | RemoteSourceNode
    | GroupIdNode
    | RowNumberNode
    | TopNRowNumberNode
    | SpiTopNRowNumberNode
    | EnforceSingleRowNode
    | AssignUniqueId
    | SampleNode
    | OffsetNode
    | FetchNode
    | LookUpNode
    | TableWriterMergeNode
    | StatisticsWriterNode
)

NODE_TYPES: Mapping[str, type[Node]] = {node.__struct_config__.tag: node for node in get_args(PlanNode)}
