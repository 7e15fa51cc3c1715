"""Parts that a plan computes several times, such as a WITH query that is used twice.

Presto plans a WITH query anew for each use. Where two such plans are still the same once rules have done their work,
an engine computes the part once and reads its rows again. What pays is what makes few rows of many: aggregations, first
rows of an order, and joins that are expected to. A join is left to uses that may want few of its rows: only those are
looked at that are grouped at once, which reads them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from coordinator.expressions.programs import asks_chance
from coordinator.unparser.merged_parts import Whole, merged, merged_all
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import (
    ENGINE,
    AggregationNode,
    AssignUniqueId,
    EnforceSingleRowNode,
    GroupIdNode,
    JoinNode,
    OutputNode,
    PlanNode,
    ProjectNode,
    SampleNode,
    SemiJoinNode,
    TableScanNode,
    TopNNode,
    TopNRowNumberNode,
)
from shared.plan.traversal import expressions, output_variables, sources, walk

_WORTH = (AggregationNode, TopNNode, TopNRowNumberNode, EnforceSingleRowNode)
_JOINS = (JoinNode, SemiJoinNode)
_FEW = 0.25
"""The share of the rows that a join reads which it gives at most, for these to be kept."""
_PLACES = frozenset({"sourceLocation", "aggregationId"})
"""What differs between two plans of one query, beside the ids of nodes."""
_NODES = (".", ENGINE)
_PASSES = 4
_MOST_COMPARED = 24
"""Parts of one shape that are compared each with each: the branches of a long union are all of one shape."""


@dataclass(frozen=True, slots=True)
class Use:
    """One place where a part is read: ``columns`` have a number in the part, which is the same in all its uses.

    ``computed`` is the plan that stands for all of them, with its own columns.
    """

    number: int
    columns: tuple[tuple[Variable, int], ...]
    computed: PlanNode
    made: tuple[tuple[Variable, int], ...]
    where: tuple[RowExpression, ...] = ()
    """What this use asks of the rows, in the variables of ``made``."""


RowsOf = Callable[[PlanNode], float | None]
"""Estimates how many rows a part of a plan gives; None is unknown."""


def unknown_rows(_: PlanNode) -> float | None:
    return None


def repeated_parts(root: OutputNode, rows_of: RowsOf = unknown_rows, *, filters: bool = False) -> Mapping[int, Use]:
    """The uses of parts that occur several times, by the identity of the node; larger parts come first.

    ``filters``: parts that differ in a filter are computed at once too, for the rows of all. A plan that was made for
    several uses may have parts in common with others, so it is looked through as well.
    """
    found = _Found(rows_of, filters)
    plans: list[PlanNode] = [root]
    for _ in range(_PASSES):
        more = _look(plans, found)
        if not more:
            break
        plans = [*plans, *more]
    return found.uses


@dataclass(slots=True)
class _Found:
    rows_of: RowsOf
    filters: bool
    uses: dict[int, Use] = field(default_factory=dict)
    covered: set[int] = field(default_factory=set)
    """Nodes that nobody computes any more."""
    number: int = 0


def _look(plans: Sequence[PlanNode], found: _Found) -> list[PlanNode]:
    """Adds what is alike in the plans; gives those that were made for it."""
    alike: dict[int, list[PlanNode]] = {}
    for plan in plans:
        joins = {id(join) for join in _grouped_joins(plan)}
        for node, shape in _shapes(plan):
            if id(node) in found.covered or id(node) in found.uses:
                continue
            if isinstance(node, _WORTH) or id(node) in joins:
                alike.setdefault(shape, []).append(node)
    groups = [
        group
        for several in alike.values()
        if len(several) > 1
        for group in _groups(several, filters=found.filters and isinstance(several[0], _WORTH))
    ]
    groups.sort(key=lambda group: -sum(1 for _ in walk(group.parts[0].node)))
    made = []
    for group in groups:
        left = [part for part in group.parts if id(part.node) not in found.covered]
        if len(left) < 2 or not _pays(left[0].node, found.rows_of):
            continue
        # Below the place that is computed, smaller parts may be shared with others; below the rest nothing is computed.
        for part in left if group.plan is not None else left[1:]:
            found.covered.update(id(node) for node in walk(part.node))
        computed, columns = (left[0].node, left[0].columns) if group.plan is None else (group.plan, group.columns)
        if group.plan is not None:
            found.covered.add(id(group.plan))
            made.append(group.plan)
        for part in left:
            found.uses[id(part.node)] = Use(found.number, part.columns, computed, columns, part.where)
        found.number += 1
    return made


def _grouped_joins(root: PlanNode) -> Iterator[PlanNode]:
    """Joins whose rows are all read by an aggregation, with what is computed of them for it."""
    for node in walk(root):
        if isinstance(node, AggregationNode):
            source = node.source.source if isinstance(node.source, GroupIdNode) else node.source
            if not isinstance(_below(source), _WORTH) and any(isinstance(below, _JOINS) for below in walk(source)):
                yield source


def _below(node: PlanNode) -> PlanNode:
    while isinstance(node, ProjectNode):
        node = node.source
    return node


def _pays(node: PlanNode, rows_of: RowsOf) -> bool:
    """Whether few rows are kept for what is read and computed once."""
    if isinstance(node, _WORTH):
        return True
    kept, read = rows_of(node), [rows_of(scan) for scan in walk(node) if isinstance(scan, TableScanNode)]
    return kept is not None and kept <= _FEW * sum(rows or 0 for rows in read)


def _shapes(root: PlanNode) -> Iterator[tuple[PlanNode, int]]:
    """Every node with what is cheap to know of it and what is below: the same for plans alike, and for few others."""
    made: dict[int, int] = {}
    for node in reversed(list(walk(root))):
        below = tuple(made[id(source)] for source in sources(node))
        if isinstance(node, ProjectNode):
            shape = below[0]  # which columns are computed is each use's own
        else:
            table = str(node.table.connectorHandle.get("tableName")) if isinstance(node, TableScanNode) else ""
            shape = hash((type(node).__name__, table, *below))
        made[id(node)] = shape
        yield node, shape


@dataclass(frozen=True, slots=True)
class _Part:
    node: PlanNode
    columns: tuple[tuple[Variable, int], ...]
    where: tuple[RowExpression, ...] = ()


@dataclass(frozen=True, slots=True)
class _Group:
    """Parts that are computed at once; ``plan`` where no part has the columns of all, and its ``columns``."""

    parts: tuple[_Part, ...]
    plan: PlanNode | None = None
    columns: tuple[tuple[Variable, int], ...] = ()


def _groups(nodes: list[PlanNode], *, filters: bool) -> Iterator[_Group]:
    """Those among ``nodes`` that mean the same, but for their columns, and for one of their ``filters``."""
    classes = list(_same(nodes))
    if len(classes) > _MOST_COMPARED:
        yield from (_Group(tuple(each)) for each in classes if len(each) > 1)
        return
    while classes:
        first, *others = classes
        pairs = [(other, merged(first[0].node, other[0].node, filters=filters)) for other in others]
        alike = [first, *(other for other, pair in pairs if pair is not None)]
        found = None if len(alike) == 1 else merged_all((each[0].node for each in alike), filters=filters)
        if found is None and filters:
            alike = [first, *(other for other, pair in pairs if pair is not None and not pair.apart.mine)]
            found = None if len(alike) == 1 else merged_all(each[0].node for each in alike)
        if found is None:
            alike = [first]
            if len(first) > 1:
                yield _Group(tuple(first))
        else:
            yield _together(alike, found)
        classes = [other for other in classes if all(other is not one for one in alike)]


def _together(classes: list[list[_Part]], whole: Whole) -> _Group:
    plan = whole.plan
    numbers = {variable.name: number for number, variable in enumerate(output_variables(plan))}
    parts = []
    for several, names, asked in zip(classes, whole.known, whole.apart, strict=True):
        # Parts of a class are alike by numbers, which stand for variables of its first.
        places = {number: numbers[names[variable.name].name] for variable, number in several[0].columns}
        parts += [_Part(p.node, tuple((variable, places[n]) for variable, n in p.columns), asked) for p in several]
    return _Group(tuple(parts), plan, tuple((v, numbers[v.name]) for v in output_variables(plan)))


def _same(nodes: list[PlanNode]) -> Iterator[list[_Part]]:
    """``nodes`` in classes of those that mean the same and have the same columns."""
    groups: dict[bytes, list[_Part]] = {}
    for node in nodes:
        if not _is_repeatable(node):
            continue
        names = _Names()
        text = msgspec.json.encode(names.plain(msgspec.to_builtins(node)))
        columns = tuple((variable, names.number(variable.name)) for variable in output_variables(node))
        groups.setdefault(text, []).append(_Part(node, columns))
    yield from groups.values()


def _is_repeatable(node: PlanNode) -> bool:
    """Whether each computation gives the same rows: no chance, and no row numbers of its own."""
    for below in walk(node):
        if isinstance(below, SampleNode | AssignUniqueId):
            return False
        for expression in expressions(below):
            if asks_chance(expression):
                return False
    return True


@dataclass(slots=True)
class _Names:
    """Names of variables as numbers, in the order in which they are met."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))

    def plain(self, value: object) -> object:
        """Nested dictionaries and lists without places, with numbers for names."""
        match value:
            case {"@type": "variable", "name": str(name), "type": type_}:
                return ["$variable", self.number(name), type_]
            case dict():
                return [
                    [self._key(key), self.plain(below)] for key, below in value.items() if not _is_place(key, value)
                ]
            case list() | tuple():
                return [self.plain(below) for below in value]
            case _:
                return value

    def _key(self, key: object) -> object:
        name, bracket, kind = str(key).partition("<")
        return ["$variable", self.number(name), kind] if bracket else key


def _is_place(key: str, owner: Mapping[str, object]) -> bool:
    # Columns of connectors have ids too, which say which column it is. A transaction says nothing beside a snapshot.
    if key == "transaction" and "connectorHandle" in owner:
        return True
    return key in _PLACES or (key == "id" and str(owner.get("@type", "")).startswith(_NODES))
