"""One plan in place of two that compute the same but for their columns: the uses of a WITH query want different ones.

Filters, joins and keys of groups must be the same; columns, projections and aggregates are taken together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import (
    Aggregation,
    AggregationNode,
    Assignments,
    EnforceSingleRowNode,
    FilterNode,
    JoinNode,
    PlanNode,
    ProjectNode,
    SemiJoinNode,
    TableScanNode,
    TopNNode,
)
from shared.plan.traversal import output_variables, variable_of_key

_PLACES = frozenset({"sourceLocation", "aggregationId", "transaction"})
"""What differs between two plans of one query; snapshots are pinned, so that a transaction says nothing."""
Names = Mapping[str, str]
"""What the merged plan calls the variables of the second one; the first one's keep their names."""
T = TypeVar("T")


class Merged(NamedTuple):
    """A plan with the columns of two, and the names of the second one's."""

    plan: PlanNode
    names: Names


class _NotAlikeError(Exception):
    """The two compute something else."""


def merged(first: PlanNode, second: PlanNode) -> Merged | None:
    """Both as one plan; None where they are not alike."""
    try:
        return _merged(first, second)
    except _NotAlikeError:
        return None


def _merged(first: PlanNode, second: PlanNode) -> Merged:
    match first, second:
        case (ProjectNode(), _) | (_, ProjectNode()):
            return _projects(first, second)
        case TableScanNode(), TableScanNode():
            return _scans(first, second)
        case FilterNode(), FilterNode():
            source = _merged(first.source, second.source)
            _check_same(first.predicate, second.predicate, source.names)
            return Merged(replace(first, source=source.plan), source.names)
        case TopNNode(), TopNNode():
            source = _merged(first.source, second.source)
            _check_same((first.orderingScheme, first.count), (second.orderingScheme, second.count), source.names)
            return Merged(replace(first, source=source.plan), source.names)
        case EnforceSingleRowNode(), EnforceSingleRowNode():
            source = _merged(first.source, second.source)
            return Merged(replace(first, source=source.plan), source.names)
        case AggregationNode(), AggregationNode():
            return _aggregations(first, second)
        case JoinNode(), JoinNode():
            return _joins(first, second)
        case SemiJoinNode(), SemiJoinNode():
            return _semi_joins(first, second)
        case _:
            raise _NotAlikeError


def _projects(first: PlanNode, second: PlanNode) -> Merged:
    """A side without a projection passes its columns on."""
    sides = [node.source if isinstance(node, ProjectNode) else node for node in (first, second)]
    source = _merged(*sides)
    mine, others = _assigned(first), _assigned(second)
    both, names = _together(mine, {key: _renamed(e, RowExpression, source.names) for key, e in others.items()})
    project = first if isinstance(first, ProjectNode) else second
    assert isinstance(project, ProjectNode)
    return Merged(replace(project, source=source.plan, assignments=Assignments(assignments=both)), names)


def _assigned(node: PlanNode) -> dict[str, RowExpression]:
    if isinstance(node, ProjectNode):
        return dict(node.assignments.assignments)
    return {variable.key: variable for variable in output_variables(node)}


def _scans(first: TableScanNode, second: TableScanNode) -> Merged:
    texts = [
        _plain(msgspec.to_builtins(scan.table), {_name(k): _text(v).decode() for k, v in scan.assignments.items()})
        for scan in (first, second)
    ]
    if texts[0] != texts[1]:
        raise _NotAlikeError
    both, names = _together(first.assignments, second.assignments)
    more = [v for v in second.outputVariables if v.key in both and v.key not in first.assignments]
    return Merged(replace(first, outputVariables=(*first.outputVariables, *more), assignments=both), names)


def _aggregations(first: AggregationNode, second: AggregationNode) -> Merged:
    source = _merged(first.source, second.source)
    _check_same(_but_aggregates(first), _but_aggregates(second), source.names)
    others = {key: _renamed(one, Aggregation, source.names) for key, one in second.aggregations.items()}
    both, names = _together(first.aggregations, others)
    keys = {key.name: source.names[key.name] for key in second.groupingSets.groupingKeys}
    return Merged(replace(first, source=source.plan, aggregations=both), {**names, **keys})


