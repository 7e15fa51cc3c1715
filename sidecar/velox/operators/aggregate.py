"""Aggregation and GroupId."""

from __future__ import annotations

from shared.plan.expressions import Variable
from shared.plan.nodes import Aggregation, AggregationNode, GroupIdNode
from sidecar.velox.expressions import Scope, expression, field
from sidecar.velox.functions import argument_types, presto_name, velox_name
from sidecar.velox.operators.rows import variable_of_key
from sidecar.velox.refusal import located, user_error
from sidecar.velox.relation import Conversion, Relation, columns_of, fields, node, sorting
from sidecar.velox.types import Json, velox_type


def aggregation(plan: AggregationNode, source: Relation, context: Conversion) -> Relation:
    scope = context.scope(source)
    sets = plan.groupingSets
    grouping = sets.groupingKeys
    if plan.hashVariable is not None and grouping:
        grouping = (*grouping, plan.hashVariable)  # a function of the keys; nodes above read it
    columns = columns_of(grouping)
    aggregates: list[Json] = []
    names: list[str] = []
    for key, entry in plan.aggregations.items():
        name, type_text = variable_of_key(key)
        names.append(name)
        columns[name] = velox_type(type_text)
        with located(entry.call.sourceLocation):
            aggregates.append(_aggregate(entry, scope))
    pre_grouped = plan.preGroupedVariables if isinstance(plan.preGroupedVariables, tuple) else ()
    streams = bool(pre_grouped) and sets.groupingSetCount == 1 and not sets.globalGroupingSets
    made = node(
        "AggregationNode",
        plan.id,
        [source],
        step=plan.step,
        groupingKeys=fields(grouping, scope),
        preGroupedKeys=fields(pre_grouped, scope) if streams else [],
        aggregateNames=names,
        aggregates=aggregates,
        globalGroupingSets=[],
        ignoreNullKeys=False,
    )
    if plan.groupIdVariable is not None and sets.globalGroupingSets:
        made["groupId"] = field(plan.groupIdVariable, scope)
        made["globalGroupingSets"] = list(sets.globalGroupingSets)
    return Relation(made, columns)


def _aggregate(entry: Aggregation, scope: Scope) -> Json:
    call = entry.call
    inputs = [expression(a, scope) for a in call.arguments]
    aggregate: Json = {
        "call": {
            "name": "CallTypedExpr",
            "type": velox_type(call.returnType),
            "functionName": velox_name(presto_name(call.functionHandle)),
            "inputs": inputs,
        },
        "rawInputTypes": [velox_type(t) for t in argument_types(call.functionHandle)],
        "sortingKeys": [],
        "sortingOrders": [],
        "distinct": entry.distinct is True,
    }
    if entry.orderBy is not None:
        aggregate["sortingKeys"], aggregate["sortingOrders"] = sorting(entry.orderBy, scope)
    mask = entry.mask
    if mask is None and entry.filter is not None:
        if not isinstance(entry.filter, Variable):
            raise user_error("Aggregation filter is not a column")
        mask = entry.filter
    if mask is not None:
        aggregate["mask"] = field(mask, scope)
    return aggregate


def group_id(plan: GroupIdNode, source: Relation, context: Conversion) -> Relation:
    scope = context.scope(source)
    columns: dict[str, Json] = {}
    infos = []
    for key, variable in plan.groupingColumns.items():
        name, type_text = variable_of_key(key)
        columns[name] = velox_type(type_text)
        infos.append({"output": name, "input": field(variable, scope)})
    inputs = fields(plan.aggregationArguments, scope)
    columns.update(columns_of(plan.aggregationArguments))
    columns[plan.groupIdVariable.name] = velox_type("bigint")
    made = node(
        "GroupIdNode",
        plan.id,
        [source],
        groupingSets=[[v.name for v in s] for s in plan.groupingSets],
        groupingKeyInfos=infos,
        aggregationInputs=inputs,
        groupIdName=plan.groupIdVariable.name,
    )
    return Relation(made, columns)
