"""Aggregations whose result the database computes to the last digit as Presto does."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.pushdown.expressions import Translator
from coordinator.connectors.jdbc.pushdown.refusal import NotPushable
from coordinator.connectors.jdbc.remote_query import RemoteColumn, nested, remote_query, scan_of
from coordinator.expressions.builders import NAMESPACE
from shared.plan.expressions import Call, StaticFunctionHandle, Variable
from shared.plan.nodes import Aggregation, AggregationNode, PlanNode, TableScanNode
from shared.plan.traversal import output_variables, variable_of_key
from shared.plan.types import Type, parse_type

_INTEGERS = ("tinyint", "smallint", "integer", "bigint")


def push_aggregation(node: AggregationNode, scan: TableScanNode, dialect: Dialect) -> PlanNode:
    """The scan of the aggregated rows; raises NotPushable unless every key and every function can be pushed."""
    sets = node.groupingSets
    if node.step != "SINGLE" or sets.groupingSetCount != 1 or node.groupIdVariable is not None:
        raise NotPushable("several grouping sets")
    query = remote_query(scan, dialect)
    if not query.simple:
        query = nested(query, dialect.quote(f"T{node.id}"), dialect)
    translator = Translator(query.columns, dialect)
    keys = tuple(translator.key(variable) for variable in sets.groupingKeys)
    columns = {v.name: _grouped(query.columns[v.name], k) for v, k in zip(sets.groupingKeys, keys, strict=True)}
    for key, aggregation in node.aggregations.items():
        columns[variable_of_key(key).name] = _function(aggregation, translator)
    return scan_of(scan, replace(query, columns=columns, group_by=keys), output_variables(node))


def _grouped(column: RemoteColumn, key: str) -> RemoteColumn:
    return column if column.sql == key else replace(column, sql=key, collation=None)


def _function(aggregation: Aggregation, translator: Translator) -> RemoteColumn:
    call = aggregation.call
    plain = aggregation.filter is None and aggregation.orderBy is None and aggregation.mask is None
    if not plain or not isinstance(call.functionHandle, StaticFunctionHandle):
        raise NotPushable("an aggregate with FILTER or ORDER BY")
    name = call.functionHandle.signature.name.removeprefix(NAMESPACE)
    distinct = aggregation.distinct is not UNSET and bool(aggregation.distinct)
    if name == "count" and not call.arguments:
        return RemoteColumn(f"{translator.dialect.syntax.count}(*)", "bigint", nullable=False)
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], Variable):
        raise NotPushable(f"the aggregate {name}")
    return _of_one(name, call, call.arguments[0], translator, distinct=distinct)


def _of_one(name: str, call: Call, argument: Variable, translator: Translator, *, distinct: bool) -> RemoteColumn:
    type_ = parse_type(argument.type)
    match name:
        case "count":
            value = translator.key(argument) if distinct else translator.column(argument).sql
            counted = f"DISTINCT {value}" if distinct else value
            return RemoteColumn(f"{translator.dialect.syntax.count}({counted})", "bigint", nullable=False)
        case "min" | "max" if type_.base not in ("char", "real", "double", "boolean"):
            # NaN and the padding of char count otherwise in a database.
            return RemoteColumn(f"{name}({translator.order(argument)})", argument.type)
        case "sum" if not distinct and (type_.base in _INTEGERS or type_.base == "decimal"):
            return RemoteColumn(_sum(type_, parse_type(call.returnType), argument, translator), call.returnType)
        case _:
            raise NotPushable(f"the aggregate {name} of {type_}")


def _sum(type_: Type, target: Type, argument: Variable, translator: Translator) -> str:
    dialect = translator.dialect
    shown = dialect.syntax.type_name(target.base, target.numbers)
    if shown is None or not dialect.semantics.sums(type_.base, type_.numbers[0] if type_.numbers else 0):
        raise NotPushable(f"a sum of {type_}, which the database would cut")
    return f"CAST(sum({dialect.syntax.sum_argument(translator.column(argument).sql, type_.base)}) AS {shown})"
