"""Nodes that pass or compute rows: Filter, Project, Limit, Sort, TopN, Values, Unnest, Sample and the like."""

from __future__ import annotations

from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, Variable
from shared.plan.nodes import (
    AssignUniqueId,
    DistinctLimitNode,
    EnforceSingleRowNode,
    FilterNode,
    LimitNode,
    MarkDistinctNode,
    ProjectNode,
    SortNode,
    TopNNode,
    UnnestNode,
    ValuesNode,
)
from sidecar.velox.constants import constant, null
from sidecar.velox.expressions import Scope, column, expression
from sidecar.velox.hoist import hoist
from sidecar.velox.refusal import user_error
from sidecar.velox.relation import Conversion, Relation, columns_of, fields, node, sorting
from sidecar.velox.types import Json, same_type, velox_type


def variable_of_key(key: str) -> tuple[str, str]:
    """Splits ``name<type>``; names may hold ``<`` only in their quotes, types never open with it."""
    name, separator, rest = key.partition("<")
    if not separator or not rest.endswith(">"):
        raise user_error(f"Malformed variable key: {key}")
    return name, rest[:-1]


def filter_(plan: FilterNode, source: Relation, context: Conversion) -> Relation:
    predicate = expression(plan.predicate, context.scope(source))
    below, (predicate,) = hoist(plan.id, source, [predicate])
    # Hoisted columns stay visible above; nodes name what they read.
    return Relation(node("FilterNode", plan.id, [below], filter=predicate), below.columns)


def project(plan: ProjectNode, source: Relation, context: Conversion) -> Relation:
    scope = context.scope(source)
    columns: dict[str, Json] = {}
    projections: list[Json] = []
    for key, value in plan.assignments.assignments.items():
        name, type_text = variable_of_key(key)
        columns[name] = velox_type(type_text)
        projections.append(expression(value, scope))
    below, projections = hoist(plan.id, source, projections)
    made = node("ProjectNode", plan.id, [below], names=list(columns), projections=projections)
    return Relation(made, columns)


def limit(plan: LimitNode, source: Relation) -> Relation:
    made = node("LimitNode", plan.id, [source], partial=plan.step == "PARTIAL", offset=0, count=plan.count)
    return Relation(made, source.columns)


def distinct_limit(plan: DistinctLimitNode, source: Relation, context: Conversion) -> Relation:
    variables = plan.distinctVariables
    if plan.hashVariable is not None and plan.hashVariable not in variables:
        variables = (*variables, plan.hashVariable)
    keys = fields(variables, context.scope(source))
    distinct = node(
        "AggregationNode",
        plan.id,
        [source],
        step="SINGLE",
        groupingKeys=keys,
        preGroupedKeys=[],
        aggregateNames=[],
        aggregates=[],
        globalGroupingSets=[],
        ignoreNullKeys=False,
    )
    columns = columns_of(variables)
    made = node(
        "LimitNode",
        f"{plan.id}.limit",
        [Relation(distinct, columns)],
        partial=plan.partial,
        offset=0,
        count=plan.limit,
    )
    return Relation(made, columns)


def sort(plan: SortNode, source: Relation, context: Conversion) -> Relation:
    keys, orders = sorting(plan.orderingScheme, context.scope(source))
    made = node("OrderByNode", plan.id, [source], sortingKeys=keys, sortingOrders=orders, partial=plan.isPartial)
    return Relation(made, source.columns)


def top_n(plan: TopNNode, source: Relation, context: Conversion) -> Relation:
    keys, orders = sorting(plan.orderingScheme, context.scope(source))
    partial = plan.step == "PARTIAL"
    made = node(
        "TopNNode", plan.id, [source], sortingKeys=keys, sortingOrders=orders, count=plan.count, partial=partial
    )
    return Relation(made, source.columns)


def mark_distinct(plan: MarkDistinctNode, source: Relation, context: Conversion) -> Relation:
    keys = fields(plan.distinctVariables, context.scope(source))
    made = node("MarkDistinctNode", plan.id, [source], distinctKeys=keys, markerName=plan.markerVariable.name)
    return Relation(made, {**source.columns, plan.markerVariable.name: velox_type("boolean")})


def enforce_single_row(plan: EnforceSingleRowNode, source: Relation) -> Relation:
    return Relation(node("EnforceSingleRowNode", plan.id, [source]), source.columns)


def assign_unique_id(plan: AssignUniqueId, source: Relation) -> Relation:
    made = node("AssignUniqueIdNode", plan.id, [source], idName=plan.idVariable.name, taskUniqueId=0)
    return Relation(made, {**source.columns, plan.idVariable.name: velox_type("bigint")})


def values(plan: ValuesNode, context: Conversion) -> Relation:
    """VALUES: this Velox takes no row data in JSON, so rows are constants projected over one empty row.

    Zero rows: typed NULLs over no row. One: a Project. More: an Expand, or a union of Projects when a constant is
    nested or has no literal form. The group's text is one Values line again.
    """
    columns = columns_of(plan.outputVariables)
    if len(columns) != len(plan.outputVariables):
        raise user_error("Values has duplicate output variables")
    if any(len(row) != len(columns) for row in plan.rows):
        raise user_error("Values row has another number of fields than output variables")
    nothing = Relation(
        {"name": "ValuesNode", "id": f"{plan.id}.none", "data": "", "parallelizable": False, "repeatTimes": 1}, {}
    )
    context.values[plan.id] = (len(plan.rows), "")
    names = list(columns)
    if not plan.rows:
        nulls = [null(t) for t in columns.values()]
        return Relation(node("ProjectNode", plan.id, [nothing], names=names, projections=nulls), columns)
    one = Relation(node("EnforceSingleRowNode", f"{plan.id}.one", [nothing]), {})
    rows = [[_value(e, context.scope(one)) for e in row] for row in plan.rows]
    _check_row_types(plan.outputVariables, rows)
    if len(rows) == 1:
        return Relation(node("ProjectNode", plan.id, [one], names=names, projections=rows[0]), columns)
    if columns and all(_plain(e) for row in rows for e in row):
        return Relation(node("ExpandNode", plan.id, [one], names=names, projections=rows), columns)
    return _union(plan.id, rows, columns)


