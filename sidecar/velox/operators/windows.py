"""Window, RowNumber, TopNRowNumber."""

from __future__ import annotations

from shared.plan.nodes import RowNumberNode, SpiTopNRowNumberNode, TopNRowNumberNode, WindowFrame, WindowNode
from sidecar.velox.expressions import Scope, expression, field
from sidecar.velox.functions import presto_name
from sidecar.velox.operators.rows import variable_of_key
from sidecar.velox.refusal import located, unsupported, user_error
from sidecar.velox.relation import Conversion, Relation, fields, node, sorting
from sidecar.velox.types import Json, velox_type

_PRESTO_FRAMES = {"RANGE": 0, "ROWS": 1, "GROUPS": 2}


def window(plan: WindowNode, source: Relation, context: Conversion) -> Relation:
    scope = context.scope(source)
    partition = plan.specification.partitionBy
    keys: list[Json] = []
    orders: list[Json] = []
    if plan.specification.orderingScheme is not None:
        # A partition key is constant within its partition, so sorting by it says nothing and Velox forbids it.
        keys, orders = sorting(plan.specification.orderingScheme, scope, frozenset(v.name for v in partition))
    columns = dict(source.columns)
    functions, names = [], []
    for key, entry in plan.windowFunctions.items():
        name, type_text = variable_of_key(key)
        names.append(name)
        columns[name] = velox_type(type_text)
        with located(entry.functionCall.sourceLocation):
            called = expression(entry.functionCall, scope)
            if called["name"] != "CallTypedExpr":  # a cast, which ends the process of a Velox that is asked to run it
                raise user_error(f"{presto_name(entry.functionCall.functionHandle)} is not a window function")
            function = {
                "functionCall": called,
                "frame": _frame(entry.frame, scope),
                "ignoreNulls": entry.ignoreNulls,
            }
        functions.append(function)
    made = node(
        "WindowNode",
        plan.id,
        [source],
        partitionKeys=fields(partition, scope),
        sortingKeys=keys,
        sortingOrders=orders,
        functions=functions,
        names=names,
        inputsSorted=False,
    )
    return Relation(made, columns)


def _frame(frame: WindowFrame, scope: Scope) -> Json:
    if frame.type == "GROUPS":
        raise unsupported(f"Unsupported window type: {_PRESTO_FRAMES[frame.type]}")
    made: Json = {
        "type": frame.type,
        "startType": frame.startType.replace("_", " "),
        "endType": frame.endType.replace("_", " "),
    }
    if frame.startValue is not None:
        made["startValue"] = field(frame.startValue, scope)
    if frame.endValue is not None:
        made["endValue"] = field(frame.endValue, scope)
    return made


def row_number(plan: RowNumberNode, source: Relation, context: Conversion) -> Relation:
    name = None if plan.partial else plan.rowNumberVariable.name
    return _row_number(
        plan.id, source, fields(plan.partitionBy, context.scope(source)), name, plan.maxRowCountPerPartition
    )


def _row_number(node_id: str, source: Relation, keys: list[Json], name: str | None, limit: int | None) -> Relation:
    made = node("RowNumberNode", node_id, [source], partitionKeys=keys)
    columns = dict(source.columns)
    if name is not None:
        made["rowNumberColumnName"] = name
        columns[name] = velox_type("bigint")
    if limit is not None:
        made["limit"] = limit
    return Relation(made, columns)


def top_n_row_number(plan: TopNRowNumberNode | SpiTopNRowNumberNode, source: Relation, context: Conversion) -> Relation:
    if plan.rankingType not in (None, "ROW_NUMBER"):
        raise unsupported(f"Unsupported ranking type: {plan.rankingType}")
    scope = context.scope(source)
    partition = plan.specification.partitionBy
    partition_keys = fields(partition, scope)
    name = None if plan.partial else plan.rowNumberVariable.name
    keys: list[Json] = []
    orders: list[Json] = []
    if plan.specification.orderingScheme is not None:
        keys, orders = sorting(plan.specification.orderingScheme, scope, frozenset(v.name for v in partition))
    if not keys:
        return _row_number(plan.id, source, partition_keys, name, plan.maxRowCountPerPartition)
    made = node(
        "TopNRowNumberNode",
        plan.id,
        [source],
        partitionKeys=partition_keys,
        sortingKeys=keys,
        sortingOrders=orders,
        limit=plan.maxRowCountPerPartition,
    )
    columns = dict(source.columns)
    if name is not None:
        made["rowNumberColumnName"] = name
        columns[name] = velox_type("bigint")
    return Relation(made, columns)