def _but_aggregates(node: AggregationNode) -> object:
    if node.groupIdVariable is not None or node.hashVariable is not None:
        raise _NotAlikeError
    return (node.groupingSets, node.step, node.preGroupedVariables or None)


def _joins(first: JoinNode, second: JoinNode) -> Merged:
    left, right = _merged(first.left, second.left), _merged(first.right, second.right)
    names = {**left.names, **right.names}
    _check_same((first.type, first.criteria, first.filter), (second.type, second.criteria, second.filter), names)
    shown = dict.fromkeys((*(v.name for v in first.outputVariables), *(names[v.name] for v in second.outputVariables)))
    known = {v.name: v for v in (*output_variables(left.plan), *output_variables(right.plan))}
    outputs = tuple(known[name] for name in shown)
    return Merged(replace(first, left=left.plan, right=right.plan, outputVariables=outputs), names)


def _semi_joins(first: SemiJoinNode, second: SemiJoinNode) -> Merged:
    source = _merged(first.source, second.source)
    filtering = _merged(first.filteringSource, second.filteringSource)
    names = {**source.names, **filtering.names}
    keys = [(node.sourceJoinVariable, node.filteringSourceJoinVariable) for node in (first, second)]
    _check_same(keys[0], keys[1], names)
    made = replace(first, source=source.plan, filteringSource=filtering.plan)
    return Merged(made, {**source.names, second.semiJoinOutput.name: first.semiJoinOutput.name})


def _together(mine: Mapping[str, T], others: Mapping[str, T]) -> tuple[dict[str, T], dict[str, str]]:
    """All assignments, each once, and the names of those of ``others``, whose values are in the words of ``mine``."""
    both, names = dict(mine), dict[str, str]()
    known = {(_text(value), variable_of_key(key).type): _name(key) for key, value in reversed(list(mine.items()))}
    for key, value in others.items():
        place = (_text(value), variable_of_key(key).type)
        if place not in known:
            if any(_name(old) == _name(key) for old in both):
                raise _NotAlikeError
            both[key], known[place] = value, _name(key)
        names[_name(key)] = known[place]
    return both, names


def _name(key: str) -> str:
    return variable_of_key(key).name


def _check_same(first: object, second: object, names: Names) -> None:
    if _plain(msgspec.to_builtins(first), {}) != _plain(msgspec.to_builtins(second), names):
        raise _NotAlikeError


def _text(value: object) -> bytes:
    return msgspec.json.encode(_plain(msgspec.to_builtins(value), {}))


def _renamed(value: T, kind: object, names: Names) -> T:
    made: T = msgspec.convert(_plain(msgspec.to_builtins(value), names, places=True), kind)
    return made


def _plain(value: object, names: Names, *, places: bool = False) -> object:
    """Nested dictionaries and lists with other names of variables, ``places`` or not."""
    match value:
        case dict():
            kept = {k: _plain(v, names, places=places) for k, v in value.items() if places or k not in _PLACES}
            if kept.get("@type") == "variable":
                kept["name"] = names.get(str(kept["name"]), kept["name"])
            return kept
        case list() | tuple():
            return [_plain(each, names, places=places) for each in value]
        case _:
            return value


def merged_all(plans: Iterable[PlanNode]) -> tuple[PlanNode, list[dict[str, Variable]]] | None:
    """All as one plan, with what each one's variables are in it; None where one is not like the others."""
    whole, *rest = plans
    names: list[Names] = [{v.name: v.name for v in output_variables(whole)}]
    for plan in rest:
        found = merged(whole, plan)
        if found is None:
            return None
        names.append({v.name: found.names[v.name] for v in output_variables(plan)})
        whole = found.plan
    known = {variable.name: variable for variable in output_variables(whole)}
    return whole, [{own: known[name] for own, name in each.items()} for each in names]