def _value(e: RowExpression, scope: Scope) -> Json:
    """A cell: a constant, or what newer workers evaluate to one."""
    if isinstance(e, Constant):
        return constant(e)
    if isinstance(e, Call | SpecialForm):
        return expression(e, scope)
    raise user_error(f"Unexpected expression in Values: {type(e).__name__.lower()}. Expected constant.")


def _plain(e: Json) -> bool:
    """Whether an Expand takes it: a literal that is no array, map or row, which compile as calls."""
    return e["name"] == "ConstantTypedExpr" and e["value"]["type"] not in ("ARRAY", "MAP", "ROW")


def _check_row_types(variables: tuple[Variable, ...], rows: list[list[Json]]) -> None:
    for row in rows:
        for variable, value in zip(variables, row, strict=True):
            if not same_type(velox_type(variable.type), value["type"]):
                raise user_error(f"Values column {variable.name} is {variable.type}, but holds another type")


def _union(node_id: str, rows: list[list[Json]], columns: dict[str, Json]) -> Relation:
    branches = []
    for i, row in enumerate(rows):
        empty = {
            "name": "ValuesNode",
            "id": f"{node_id}.none.{i}",
            "data": "",
            "parallelizable": False,
            "repeatTimes": 1,
        }
        one = Relation(node("EnforceSingleRowNode", f"{node_id}.one.{i}", [Relation(empty, {})]), {})
        branch = node("ProjectNode", f"{node_id}.{i}", [one], names=list(columns), projections=row)
        branches.append(Relation(branch, columns))
    made = node(
        "LocalPartitionNode",
        node_id,
        branches,
        type="GATHER",
        scaleWriter=False,
        partitionFunctionSpec={"name": "GatherPartitionFunctionSpec"},
    )
    return Relation(made, columns)


def unnest(plan: UnnestNode, source: Relation, context: Conversion) -> Relation:
    """Arrays and maps become columns; an array of rows whose fields are asked for is taken apart above."""
    scope = context.scope(source)
    names: list[str] = []
    columns = columns_of(plan.replicateVariables)
    spread: dict[str, Json] = {}
    inputs = []
    for key, outputs in plan.unnestVariables.items():
        name, text = variable_of_key(key)
        velox = velox_type(text)
        if scope.columns is not None:
            scope.resolve(Variable(name=name, type=text), velox)
        inputs.append(column(name, velox))
        _unnest_names(plan.id, name, velox, columns_of(outputs), names, columns, spread)
    if plan.ordinalityVariable is not None:
        columns[plan.ordinalityVariable.name] = velox_type("bigint")
    made = node(
        "UnnestNode",
        plan.id,
        [source],
        replicateVariables=fields(plan.replicateVariables, scope),
        unnestVariables=inputs,
        unnestNames=names,
    )
    if plan.ordinalityVariable is not None:
        made["ordinalityName"] = plan.ordinalityVariable.name
    unnested = Relation(made, columns)
    return _take_apart(plan, unnested, spread) if spread else unnested


def _unnest_names(
    node_id: str,
    name: str,
    velox: Json,
    outputs: dict[str, Json],
    names: list[str],
    columns: dict[str, Json],
    spread: dict[str, Json],
) -> None:
    expected = {"ARRAY": 1, "MAP": 2}.get(velox["type"])
    if expected is None:
        raise unnest_refusal(velox)
    element = velox["cTypes"][0]
    rows = velox["type"] == "ARRAY" and element["type"] == "ROW"
    if rows and len(outputs) == len(element["cTypes"]) and not (len(outputs) == 1 and _is_row(outputs)):
        whole = f"{name}${node_id}"
        names.append(whole)
        columns[whole] = element
        for index, output in enumerate(outputs):
            spread[output] = {
                "name": "DereferenceTypedExpr",
                "type": element["cTypes"][index],
                "inputs": [column(whole, element)],
                "fieldIndex": index,
            }
        return
    if len(outputs) != expected:
        raise user_error(f"Unnest of {velox['type']} gives {expected} columns, but {len(outputs)} are named")
    names.extend(outputs)
    columns.update(zip(outputs, velox["cTypes"], strict=True))


def _is_row(outputs: dict[str, Json]) -> bool:
    return bool(next(iter(outputs.values()))["type"] == "ROW")


def unnest_refusal(velox: Json) -> Exception:
    """Velox's own text for a column that is neither array nor map."""
    return user_error(f"Unexpected type of unnest variable. Expected ARRAY or MAP, but got {velox['type']}.")


def _take_apart(plan: UnnestNode, unnested: Relation, spread: dict[str, Json]) -> Relation:
    wholes = {e["inputs"][0]["fieldName"] for e in spread.values()}
    wanted = {n: column(n, t) for n, t in unnested.columns.items() if n not in wholes} | spread
    columns = {n: e["type"] for n, e in wanted.items()}
    made = node("ProjectNode", f"{plan.id}.fields", [unnested], names=list(wanted), projections=list(wanted.values()))
    return Relation(made, columns)
