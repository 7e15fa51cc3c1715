"""Local Exchange, RemoteSource, and the output of a fragment."""

from __future__ import annotations

import json

import msgspec

from shared.plan.expressions import Constant, RowExpression, Variable
from shared.plan.nodes import (
    ExchangeNode,
    OutputNode,
    PartitioningHandle,
    PartitioningScheme,
    RemoteSourceNode,
    TableWriterMergeNode,
)
from sidecar.velox.constants import bigint_constant
from sidecar.velox.expressions import Scope, expression, field
from sidecar.velox.refusal import unsupported, user_error
from sidecar.velox.relation import Conversion, Relation, columns_of, node, row_of, sorting
from sidecar.velox.types import Json, same_type

_CONSTANT_CHANNEL = 4294967295  # a key that is a constant and no column
_MAX_INLINE_BYTES = 12
_GATHER: Json = {"name": "GatherPartitionFunctionSpec"}
_ROUND_ROBIN: Json = {"name": "RoundRobinPartitionFunctionSpec"}


def _system(handle: PartitioningHandle) -> tuple[str, str] | None:
    """(partitioning, function) of a handle of the system, None for a connector's."""
    inner = handle.connectorHandle
    if inner.get("@type") != "$remote":
        return None
    return str(inner.get("partitioning")), str(inner.get("function"))


def _text(value: object) -> str:
    return json.dumps(msgspec.to_builtins(value), separators=(",", ":"))


def exchange(plan: ExchangeNode, sources: list[Relation], context: Conversion) -> Relation:
    if plan.scope != "LOCAL":
        raise unsupported("Unsupported ExchangeNode scope")
    if plan.type not in ("GATHER", "REPARTITION"):
        raise unsupported(f"Unsupported exchange type: {plan.type}")
    if len(plan.inputs) != len(sources):
        raise user_error("Exchange has another number of inputs than of sources")
    columns = columns_of(plan.partitioningScheme.outputLayout)
    inputs = [_layout(plan, i, source, columns, context) for i, source in enumerate(sources)]
    if plan.orderingScheme is not None:
        return _local_merge(plan, inputs, columns, context)
    made = node(
        "LocalPartitionNode",
        plan.id,
        inputs,
        type=plan.type,
        scaleWriter=plan.partitioningScheme.scaleWriters is True,
        partitionFunctionSpec=_local_spec(plan, inputs[0] if inputs else Relation({}, columns), context),
    )
    return Relation(made, columns)


def _layout(
    plan: ExchangeNode, index: int, source: Relation, columns: dict[str, Json], context: Conversion
) -> Relation:
    """A Project that gives a source the exchange's own column names and order."""
    inputs = plan.inputs[index]
    if len(inputs) != len(columns):
        raise user_error("Exchange input has another number of columns than the output layout")
    scope = context.scope(source)
    projections = [field(v, scope) for v in inputs]
    for projection, (name, velox) in zip(projections, columns.items(), strict=True):
        if not same_type(projection["type"], velox):
            raise user_error(f"Exchange input for {name} has another type than the output layout")
    made = node("ProjectNode", f"{plan.id}.{index}", [source], names=list(columns), projections=projections)
    return Relation(made, columns)


def _local_merge(plan: ExchangeNode, inputs: list[Relation], columns: dict[str, Json], context: Conversion) -> Relation:
    assert plan.orderingScheme is not None
    if not inputs:  # Velox dereferences the first source
        raise user_error("Local merge has no sources")
    keys, orders = sorting(plan.orderingScheme, context.scope(inputs[0]))
    return Relation(node("LocalMergeNode", plan.id, inputs, sortingKeys=keys, sortingOrders=orders), columns)


def _local_spec(plan: ExchangeNode, source: Relation, context: Conversion) -> Json:
    handle = plan.partitioningScheme.partitioning.handle
    match _system(handle):
        case ("FIXED", "HASH"):
            return hash_spec(plan.partitioningScheme.partitioning.arguments, source, context.scope(source))
        case (_, "ROUND_ROBIN"):
            return _ROUND_ROBIN
    if plan.type == "GATHER":
        return _GATHER
    raise unsupported(f"Unsupported flavor of local exchange with system partitioning handle: {_text(handle)}")


def partition_keys(arguments: tuple[RowExpression, ...], scope: Scope) -> list[Json]:
    """Partition keys: columns and constants only."""
    for e in arguments:
        if not isinstance(e, Variable | Constant):
            kind = str(type(e).__struct_config__.tag)
            raise unsupported(f"Unexpected expression type: {kind}. Expected variable or constant.")
    return [expression(e, scope) for e in arguments]


def hash_spec(arguments: tuple[RowExpression, ...], source: Relation, scope: Scope) -> Json:
    """Hash partitioning over channels of ``source``.

    A constant NULL, a long text and a computed constant would crash this Velox; since a constant moves all rows
    alike, it is left out.
    """
    names = list(source.columns)
    channels: list[int] = []
    constants: list[Json] = []
    for key in partition_keys(arguments, scope):
        if key["name"] == "FieldAccessTypedExpr":
            if key["fieldName"] not in source.columns:
                raise user_error(f"Field not found: {key['fieldName']}. Available fields are: {', '.join(names)}.")
            channels.append(names.index(key["fieldName"]))
        elif _is_safe(key):
            channels.append(_CONSTANT_CHANNEL)
            constants.append(key)
    if not channels:
        channels, constants = [_CONSTANT_CHANNEL], [bigint_constant(0)]
    return {
        "name": "HashPartitionFunctionSpec",
        "inputType": row_of(source.columns),
        "keyChannels": channels,
        "constants": constants,
    }


