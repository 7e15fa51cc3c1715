"""``row_number()`` numbers rows without a window's frames, and only the rows whose numbers are asked for.

Presto's WindowFilterPushDown: without ORDER BY a RowNumber, with one below a filter like ``r <= 3`` a TopNRowNumber,
which holds three rows of each partition where a window holds and sorts them all.
"""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.expressions.builders import NAMESPACE, conjunction, conjuncts
from coordinator.optimizer.rule import RuleContext
from coordinator.optimizer.tuple_domain import Bound, Domain, Range, column_domains
from shared.plan.expressions import StaticFunctionHandle, Variable
from shared.plan.nodes import FilterNode, PlanNode, RowNumberNode, TopNRowNumberNode, ValuesNode, WindowNode
from shared.plan.traversal import output_variables, variable_of_key

KINDS = (FilterNode, WindowNode)
_MOST = 2**31 - 1
"""The limit is an integer to workers."""


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """The window as row numbers; the filter over them as a limit, as far as it is one."""
    match node:
        case WindowNode() if (number := _number(node)) is not None and node.specification.orderingScheme is None:
            return RowNumberNode(
                id=context.ids.next(),
                sourceLocation=node.sourceLocation,
                source=node.source,
                partitionBy=node.specification.partitionBy,
                rowNumberVariable=number,
                partial=False,
            )
        case FilterNode(source=RowNumberNode() as rows):
            return _limited(node, rows, rows.rowNumberVariable, context)
        case FilterNode(source=WindowNode() as window) if (number := _number(window)) is not None:
            return _limited(node, window, number, context)
        case _:
            return node


def _number(window: WindowNode) -> Variable | None:
    """The variable of the only function, if that is ``row_number``."""
    if len(window.windowFunctions) != 1:
        return None
    ((key, function),) = window.windowFunctions.items()
    handle = function.functionCall.functionHandle
    numbers = isinstance(handle, StaticFunctionHandle) and handle.signature.name == f"{NAMESPACE}row_number"
    return replace(variable_of_key(key), sourceLocation=function.functionCall.sourceLocation) if numbers else None


def _limited(node: FilterNode, below: RowNumberNode | WindowNode, number: Variable, context: RuleContext) -> PlanNode:
    domain = column_domains(node.predicate).get(Variable(name=number.name, type=number.type))
    limit = None if domain is None else _upper(domain)
    if domain is None or limit is None or limit > _MOST:
        return node
    if limit < 1:
        return ValuesNode(
            id=context.ids.next(),
            sourceLocation=node.sourceLocation,
            outputVariables=output_variables(node),
            rows=(),
        )
    made = _with_limit(below, number, limit, context)
    if made is below:
        return node
    if not _is_up_to(domain, limit):
        return replace(node, source=made)
    left = [term for term in conjuncts(node.predicate) if {v.name for v in column_domains(term)} != {number.name}]
    return replace(node, source=made, predicate=conjunction(left)) if left else made


def _with_limit(
    below: RowNumberNode | WindowNode, number: Variable, limit: int, context: RuleContext
) -> RowNumberNode | TopNRowNumberNode:
    if isinstance(below, RowNumberNode):
        known = below.maxRowCountPerPartition
        return below if known is not None and known <= limit else replace(below, maxRowCountPerPartition=limit)
    return TopNRowNumberNode(
        id=context.ids.next(),
        sourceLocation=below.sourceLocation,
        source=below.source,
        specification=below.specification,
        rowNumberVariable=number,
        maxRowCountPerPartition=limit,
        partial=False,
    )


def _upper(domain: Domain) -> int | None:
    """The largest number that passes, 0 when none does."""
    if domain.null_allowed or domain.ranges is None:
        return None
    highs = [each.high for each in domain.ranges]
    if any(high is None for high in highs):
        return None
    return max((_last(high) for high in highs if high is not None), default=0)


def _last(high: Bound) -> int:
    return int(high.value) if high.inclusive else int(high.value) - 1


def _is_up_to(domain: Domain, limit: int) -> bool:
    """Whether the domain is all numbers up to the limit; Presto keeps ``r < 4`` beside a limit of 3."""
    match domain.ranges:
        case (Range(low=None, high=Bound(value=value, inclusive=True)),):
            return bool(value == limit)
        case _:
            return False
