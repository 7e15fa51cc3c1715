"""Which of an engine's operators computed which node of a plan, as far as that is certain.

The engine was given SQL, and plans it anew. Beginning with the result, which is that of the plan's root, the two trees
are walked together: an operator that gives the rows of a node, and does what the node does, is the node's. Where they
part (joins in another order, a part that is computed once, rows that are looked up late) the walk ends, and nothing is
said of the nodes below.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from coordinator.explain.operators import KEEPS_ROWS, Operator, Tree, trees
from coordinator.explain.table import qualified_table
from shared.plan import nodes
from shared.plan.fragment import SubPlan
from shared.plan.nodes import PlanNode
from shared.plan.traversal import sources

Number = TypeVar("Number", int, float)
_JOINING = (nodes.JoinNode, nodes.SemiJoinNode)


@dataclass(slots=True)
class Figures:
    """Of one node; None where the engine does not tell."""

    rows: int | None = None
    size: int | None = None
    read_rows: int | None = None
    seconds: float | None = None
    pipeline: float | None = None
    memory: int | None = None


@dataclass(slots=True)
class Figured:
    """Figures by a node's id, and the id of the node that each operator is of, by its place in the list."""

    nodes: dict[str, Figures] = field(default_factory=dict)
    of_operator: dict[int, str] = field(default_factory=dict)


def figured(subplan: SubPlan, operators: Sequence[Operator], returned: int | None) -> Figured:
    """``operators`` in the order of a walk from the root; ``returned`` rows came."""
    matching = _Matching(subplan, operators)
    roots = trees(operators)
    root = subplan.fragment.root
    matching.seen(root).rows = returned
    if len(roots) == 1:
        matching.match(root, roots[0], returned)
    return matching.made


@dataclass(slots=True)
class _Looked:
    """What a part of a plan is made of, whatever filters, columns and orders are in it."""

    joins: int = 0
    aggregates: int = 0
    unions: int = 0
    scans: int = 0
    tables: Counter[str] = field(default_factory=Counter)


