"""One plan in place of two that compute the same but for their columns: the uses of a WITH query want different ones.

Joins and keys of groups must be the same, and filters but for one; columns, projections and aggregates are taken
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from coordinator.unparser.filtered_apart import (
    Apart,
    above_groups,
    above_join,
    above_projection,
    split,
    unless_apart,
    unless_one_fails,
    with_common_domains,
)
from coordinator.unparser.plan_forms import NotAlikeError, check_same, form, name_of, plain, renamed
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

Names = Mapping[str, str]
"""What the merged plan calls the variables of the second one; the first one's keep their names."""
T = TypeVar("T")


class Merged(NamedTuple):
    """A plan with the columns of two, the names of the second one's, and what is left to ask of its rows."""

    plan: PlanNode
    names: Names
    apart: Apart = Apart()


def merged(first: PlanNode, second: PlanNode, *, filters: bool = False) -> Merged | None:
    """Both as one plan; None where they are not alike. ``filters``: one of their filters may be another."""
    try:
        made = _merged(first, second)
    except NotAlikeError:
        return None
    return None if made.apart.mine and not filters else made


def _merged(first: PlanNode, second: PlanNode) -> Merged:
    match first, second:
        case (ProjectNode(), _) | (_, ProjectNode()):
            return _projects(first, second)
        case TableScanNode(), TableScanNode():
            return _scans(first, second)
        case FilterNode(), FilterNode():
            return _filters(first, second)
        case TopNNode(), TopNNode():
            source = _merged(first.source, second.source)
            unless_apart(source.apart)
            check_same((first.orderingScheme, first.count), (second.orderingScheme, second.count), source.names)
            return Merged(replace(first, source=source.plan), source.names)
        case EnforceSingleRowNode(), EnforceSingleRowNode():
            source = _merged(first.source, second.source)
            unless_apart(source.apart)
            return Merged(replace(first, source=source.plan), source.names)
        case AggregationNode(), AggregationNode():
            return _aggregations(first, second)
        case JoinNode(), JoinNode():
            return _joins(first, second)
        case SemiJoinNode(), SemiJoinNode():
            return _semi_joins(first, second)
        case _:
            raise NotAlikeError


def _filters(first: FilterNode, second: FilterNode) -> Merged:
    below = [first.source, second.source]
    if isinstance(first.source, TableScanNode) and isinstance(second.source, TableScanNode):
        below = [*with_common_domains(first.source, second.source)]
    source = _merged(*below)
    predicate, apart = split(first.predicate, renamed(second.predicate, RowExpression, source.names))
    if apart.mine:
        unless_apart(source.apart)
    made = replace(first, source=source.plan, predicate=predicate)
    return Merged(made, source.names, apart if apart.mine else source.apart)


def _projects(first: PlanNode, second: PlanNode) -> Merged:
    """A side without a projection passes its columns on."""
    sides = [node.source if isinstance(node, ProjectNode) else node for node in (first, second)]
    source = _merged(*sides)
    mine, others = _assigned(first), _assigned(second)
    others = {key: renamed(e, RowExpression, source.names) for key, e in others.items()}
    unless_one_fails(source.apart, mine.values(), others.values())
    both, names = _together(mine, others)
    apart = above_projection(source.apart, both)
    project = first if isinstance(first, ProjectNode) else second
    assert isinstance(project, ProjectNode)
    return Merged(replace(project, source=source.plan, assignments=Assignments(assignments=both)), names, apart)


def _assigned(node: PlanNode) -> dict[str, RowExpression]:
    if isinstance(node, ProjectNode):
        return dict(node.assignments.assignments)
    return {variable.key: variable for variable in output_variables(node)}


def _scans(first: TableScanNode, second: TableScanNode) -> Merged:
    texts = [
        plain(msgspec.to_builtins(scan.table), {name_of(k): form(v).decode() for k, v in scan.assignments.items()})
        for scan in (first, second)
    ]
    if texts[0] != texts[1]:
        raise NotAlikeError
    both, names = _together(first.assignments, second.assignments)
    more = [v for v in second.outputVariables if v.key in both and v.key not in first.assignments]
    return Merged(replace(first, outputVariables=(*first.outputVariables, *more), assignments=both), names)


