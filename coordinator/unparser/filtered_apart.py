"""Two plans that are alike but for one filter: computed for the rows of both, and each use filters its own again.

That gives the rows of each where what the filters ask for passes unchanged through all that is above them: through
joins that keep or drop rows, and through groups of which it is a key. What only one of them computes is computed of the
rows of the other as well, and so must not fail for any row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from coordinator.expressions.builders import NAMESPACE, conjunction, conjuncts, disjunction, typed
from coordinator.expressions.failing import may_fail
from coordinator.unparser.plan_forms import NotAlikeError, form, name_of, renamed
from shared.plan.expressions import RowExpression, StaticFunctionHandle, Variable
from shared.plan.nodes import Aggregation, AggregationNode, JoinNode, TableScanNode
from shared.plan.traversal import free_variables

_SAME_IF_EQUAL = ("boolean", "tinyint", "smallint", "integer", "bigint", "date", "varchar", "decimal")
"""Types whose equal values are one value: a group of 0.0 may have -0.0 for others to see."""

_DOMAINS, _PARTITIONS, _COLUMNS = "domainPredicate", "partitionColumnPredicate", "predicateColumns"
_NEVER_FAIL = ("count", "min", "max", "bool_and", "bool_or")
_OF_FLOATING = ("sum", "avg")
"""Aggregates that have a value for all rows, the second ones of floating point alone: other sums may overflow."""


class Apart(NamedTuple):
    """What is left to ask of the rows: for the first plan and for the second one, in the names of the plan of both."""

    mine: tuple[RowExpression, ...] = ()
    others: tuple[RowExpression, ...] = ()

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(dict.fromkeys(v for term in (*self.mine, *self.others) for v in free_variables(term)))


def split(first: RowExpression, second: RowExpression) -> tuple[RowExpression, Apart]:
    """The predicate for the rows of both. Raises NotAlikeError where one asks for nothing that the other does not."""
    mine, others = ({form(term): term for term in conjuncts(each)} for each in (first, second))
    if mine.keys() == others.keys():
        return first, Apart()
    common = [term for key, term in mine.items() if key in others]
    apart = Apart(
        tuple(term for key, term in mine.items() if key not in others),
        tuple(term for key, term in others.items() if key not in mine),
    )
    known = all(typed(variable).base in _SAME_IF_EQUAL for variable in apart.variables)
    if not apart.mine or not apart.others or not known:
        raise NotAlikeError
    either = disjunction([conjunction(apart.mine), conjunction(apart.others)])
    return conjunction([*common, either]), apart


def with_common_domains(first: TableScanNode, second: TableScanNode) -> list[TableScanNode]:
    """The scans below two filters, with what both say of files; they stay as they are where partitions differ."""
    layouts = [scan.table.connectorTableLayout or {} for scan in (first, second)]
    known = [(layout.get(_DOMAINS) or {}).get("columnDomains") or [] for layout in layouts]
    if layouts[0].get(_PARTITIONS) != layouts[1].get(_PARTITIONS) or not all(known):
        return [first, second]
    common = [domain for domain in known[0] if domain in known[1]]
    names = [domain["column"] for domain in common]
    made = []
    for scan, layout in zip((first, second), layouts, strict=True):
        columns = {name: handle for name, handle in (layout.get(_COLUMNS) or {}).items() if name in names}
        of_both = {**layout, _DOMAINS: {"columnDomains": common}, _COLUMNS: columns}
        made.append(replace(scan, table=replace(scan.table, connectorTableLayout=of_both)))
    return made


def unless_apart(apart: Apart) -> None:
    """Raises NotAlikeError where a node above would give other rows."""
    if apart.mine:
        raise NotAlikeError


def unless_one_fails(apart: Apart, *sides: Iterable[RowExpression | Aggregation]) -> None:
    """Raises NotAlikeError where something that only one side computes could fail for rows of the other side."""
    if not apart.mine:
        return
    first, second = ({form(each): each for each in side} for side in sides)
    for key in first.keys() ^ second.keys():
        alone = first[key] if key in first else second[key]
        if _aggregate_may_fail(alone) if isinstance(alone, Aggregation) else may_fail(alone):
            raise NotAlikeError


def _aggregate_may_fail(aggregation: Aggregation) -> bool:
    handle, arguments = aggregation.call.functionHandle, aggregation.call.arguments
    if not isinstance(handle, StaticFunctionHandle) or any(map(may_fail, arguments)):
        return True
    function = handle.signature.name.removeprefix(NAMESPACE)
    floating = all(typed(argument).base in ("double", "real") for argument in arguments)
    return function not in _NEVER_FAIL and not (function in _OF_FLOATING and floating)


def above_projection(apart: Apart, assigned: dict[str, RowExpression]) -> Apart:
    """In the names above; ``assigned`` passes on what has no name there."""
    names = {}
    for variable in apart.variables:
        shown = [name_of(key) for key, value in assigned.items() if value == variable]
        if not shown and any(name_of(key) == variable.name for key in assigned):
            raise NotAlikeError
        if not shown:
            assigned[variable.key] = variable
        names[variable.name] = shown[0] if shown else variable.name
    return Apart(_with_names(apart.mine, names), _with_names(apart.others, names))


def _with_names(terms: Sequence[RowExpression], names: dict[str, str]) -> tuple[RowExpression, ...]:
    return tuple(renamed(term, RowExpression, names) for term in terms)


def above_join(node: JoinNode, left: Apart, right: Apart) -> Apart:
    """One side's, if the join keeps no row of that side for want of a match on it, and drops none but by matches."""
    if left.mine and right.mine:
        raise NotAlikeError
    if (left.mine and node.type not in ("INNER", "LEFT")) or (right.mine and node.type not in ("INNER", "RIGHT")):
        raise NotAlikeError
    return left if left.mine else right


def above_groups(node: AggregationNode, apart: Apart) -> Apart:
    """The same where whole groups pass or do not."""
    sets = node.groupingSets
    keys = {key.name for key in sets.groupingKeys}
    if apart.mine and (sets.groupingSetCount != 1 or sets.globalGroupingSets):
        raise NotAlikeError
    if any(variable.name not in keys for variable in apart.variables):
        raise NotAlikeError
    return apart
