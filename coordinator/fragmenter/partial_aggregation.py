"""Aggregation in two steps around an exchange (Presto's PushPartialAggregationThroughExchange).

A function takes part when the type of its intermediate state is known here; one that does not keeps the whole node in
one step. The types are those that a real Presto coordinator sent (tests/data/presto_fragments), and what Velox
registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from coordinator.vocabulary.identifiers import PlanNodeIds, Variables
from shared.plan.expressions import StaticFunctionHandle, Variable, type_of
from shared.plan.nodes import Aggregation, AggregationNode, PlanNode
from shared.plan.traversal import output_variables, variable_of_key
from shared.plan.types import parse_type

_PREFIX = "presto.default."
_OF_ARGUMENT = frozenset({"min", "max", "arbitrary", "any_value", "bool_and", "bool_or", "every"})
_BITWISE = frozenset({"bitwise_and_agg", "bitwise_or_agg", "bitwise_xor_agg"})
_COUNTS = frozenset({"count", "count_if"})
_MOMENTS = frozenset({"stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp"})
_AVERAGE = "row(field0 double,field1 bigint)"
_THREE_MOMENTS = "row(field0 bigint,field1 double,field2 double)"


def split_aggregation(
    node: AggregationNode, source: PlanNode, ids: PlanNodeIds
) -> tuple[PlanNode, AggregationNode] | None:
    """The partial step over ``source`` and the final step without its source; None where one step must do."""
    states = {key: _state(aggregation) for key, aggregation in node.aggregations.items()}
    sets = node.groupingSets
    if node.step != "SINGLE" or None in states.values() or (sets.globalGroupingSets and sets.groupingKeys):
        return None
    names = Variables()
    for variable in (*output_variables(source), *output_variables(node)):
        names.new(variable.name, variable.type)
    partial: dict[str, Aggregation] = {}
    final: dict[str, Aggregation] = {}
    for key, aggregation in node.aggregations.items():
        state = states[key]
        assert state is not None
        kept = names.new(variable_of_key(key).name, state, aggregation.call.sourceLocation)
        partial[kept.key] = replace(aggregation, call=replace(aggregation.call, returnType=state))
        final[key] = _final(aggregation, kept)
    first = replace(node, id=ids.next(), source=source, aggregations=partial, step="PARTIAL")
    return first, replace(node, aggregations=final, step="FINAL")


def _final(aggregation: Aggregation, state: Variable) -> Aggregation:
    # Lambdas of reduce_agg and the like are arguments of both steps, were they split.
    arguments: Sequence[Variable] = (state,)
    return replace(
        aggregation,
        call=replace(aggregation.call, arguments=tuple(arguments)),
        arguments=tuple(arguments) if aggregation.arguments is not UNSET else UNSET,
        mask=None,
    )


def _state(aggregation: Aggregation) -> str | None:
    """The type of a function's intermediate state; None when it is not known or the rows of a group must meet."""
    call = aggregation.call
    # The same value may come from several partial steps, so that none of them can tell whether it is new.
    distinct = aggregation.distinct is not UNSET and bool(aggregation.distinct)
    if distinct or aggregation.orderBy is not None or aggregation.filter is not None:
        return None
    if not isinstance(call.functionHandle, StaticFunctionHandle):
        return None
    name = call.functionHandle.signature.name.removeprefix(_PREFIX)
    types = [parse_type(type_of(argument)) for argument in call.arguments]
    if name in _COUNTS:
        return "bigint"
    if len(types) != 1:
        return None
    base = types[0].base
    if name in _OF_ARGUMENT or name in _BITWISE:
        return type_of(call.arguments[0])
    if name in _MOMENTS:
        return _THREE_MOMENTS if base == "double" else None
    match name, base:
        case (("sum" | "avg"), "decimal"):
            return "varbinary"
        case "sum", "bigint" | "double":
            return base
        case "avg", "bigint" | "double":
            return _AVERAGE
        case _:
            return None