def _aggregations(first: AggregationNode, second: AggregationNode) -> Merged:
    source = _merged(first.source, second.source)
    check_same(_but_aggregates(first), _but_aggregates(second), source.names)
    others = {key: renamed(one, Aggregation, source.names) for key, one in second.aggregations.items()}
    unless_one_fails(source.apart, first.aggregations.values(), others.values())
    both, names = _together(first.aggregations, others)
    keys = {key.name: source.names[key.name] for key in second.groupingSets.groupingKeys}
    apart = above_groups(first, source.apart)
    return Merged(replace(first, source=source.plan, aggregations=both), {**names, **keys}, apart)


def _but_aggregates(node: AggregationNode) -> object:
    if node.groupIdVariable is not None or node.hashVariable is not None:
        raise NotAlikeError
    return (node.groupingSets, node.step, node.preGroupedVariables or None)


def _joins(first: JoinNode, second: JoinNode) -> Merged:
    left, right = _merged(first.left, second.left), _merged(first.right, second.right)
    names = {**left.names, **right.names}
    check_same((first.type, first.criteria, first.filter), (second.type, second.criteria, second.filter), names)
    apart = above_join(first, left.apart, right.apart)
    shown = dict.fromkeys((*(v.name for v in first.outputVariables), *(names[v.name] for v in second.outputVariables)))
    shown |= dict.fromkeys(v.name for v in apart.variables)
    known = {v.name: v for v in (*output_variables(left.plan), *output_variables(right.plan))}
    outputs = tuple(known[name] for name in shown)
    return Merged(replace(first, left=left.plan, right=right.plan, outputVariables=outputs), names, apart)


def _semi_joins(first: SemiJoinNode, second: SemiJoinNode) -> Merged:
    source = _merged(first.source, second.source)
    filtering = _merged(first.filteringSource, second.filteringSource)
    unless_apart(filtering.apart)
    names = {**source.names, **filtering.names}
    keys = [(node.sourceJoinVariable, node.filteringSourceJoinVariable) for node in (first, second)]
    check_same(keys[0], keys[1], names)
    made = replace(first, source=source.plan, filteringSource=filtering.plan)
    return Merged(made, {**source.names, second.semiJoinOutput.name: first.semiJoinOutput.name}, source.apart)


def _together(mine: Mapping[str, T], others: Mapping[str, T]) -> tuple[dict[str, T], dict[str, str]]:
    """All assignments, each once, and the names of those of ``others``, whose values are in the words of ``mine``."""
    both, names = dict(mine), dict[str, str]()
    known = {(form(value), variable_of_key(key).type): name_of(key) for key, value in reversed(list(mine.items()))}
    for key, value in others.items():
        place = (form(value), variable_of_key(key).type)
        if place not in known:
            if any(name_of(old) == name_of(key) for old in both):
                raise NotAlikeError
            both[key], known[place] = value, name_of(key)
        names[name_of(key)] = known[place]
    return both, names


class Whole(NamedTuple):
    """Several plans as one: what the variables of each are in it, and what is left to ask of its rows for each."""

    plan: PlanNode
    known: list[dict[str, Variable]]
    apart: list[tuple[RowExpression, ...]]


def merged_all(plans: Iterable[PlanNode], *, filters: bool = False) -> Whole | None:
    """All as one plan; None where one is not like the others."""
    whole, *rest = plans
    names: list[Names] = [{v.name: v.name for v in output_variables(whole)}]
    apart: list[tuple[RowExpression, ...]] = [()]
    for plan in rest:
        found = merged(whole, plan, filters=filters)
        if found is None:
            return None
        names.append({v.name: found.names[v.name] for v in output_variables(plan)})
        apart = [*((*asked, *found.apart.mine) for asked in apart), found.apart.others]
        whole = found.plan
    known = {variable.name: variable for variable in output_variables(whole)}
    return Whole(whole, [{own: known[name] for own, name in each.items()} for each in names], apart)