def _is_safe(key: Json) -> bool:
    if key["name"] != "ConstantTypedExpr":
        return False
    value, type_ = key["value"]["value"], key["value"]["type"]
    if value is None or type_ in ("ARRAY", "MAP", "ROW"):
        return False
    return not isinstance(value, str) or len(value.encode()) <= _MAX_INLINE_BYTES


def remote_source(plan: RemoteSourceNode) -> Relation:
    columns = columns_of(plan.outputVariables)
    serde = _serde(plan.encoding if isinstance(plan.encoding, str) else None)
    if plan.orderingScheme is None:
        return Relation(node("ExchangeNode", plan.id, [], outputType=row_of(columns), serdeKind=serde), columns)
    keys, orders = sorting(plan.orderingScheme, Scope(columns, {}))
    made = node(
        "MergeExchangeNode",
        plan.id,
        [],
        outputType=row_of(columns),
        sortingKeys=keys,
        sortingOrders=orders,
        serdeKind=serde,
    )
    return Relation(made, columns)


def _serde(encoding: str | None) -> str:
    return "CompactRow" if encoding == "ROW_WISE" else "Presto"


def table_writer_merge(plan: TableWriterMergeNode, source: Relation) -> Relation:
    columns = columns_of((plan.rowCountVariable, plan.fragmentVariable, plan.tableCommitContextVariable))
    return Relation(node("TableWriteMergeNode", plan.id, [source], outputType=row_of(columns)), columns)


def output(plan: OutputNode, source: Relation, context: Conversion) -> Relation:
    scope = context.scope(source)
    for variable in plan.outputVariables:
        field(variable, scope)
    return _partitioned(plan.id, source, columns_of(plan.outputVariables))


def _partitioned(
    node_id: str,
    source: Relation,
    columns: dict[str, Json],
    *,
    kind: str = "PARTITIONED",
    count: int = 1,
    keys: list[Json] | None = None,
    spec: Json = _GATHER,
    replicate: bool = False,
    serde: str = "Presto",
) -> Relation:
    made = node(
        "PartitionedOutputNode",
        node_id,
        [source],
        kind=kind,
        numPartitions=count,
        keys=keys or [],
        replicateNullsAndAny=replicate,
        partitionFunctionSpec=spec,
        serdeKind=serde,
        outputType=row_of(columns),
    )
    return Relation(made, columns)


def fragment_output(scheme: PartitioningScheme, source: Relation, context: Conversion) -> Relation:
    """PartitionedOutput over a fragment whose root is no OutputNode."""
    scope = context.scope(source)
    for variable in scheme.outputLayout:
        field(variable, scope)
    node_id = f"root.{source.node['id']}"
    columns = columns_of(scheme.outputLayout)
    serde = _serde(scheme.encoding)
    handle = scheme.partitioning.handle
    system = _system(handle)
    count = max(1, len(scheme.bucketToPartition or ()))
    match system:
        case None:
            return _connector_output(scheme, source, context, node_id, columns)
        case ("SINGLE", _):
            return _partitioned(node_id, source, columns, serde=serde)
        case ("FIXED", "BROADCAST"):
            return _partitioned(node_id, source, columns, kind="BROADCAST", serde=serde)
        case ("FIXED", "HASH" | "ROUND_ROBIN") if count == 1:
            return _partitioned(node_id, source, columns, serde=serde)
        case ("FIXED", "ROUND_ROBIN"):
            return _partitioned(node_id, source, columns, count=count, spec=_ROUND_ROBIN, serde=serde)
        case ("FIXED", "HASH"):
            arguments = scheme.partitioning.arguments
            return _partitioned(
                node_id,
                source,
                columns,
                count=count,
                keys=partition_keys(arguments, scope),
                spec=hash_spec(arguments, source, scope),
                replicate=scheme.replicateNullsAndAny is True,
                serde=serde,
            )
        case ("SCALED", "ROUND_ROBIN"):
            return _partitioned(node_id, source, columns, kind="ARBITRARY", serde=serde)
        case ("FIXED" | "SCALED", function):
            raise unsupported(f"Unsupported partitioning function: {function}")
        case (partitioning, _):
            raise unsupported(f"Unsupported kind of SystemPartitioning: {partitioning}")


def _connector_output(
    scheme: PartitioningScheme, source: Relation, context: Conversion, node_id: str, columns: dict[str, Json]
) -> Relation:
    """Buckets of a connector: Hive's bucket function over the partitions that its buckets map to."""
    buckets = scheme.bucketToPartition
    if not buckets:  # one partition, as for system handles
        return _partitioned(node_id, source, columns, serde=_serde(scheme.encoding))
    scope = context.scope(source)
    keys = partition_keys(scheme.partitioning.arguments, scope)
    names = list(source.columns)
    channels = [names.index(k["fieldName"]) for k in keys if k.get("fieldName") in source.columns]
    if len(channels) != len(keys):
        raise unsupported("Unsupported constant in the bucket columns of a connector partitioning")
    spec = {
        "name": "HivePartitionFunctionSpec",
        "numBuckets": len(buckets),
        "bucketToPartition": list(buckets),
        "keys": channels,
        "constants": [],
    }
    count = max(buckets) + 1
    return _partitioned(
        node_id,
        source,
        columns,
        count=count,
        keys=keys if count > 1 else [],
        spec=spec if count > 1 else _GATHER,
        replicate=scheme.replicateNullsAndAny is True,
        serde=_serde(scheme.encoding),
    )