class _Matching:
    """One walk; its state is what was found so far."""

    def __init__(self, subplan: SubPlan, operators: Sequence[Operator]) -> None:
        self.made = Figured()
        self._roots = {fragment.id: fragment.root for fragment in subplan.fragments()}
        self._place = {id(operator): place for place, operator in enumerate(operators)}
        self._waiting: list[tuple[PlanNode, Tree, int | None]] = []

    def seen(self, node: PlanNode) -> Figures:
        return self.made.nodes.setdefault(node.id, Figures())

    def match(self, node: PlanNode, tree: Tree, rows: int | None) -> None:
        """``tree`` gives what ``node`` gives: ``rows`` of them, where that is known otherwise."""
        self._waiting.append((node, tree, rows))
        while self._waiting:
            self._step(*self._waiting.pop())

    def _step(  # noqa: C901 - one case a node
        self, node: PlanNode, tree: Tree, rows: int | None
    ) -> None:
        rows = tree.rows if rows is None else rows
        self._told(node, tree, rows)
        match node:
            case nodes.ProjectNode():
                self._next(node.source, self._past(node, tree, "pass"), rows)
            case nodes.SortNode():
                self._next(node.source, self._past(node, tree, "pass", "sort"), rows)
            case nodes.OutputNode() | nodes.AssignUniqueId() | nodes.MarkDistinctNode():
                self._next(node.source, tree, rows)
            case nodes.ExchangeNode() | nodes.RemoteSourceNode():
                self._exchange(node, tree, rows)
            case nodes.WindowNode():
                self._window(node, self._past(node, tree, "pass"), rows)
            case nodes.RowNumberNode(maxRowCountPerPartition=None):
                self._window(node, self._past(node, tree, "pass"), rows)
            case nodes.FilterNode():
                self._filter(node, self._past(node, tree, "pass"))
            case nodes.TableScanNode() | nodes.ValuesNode():
                self._leaf(node, self._past(node, tree, "pass", "filter"))
            case nodes.AggregationNode():
                self._aggregation(node, self._past(node, tree, "pass"))
            case nodes.JoinNode() | nodes.SemiJoinNode():
                self._join(node, self._past(node, tree, "pass"))
            case nodes.TopNNode():
                self._cut(node, self._past(node, tree, "pass", "sort"), "top_n")
            case nodes.LimitNode():
                self._cut(node, self._past(node, tree, "pass"), "limit")
            case _:
                pass

    def _next(self, node: PlanNode, tree: Tree | None, rows: int | None = None) -> None:
        if tree is not None:
            self._waiting.append((node, tree, rows))

    def _told(self, node: PlanNode, tree: Tree, rows: int | None) -> None:
        figures = self.seen(node)
        figures.rows = rows
        while tree.operator.rows is None and tree.operator.does in KEEPS_ROWS and len(tree.children) == 1:
            tree = tree.children[0]
        if rows is not None and tree.operator.rows == rows:
            figures.size = tree.operator.size

    def _is(self, node: PlanNode, tree: Tree) -> None:
        """The operator is the node's."""
        operator, figures = tree.operator, self.seen(node)
        self.made.of_operator[self._place[id(operator)]] = node.id
        figures.seconds = _sum((figures.seconds, operator.seconds))
        figures.pipeline = _sum((figures.pipeline, operator.pipeline))
        figures.memory = _sum((figures.memory, operator.memory))

    def _past(self, node: PlanNode, tree: Tree, *does: str) -> Tree:
        """The first operator below that does something else; those before it are part of the node."""
        while tree.operator.does in does and len(tree.children) == 1:
            self._is(node, tree)
            tree = tree.children[0]
        return tree

    def _exchange(self, node: nodes.ExchangeNode | nodes.RemoteSourceNode, tree: Tree, rows: int | None) -> None:
        below = self._inputs(node)
        if len(below) == 1:
            self._next(below[0], tree, rows)
            return
        union = self._past(node, tree, "pass", "sort")
        parts = _flat(union) if union.operator.does == "union" else []
        flat = [part for source in below for part in self._flat_inputs(source)]
        if len(parts) == len(flat) and all(map(self._alike, flat, parts)):
            self._is(node, union)
            for part, source in zip(parts, flat, strict=True):
                self._next(source, part)

    def _flat_inputs(self, node: PlanNode) -> list[PlanNode]:
        if isinstance(node, nodes.ExchangeNode | nodes.RemoteSourceNode):
            below = self._inputs(node)
            if len(below) > 1:
                return [part for source in below for part in self._flat_inputs(source)]
        return [node]

    def _window(self, node: nodes.WindowNode | nodes.RowNumberNode, tree: Tree, rows: int | None) -> None:
        if tree.operator.does == "window" and len(tree.children) == 1:
            self._is(node, tree)
            self._next(node.source, self._past(node, tree.children[0], "sort"), rows)

    def _filter(self, node: nodes.FilterNode, tree: Tree) -> None:
        source = node.source
        match tree.operator.does:
            case "filter" if len(tree.children) == 1:
                self._is(node, tree)
                self._next(source, tree.children[0])
            case "scan" if isinstance(source, nodes.TableScanNode):
                self._leaf(source, tree)
            case "join" | "semi_join":
                while isinstance(source, nodes.ProjectNode):
                    source = source.source
                if isinstance(source, _JOINING):
                    self._join(source, tree)
            case _:
                pass

    def _leaf(self, node: nodes.TableScanNode | nodes.ValuesNode, tree: Tree) -> None:
        if tree.operator.does == ("scan" if isinstance(node, nodes.TableScanNode) else "values"):
            self._is(node, tree)
            self.seen(node).read_rows = tree.operator.read_rows

    def _aggregation(self, node: nodes.AggregationNode, tree: Tree) -> None:
        if tree.operator.does != "aggregate" or len(tree.children) != 1:
            return
        self._is(node, tree)
        partial = self._partial(node)
        below, part = tree.children[0], tree
        if tree.operator.engine == "Spark":
            part = self._past(partial or node, below, "pass")
            if part.operator.does != "aggregate" or len(part.children) != 1:
                return
            self._is(partial or node, part)
            below = part.children[0]
            if partial is not None:
                for between in self._moved(node.source, partial):
                    self._told(between, part, part.rows)
        source = node.source if partial is None else partial.source
        if self._alike(source, below):
            self._next(source, below)

    def _partial(self, node: nodes.AggregationNode) -> nodes.AggregationNode | None:
        if node.step != "FINAL":
            return None
        below = self._through(node.source)
        return below if isinstance(below, nodes.AggregationNode) and below.step == "PARTIAL" else None

    def _moved(self, node: PlanNode, below: PlanNode) -> Iterator[PlanNode]:
        """The exchanges from ``node`` to what they move, and that itself."""
        while node is not below:
            yield node
            (node,) = self._inputs(node)
        yield below

    def _join(self, node: nodes.JoinNode | nodes.SemiJoinNode, tree: Tree) -> None:
        if tree.operator.does not in ("join", "semi_join") or len(tree.children) != 2:
            return
        left, right = sources(node)
        first, second = tree.children
        straight = self._alike(left, first) and self._alike(right, second)
        if straight == (self._alike(left, second) and self._alike(right, first)):
            return  # neither, or nobody knows which is which
        self._is(node, tree)
        self._next(left, first if straight else second)
        self._next(right, second if straight else first)

    def _cut(self, node: nodes.TopNNode | nodes.LimitNode, tree: Tree, does: str) -> None:
        if tree.operator.does != does or len(tree.children) != 1:
            return
        tree = self._past(node, tree, does)
        below = self._through(node.source)
        if isinstance(below, nodes.TopNNode | nodes.LimitNode) and below.step == "PARTIAL":
            below = below.source
        self._next(below, tree)

    def _through(self, node: PlanNode) -> PlanNode:
        """The node whose rows an exchange only moves."""
        while isinstance(node, nodes.ExchangeNode | nodes.RemoteSourceNode):
            below = self._inputs(node)
            if len(below) != 1:
                return node
            node = below[0]
        return node

    def _inputs(self, node: PlanNode) -> Sequence[PlanNode]:
        if isinstance(node, nodes.RemoteSourceNode):
            return [self._roots[name] for name in node.sourceFragmentIds if name in self._roots]
        return sources(node)

    def _alike(self, node: PlanNode, tree: Tree) -> bool:
        """Whether both are made of the same tables, joins, aggregations and unions."""
        ours, theirs = self._looked(node), _looked(tree)
        same = (ours.joins, ours.unions, ours.scans) == (theirs.joins, theirs.unions, theirs.scans)
        stages = 2 if tree.operator.engine == "Spark" else 1
        return same and ours.aggregates * stages == theirs.aggregates and not theirs.tables - ours.tables

    def _looked(self, root: PlanNode) -> _Looked:
        found = _Looked()
        waiting = [root]
        while waiting:
            node = waiting.pop()
            below = self._inputs(node)
            match node:
                case nodes.JoinNode() | nodes.SemiJoinNode():
                    found.joins += 1
                case nodes.AggregationNode(step=step) if step != "PARTIAL":
                    found.aggregates += 1
                case nodes.TableScanNode():
                    found.scans += 1
                    found.tables[qualified_table(node)] += 1
                case _ if len(below) > 1:
                    found.unions += len(below) - 1
                case _:
                    pass
            waiting += below
        return found


def _looked(root: Tree) -> _Looked:
    found = _Looked()
    for tree in root.walk():
        match tree.operator.does:
            case "join" | "semi_join":
                found.joins += 1
            case "aggregate":
                found.aggregates += 1
            case "union":
                found.unions += len(tree.children) - 1
            case "scan":
                found.scans += 1
                if tree.operator.table is not None:
                    found.tables[tree.operator.table] += 1
            case "other":
                found.unions -= 1 << 20  # nobody knows what it is
            case _:
                pass
    return found


def _flat(tree: Tree) -> list[Tree]:
    if tree.operator.does != "union":
        return [tree]
    return [part for child in tree.children for part in _flat(child)]


def _sum(values: Iterable[Number | None]) -> Number | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


def input_rows(below: Sequence[PlanNode], figures: Mapping[str, Figures]) -> int | None:
    """What these nodes give together; None where one of them is not known."""
    counts = [figures[node.id].rows if node.id in figures else None for node in below]
    return None if None in counts or not counts else sum(count or 0 for count in counts)
