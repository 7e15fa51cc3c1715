"""Parts that a plan computes several times, such as a WITH query that is used twice.

Presto plans a WITH query anew for each use. Where two such plans are still the same once rules have done their work,
an engine computes the part once and reads its rows again. What pays is what makes few rows of many: aggregations and
first rows of an order. A join is left to each use, which may want few of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from coordinator.expressions.programs import VOLATILE
from shared.plan.expressions import Call, Variable
from shared.plan.nodes import (
    ENGINE,
    AggregationNode,
    AssignUniqueId,
    EnforceSingleRowNode,
    OutputNode,
    PlanNode,
    SampleNode,
    TableScanNode,
    TopNNode,
    TopNRowNumberNode,
)
from shared.plan.traversal import expressions, output_variables, sources, walk, walk_expression

_WORTH = (AggregationNode, TopNNode, TopNRowNumberNode, EnforceSingleRowNode)
_PLACES = frozenset({"sourceLocation", "aggregationId"})
"""What differs between two plans of one query, beside the ids of nodes."""
_NODES = (".", ENGINE)


@dataclass(frozen=True, slots=True)
class Use:
    """One place where a part is read: ``columns`` have a number in the part, which is the same in all its uses.

    ``computed`` is the plan that stands for all of them, with its own columns.
    """

    number: int
    columns: tuple[tuple[Variable, int], ...]
    computed: PlanNode
    made: tuple[tuple[Variable, int], ...]


def repeated_parts(root: OutputNode) -> Mapping[int, Use]:
    """The uses of parts that occur several times, by the identity of the node; larger parts come first."""
    alike: dict[int, list[PlanNode]] = {}
    for node, shape in _shapes(root):
        if isinstance(node, _WORTH):
            alike.setdefault(shape, []).append(node)
    groups = [group for several in alike.values() if len(several) > 1 for group in _same(several)]
    groups.sort(key=lambda group: -sum(1 for _ in walk(group[0].node)))
    uses: dict[int, Use] = {}
    covered: set[int] = set()
    for number, group in enumerate(groups):
        left = [one for one in group if id(one.node) not in covered]
        if len(left) < 2:
            continue
        # Below the place that is computed, smaller parts may be shared with others; below the rest nothing is computed.
        for one in left[1:]:
            covered.update(id(node) for node in walk(one.node))
        for one in left:
            uses[id(one.node)] = Use(number, one.columns, left[0].node, left[0].columns)
    return uses


def _shapes(root: PlanNode) -> Iterator[tuple[PlanNode, int]]:
    """Every node with what is cheap to know of it and what is below: the same for equal plans, and for few others."""
    made: dict[int, int] = {}
    for node in reversed(list(walk(root))):
        table = str(node.table.connectorHandle.get("tableName")) if isinstance(node, TableScanNode) else ""
        shape = hash((type(node).__name__, table, *(made[id(source)] for source in sources(node))))
        made[id(node)] = shape
        yield node, shape


@dataclass(frozen=True, slots=True)
class _Part:
    node: PlanNode
    text: bytes
    columns: tuple[tuple[Variable, int], ...]


def _same(nodes: list[PlanNode]) -> list[list[_Part]]:
    """Those among ``nodes`` that mean the same, in groups."""
    groups: dict[bytes, list[_Part]] = {}
    for node in nodes:
        if not _is_repeatable(node):
            continue
        names = _Names()
        text = msgspec.json.encode(names.plain(msgspec.to_builtins(node)))
        columns = tuple((variable, names.number(variable.name)) for variable in output_variables(node))
        groups.setdefault(text, []).append(_Part(node, text, columns))
    return [group for group in groups.values() if len(group) > 1]


def _is_repeatable(node: PlanNode) -> bool:
    """Whether each computation gives the same rows: no chance, and no row numbers of its own."""
    for below in walk(node):
        if isinstance(below, SampleNode | AssignUniqueId):
            return False
        for expression in expressions(below):
            if any(isinstance(e, Call) and e.displayName.lower() in VOLATILE for e in walk_expression(expression)):
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
    # Columns of connectors have ids too, which say which column it is.
    return key in _PLACES or (key == "id" and str(owner.get("@type", "")).startswith(_NODES))
