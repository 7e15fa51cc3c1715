"""What EXPLAIN says of each plan node: name, identifier, detail lines. All formats print from this."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from msgspec import Struct

from coordinator.explain.expressions import expression_text, function_text, type_text
from coordinator.explain.table import handle_text, qualified_table, scan_columns, scan_lines, selection_text, table_text
from shared.plan import nodes
from shared.plan.expressions import SourceLocation, Variable
from shared.plan.nodes import OrderingScheme, PlanNode
from shared.plan.traversal import node_name, output_variables, sources, variable_of_key, walk


class Description(Struct, frozen=True):
    """One printed node. A scan with the filter and projection above it is one, as in Presto: ``ids`` has all three."""

    name: str
    ids: tuple[str, ...]
    identifier: str
    outputs: tuple[Variable, ...]
    details: tuple[str, ...]
    sources: tuple[PlanNode, ...]
    remote_sources: tuple[str, ...] = ()


def describe(node: PlanNode, *, distributed: bool) -> Description:
    """The description of ``node``; ``sources`` are the nodes to print below it."""
    merged = _scan_description(node, distributed=distributed)
    if merged is not None:
        return merged
    describer = cast("Callable[[PlanNode], tuple[str, str, list[str]]] | None", _DESCRIBERS.get(type(node)))
    name, identifier, details = (_plain_name(node), "", []) if describer is None else describer(node)
    remote = node.sourceFragmentIds if isinstance(node, nodes.RemoteSourceNode) else ()
    return Description(name, (node.id,), identifier, output_variables(node), tuple(details), sources(node), remote)


def _plain_name(node: PlanNode) -> str:
    return node_name(node).removesuffix("Node")


def _scan_description(node: PlanNode, *, distributed: bool) -> Description | None:
    project = node if isinstance(node, nodes.ProjectNode) else None
    below = node if project is None else project.source
    filtering = below if isinstance(below, nodes.FilterNode) else None
    scan = below if filtering is None else filtering.source
    if filtering is not None and isinstance(scan, nodes.TableScanNode) and selection_text(scan.table) is not None:
        # This filter selects files, not rows: it is no part of the scan.
        return None
    if not isinstance(scan, nodes.TableScanNode):
        return None if project is None or filtering is None else _filter_project(project, filtering)
    parts = [part for part in (scan, filtering, project) if part is not None]
    name = "Scan" + "Filter" * (filtering is not None) + "Project" * (project is not None)
    options = [table_text(scan.table)]
    if distributed:
        options.append("grouped = false")
    if len(parts) == 1:
        name = "TableScan"
    else:
        options[0] = f"table = {options[0]}"
    selection = selection_text(scan.table)
    if distributed and selection is not None:
        options.append(f"fileSelection = {selection}")
    if filtering is not None:
        options.append(f"filterPredicate = {expression_text(filtering.predicate)}")
    if project is not None:
        options.append("projectLocality = LOCAL")
    details = ([] if project is None else _assignment_lines(project)) + scan_lines(scan)
    ids = tuple(part.id for part in parts)
    return Description(name, ids, f"[{', '.join(options)}]", output_variables(node), tuple(details), ())


def _filter_project(project: nodes.ProjectNode, filtering: nodes.FilterNode) -> Description:
    identifier = f"[filterPredicate = {expression_text(filtering.predicate)}, projectLocality = LOCAL]"
    return Description(
        "FilterProject",
        (filtering.id, project.id),
        identifier,
        output_variables(project),
        tuple(_assignment_lines(project)),
        (filtering.source,),
    )


def names(variables: tuple[Variable, ...]) -> str:
    return ", ".join(variable.name for variable in variables)


def hashes(*variables: Variable | None) -> str:
    """The precomputed hashes that a node uses, as ``[$hashvalue]``."""
    shown = ", ".join(variable.name for variable in variables if variable is not None)
    return f"[{shown}]" if shown else ""


def place(location: SourceLocation | None) -> str:
    """`` (line:column)``, or nothing."""
    return "" if location is None else f" ({location.line}:{location.column})"


def ordering_text(scheme: OrderingScheme) -> str:
    """``a ASC_NULLS_LAST, b DESC_NULLS_FIRST``"""
    return ", ".join(f"{order.variable.name} {order.sortOrder}" for order in scheme.orderBy)


def _output(node: nodes.OutputNode) -> tuple[str, str, list[str]]:
    renamed = [
        f"{column} := {variable.name}{place(variable.sourceLocation)}"
        for column, variable in zip(node.columnNames, node.outputVariables, strict=True)
        if column != variable.name
    ]
    return "Output", f"[{', '.join(node.columnNames)}]", renamed


def _assignment_lines(node: nodes.ProjectNode) -> list[str]:
    return [
        f"{variable_of_key(key).name} := {expression_text(value)}{place(value.sourceLocation)}"
        for key, value in node.assignments.assignments.items()
        if not (isinstance(value, Variable) and value.key == key)
    ]


def _project(node: nodes.ProjectNode) -> tuple[str, str, list[str]]:
    return "Project", f"[projectLocality = {node.locality or 'LOCAL'}]", _assignment_lines(node)


def _filter(node: nodes.FilterNode) -> tuple[str, str, list[str]]:
    return "Filter", f"[filterPredicate = {expression_text(node.predicate)}]", []


def _aggregation(node: nodes.AggregationNode) -> tuple[str, str, list[str]]:
    step = "" if node.step == "SINGLE" else f"({node.step})"
    if isinstance(node.preGroupedVariables, tuple) and node.preGroupedVariables:
        step = "(STREAMING)"
    keys = names(node.groupingSets.groupingKeys)
    details = [
        f"{variable_of_key(key).name} := {_aggregate(aggregation)}{place(aggregation.call.sourceLocation)}"
        for key, aggregation in node.aggregations.items()
    ]
    return f"Aggregate{step}" + (f"[{keys}]" if keys else "") + hashes(node.hashVariable), "", details


def _aggregate(aggregation: nodes.Aggregation) -> str:
    text = function_text(aggregation.call)
    if aggregation.distinct is True:
        text = text.replace("(", "(DISTINCT ", 1)
    if aggregation.orderBy is not None:
        text += f" ORDER BY {ordering_text(aggregation.orderBy)}"
    if aggregation.filter is not None:
        text += f" FILTER (WHERE {expression_text(aggregation.filter)})"
    return text if aggregation.mask is None else f"{text} (mask = {aggregation.mask.name})"


_JOIN_NAMES = {"INNER": "InnerJoin", "LEFT": "LeftJoin", "RIGHT": "RightJoin", "FULL": "FullJoin"}


def _join(node: nodes.JoinNode) -> tuple[str, str, list[str]]:
    details = [] if node.distributionType is None else [f"Distribution: {node.distributionType}"]
    if node.type == "INNER" and not node.criteria and node.filter is None:
        return "CrossJoin", "", details
    clauses = [f'("{clause.left.name}" = "{clause.right.name}")' for clause in node.criteria]
    if node.filter is not None:
        clauses.append(expression_text(node.filter))
    hashed = hashes(node.leftHashVariable, node.rightHashVariable)
    return _JOIN_NAMES[node.type], f"[{' AND '.join(clauses)}]{hashed}", details


def _semi_join(node: nodes.SemiJoinNode) -> tuple[str, str, list[str]]:
    details = [] if node.distributionType is None else [f"Distribution: {node.distributionType}"]
    hashed = hashes(node.sourceHashVariable, node.filteringSourceHashVariable)
    identifier = f"[{node.sourceJoinVariable.name} = {node.filteringSourceJoinVariable.name}]{hashed}"
    return "SemiJoin", identifier, details


def _top_n(node: nodes.TopNNode) -> tuple[str, str, list[str]]:
    name = "TopNPartial" if node.step == "PARTIAL" else "TopN"
    return name, f"[{node.count} by ({ordering_text(node.orderingScheme)})]", []


def _sort(node: nodes.SortNode) -> tuple[str, str, list[str]]:
    return "PartialSort" if node.isPartial else "Sort", f"[{ordering_text(node.orderingScheme)}]", []


def _limit(node: nodes.LimitNode) -> tuple[str, str, list[str]]:
    return "LimitPartial" if node.step == "PARTIAL" else "Limit", f"[{node.count}]", []


def _distinct_limit(node: nodes.DistinctLimitNode) -> tuple[str, str, list[str]]:
    return "DistinctLimitPartial" if node.partial else "DistinctLimit", f"[{node.limit}]", []


def _values(node: nodes.ValuesNode) -> tuple[str, str, list[str]]:
    return "Values", "", [f"({', '.join(map(expression_text, row))})" for row in node.rows]


def _specification(specification: nodes.WindowSpecification) -> str:
    parts = []
    if specification.partitionBy:
        parts.append(f"partition by ({names(specification.partitionBy)})")
    if specification.orderingScheme is not None:
        parts.append(f"order by ({ordering_text(specification.orderingScheme)})")
    return ", ".join(parts)


def _window(node: nodes.WindowNode) -> tuple[str, str, list[str]]:
    details = []
    for key, function in node.windowFunctions.items():
        frame = function.frame
        start = frame.originalStartValue or (frame.startValue.name if frame.startValue is not None else "")
        end = frame.originalEndValue or (frame.endValue.name if frame.endValue is not None else "")
        words = [frame.type, start, frame.startType, end, frame.endType]
        text = f"{expression_text(function.functionCall)} {' '.join(word for word in words if word)}"
        details.append(f"{variable_of_key(key).name} := {text}{place(function.functionCall.sourceLocation)}")
    return "Window", f"[{_specification(node.specification)}]{hashes(node.hashVariable)}", details


def _row_number(node: nodes.RowNumberNode) -> tuple[str, str, list[str]]:
    parts = [f"partition by ({names(node.partitionBy)})"] if node.partitionBy else []
    if node.maxRowCountPerPartition is not None:
        parts.append(f"limit = {node.maxRowCountPerPartition}")
    name = "RowNumberPartial" if node.partial else "RowNumber"
    return name, f"[{', '.join(parts)}]", [f"{node.rowNumberVariable.name} := row_number()"]


def _top_n_row_number(node: nodes.TopNRowNumberNode | nodes.SpiTopNRowNumberNode) -> tuple[str, str, list[str]]:
    name = "TopNRowNumberPartial" if node.partial else "TopNRowNumber"
    identifier = f"[{_specification(node.specification)} limit {node.maxRowCountPerPartition}]"
    return name, identifier, [f"{node.rowNumberVariable.name} := row_number()"]


def _typed(variables: tuple[Variable, ...]) -> str:
    return ", ".join(f"{variable.name}:{type_text(variable.type)}" for variable in variables)


def _unnest(node: nodes.UnnestNode) -> tuple[str, str, list[str]]:
    unnested = tuple(variable_of_key(key) for key in node.unnestVariables)
    return "Unnest", f"[replicate={_typed(node.replicateVariables)}, unnest={_typed(unnested)}]", []


def _mark_distinct(node: nodes.MarkDistinctNode) -> tuple[str, str, list[str]]:
    return "MarkDistinct", f"[distinct={_typed(node.distinctVariables)} marker={node.markerVariable.name}]", []


def _group_id(node: nodes.GroupIdNode) -> tuple[str, str, list[str]]:
    inputs = {variable_of_key(key).name: source.name for key, source in node.groupingColumns.items()}
    grouping = ", ".join(f"[{', '.join(inputs.get(v.name, v.name) for v in g)}]" for g in node.groupingSets)
    details = [
        f"{variable_of_key(key).name} := {source.name}{place(source.sourceLocation)}"
        for key, source in node.groupingColumns.items()
    ]
    return "GroupId", f"[{grouping}]", details


def _sample(node: nodes.SampleNode) -> tuple[str, str, list[str]]:
    return "Sample", f"[{node.sampleType}: {node.sampleRatio}]", []


def _offset(node: nodes.OffsetNode) -> tuple[str, str, list[str]]:
    return "Offset", f"[{node.count}]", []


def _exchange(node: nodes.ExchangeNode) -> tuple[str, str, list[str]]:
    if node.scope == "LOCAL" and node.orderingScheme is not None:
        return "LocalMerge", f"[{ordering_text(node.orderingScheme)}]", []
    if node.scope == "LOCAL":
        partitioning = node.partitioningScheme.partitioning
        arguments = ", ".join(expression_text(a) for a in partitioning.arguments)
        hashed = hashes(node.partitioningScheme.hashColumn)
        return "LocalExchange", f"[{handle_text(partitioning.handle)}]{hashed} ({arguments})", []
    if node.orderingScheme is not None:
        return "RemoteStreamingMerge", f"[{ordering_text(node.orderingScheme)}]", []
    return "RemoteStreamingExchange", f"[{node.type} - {node.partitioningScheme.encoding}]", []


def _remote_source(node: nodes.RemoteSourceNode) -> tuple[str, str, list[str]]:
    fragments = ",".join(node.sourceFragmentIds)
    if node.orderingScheme is not None:
        return "RemoteMerge", f"[{fragments}] [{ordering_text(node.orderingScheme)}]", []
    return "RemoteSource", f"[{fragments}] ", []


def _written_lines(columns: tuple[str, ...], variables: tuple[Variable, ...]) -> list[str]:
    return [f"{c} := {v.name}{place(v.sourceLocation)}" for c, v in zip(columns, variables, strict=True)]


def _call_procedure(node: nodes.CallDistributedProcedureNode) -> tuple[str, str, list[str]]:
    return "CallDistributedProcedure", "", _written_lines(node.columnNames, node.columns)


def _table_writer(node: nodes.TableWriterNode) -> tuple[str, str, list[str]]:
    collected = 0 if node.statisticsAggregation is None else len(node.statisticsAggregation.get("aggregations", ()))
    lines = _written_lines(node.columnNames, node.columns)
    return "TableWriter", "", [*lines, f"Statistics collected: {collected}"]


def _table_finish(node: nodes.TableFinishNode) -> tuple[str, str, list[str]]:
    # A procedure's table is the one that it scans; what a writer writes to is not part of the plan.
    rewrites = isinstance(node.source, nodes.CallDistributedProcedureNode)
    scan = next((n for n in walk(node) if rewrites and isinstance(n, nodes.TableScanNode)), None)
    target = "" if scan is None else f"[Optional[{qualified_table(scan)}]]"
    return "TableFinish", target, []


def _maintenance(node: nodes.DistributedMaintenanceNode) -> tuple[str, str, list[str]]:
    return "DistributedMaintenance", f"[{node.procedureName}]", []


def _procedure_finish(node: nodes.ProcedureFinishNode) -> tuple[str, str, list[str]]:
    return "ProcedureFinish", f"[{node.procedureName}]", []


def _fetch(node: nodes.FetchNode) -> tuple[str, str, list[str]]:
    early = {variable.name for variable in output_variables(node.source)}
    late = [variable for variable in node.outputVariables if variable.name not in early]
    return "Fetch", f"[deferred = {names(tuple(late))}]", []


def _look_up(node: nodes.LookUpNode) -> tuple[str, str, list[str]]:
    position = node.rowPosition
    at = names((position.rowSource, *position.refColumns))
    scan = nodes.TableScanNode(
        id=node.id, table=node.table, outputVariables=node.outputVariables, assignments=node.assignments
    )
    return "LookUp", f"[table = {table_text(node.table)}, position = ({at})]", scan_columns(scan)


def _metadata_delete(node: nodes.MetadataDeleteNode) -> tuple[str, str, list[str]]:
    return "MetadataDelete", "" if node.tableHandle is None else f"[{table_text(node.tableHandle)}]", []


def _delete(_node: nodes.DeleteNode) -> tuple[str, str, list[str]]:
    return "Delete", "", []


def _update(_node: nodes.UpdateNode) -> tuple[str, str, list[str]]:
    return "Update", "", []


def _merge_processor(node: nodes.MergeProcessorNode) -> tuple[str, str, list[str]]:
    return "MergeProcessor", "", [f"merge row: {node.mergeRowSymbol.name}", f"row id: {node.rowIdSymbol.name}"]


def _merge_writer(_node: nodes.MergeWriterNode) -> tuple[str, str, list[str]]:
    return "MergeWriter", "", []


_DESCRIBERS: Mapping[type, Callable[[Any], tuple[str, str, list[str]]]] = {
    nodes.OutputNode: _output,
    nodes.ProjectNode: _project,
    nodes.FilterNode: _filter,
    nodes.AggregationNode: _aggregation,
    nodes.JoinNode: _join,
    nodes.SemiJoinNode: _semi_join,
    nodes.TopNNode: _top_n,
    nodes.SortNode: _sort,
    nodes.LimitNode: _limit,
    nodes.DistinctLimitNode: _distinct_limit,
    nodes.ValuesNode: _values,
    nodes.WindowNode: _window,
    nodes.RowNumberNode: _row_number,
    nodes.TopNRowNumberNode: _top_n_row_number,
    nodes.SpiTopNRowNumberNode: _top_n_row_number,
    nodes.UnnestNode: _unnest,
    nodes.MarkDistinctNode: _mark_distinct,
    nodes.GroupIdNode: _group_id,
    nodes.SampleNode: _sample,
    nodes.OffsetNode: _offset,
    nodes.ExchangeNode: _exchange,
    nodes.RemoteSourceNode: _remote_source,
    nodes.CallDistributedProcedureNode: _call_procedure,
    nodes.TableWriterNode: _table_writer,
    nodes.TableFinishNode: _table_finish,
    nodes.DistributedMaintenanceNode: _maintenance,
    nodes.ProcedureFinishNode: _procedure_finish,
    nodes.MetadataDeleteNode: _metadata_delete,
    nodes.FetchNode: _fetch,
    nodes.LookUpNode: _look_up,
    nodes.DeleteNode: _delete,
    nodes.UpdateNode: _update,
    nodes.MergeProcessorNode: _merge_processor,
    nodes.MergeWriterNode: _merge_writer,
}
