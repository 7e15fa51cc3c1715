"""Which columns of which scans nothing reads on their way to the output: they are only carried along.

Walks from the root down, as StarRocks' ColumnCollector does from the scans up: a column is read by the first operator
that needs its value (a filter, a join condition, a sort key, an aggregate), and a mere renaming is no reading, nor is
an expression that can wait for the Fetch. A node that is not known here reads all that is below it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from coordinator.optimizer.rules.late_materialization.computed import can_wait, gets_nulls
from shared.plan import nodes
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import OrderingScheme, PlanNode
from shared.plan.traversal import expressions, free_variables, output_variables, sources, variable_of_key

Names = frozenset[str]
_NONE: Names = frozenset()


@dataclass(slots=True)
class ColumnCollector:
    """Of one plan: ``carried`` has the names of variables by scan id, for scans that give any.

    ``waiting`` are expressions that are computed above the Fetch if it has what they read: projection's id and name.
    """

    carried: dict[str, Names] = field(default_factory=dict)
    waiting: set[tuple[str, str]] = field(default_factory=set)
    scans: dict[str, nodes.TableScanNode] = field(default_factory=dict)

    def collect(self, root: nodes.OutputNode) -> None:
        self._visit(root.source, _NONE, names(root.outputVariables))

    def _visit(self, node: PlanNode, read: Names, carried: Names, *, wait: bool = True) -> None:
        """``read`` and ``carried`` are outputs of ``node`` that are read above it, or reach the output unread.

        ``wait``: expressions below may be computed above the Fetch as well.
        """
        carried -= read
        match node:
            case nodes.TableScanNode():
                self.scans[node.id] = node
                if carried:
                    self.carried[node.id] = carried & names(node.outputVariables)
            case nodes.ProjectNode():
                self._visit(node.source, *self._through_project(node, read, carried, wait=wait), wait=wait)
            case nodes.JoinNode():
                read |= _read_by_join(node)
                for side, nulls in zip((node.left, node.right), gets_nulls(node), strict=True):
                    self._visit(side, read, carried, wait=wait and not nulls)
            case nodes.SemiJoinNode():
                self._visit(node.source, read | {node.sourceJoinVariable.name}, carried, wait=wait)
                self._visit(node.filteringSource, names(output_variables(node.filteringSource)), _NONE)
            case nodes.ExchangeNode():
                self._visit_union(node, read, carried)
            case nodes.UnnestNode():
                unnested = frozenset(variable_of_key(key).name for key in node.unnestVariables)
                self._visit(node.source, read | unnested, carried, wait=wait)
            case (
                nodes.FilterNode()
                | nodes.TopNNode()
                | nodes.SortNode()
                | nodes.LimitNode()
                | nodes.OffsetNode()
                | nodes.SampleNode()
                | nodes.EnforceSingleRowNode()
                | nodes.AssignUniqueId()
                | nodes.WindowNode()
                | nodes.RowNumberNode()
                | nodes.TopNRowNumberNode()
            ):
                self._visit(node.source, read | _read_by(node), carried, wait=wait)
            case _:
                for source in sources(node):
                    self._visit(source, names(output_variables(source)), _NONE)

    def _visit_union(self, node: nodes.ExchangeNode, read: Names, carried: Names) -> None:
        layout = node.partitioningScheme.outputLayout
        for source, inputs in zip(node.sources, node.inputs, strict=True):
            pairs = list(zip(layout, inputs, strict=True))
            wanted = frozenset(i.name for o, i in pairs if o.name in read)
            self._visit(source, wanted, frozenset(i.name for o, i in pairs if o.name in carried), wait=False)

    def _through_project(
        self, node: nodes.ProjectNode, read: Names, carried: Names, *, wait: bool
    ) -> tuple[Names, Names]:
        below_read: set[str] = set()
        below_carried: set[str] = set()
        given = names(output_variables(node.source))
        for key, expression in node.assignments.assignments.items():
            name = variable_of_key(key).name
            if name not in read and name not in carried:
                continue
            waits = wait and name not in read and name not in given and can_wait(expression)
            if waits:
                self.waiting.add((node.id, name))
            if waits or (name not in read and isinstance(expression, Variable)):
                below_carried |= names(free_variables(expression))
            else:
                below_read |= names(free_variables(expression))
        return frozenset(below_read), frozenset(below_carried)


def _read_by_join(node: nodes.JoinNode) -> Names:
    keys = names(v for clause in node.criteria for v in (clause.left, clause.right))
    return keys | _of(expressions(node))


def _read_by(node: PlanNode) -> Names:
    match node:
        case nodes.TopNNode() | nodes.SortNode():
            return _ordered(node.orderingScheme)
        case nodes.RowNumberNode():
            return names(node.partitionBy)
        case nodes.TopNRowNumberNode():
            return names(node.specification.partitionBy) | _ordered(node.specification.orderingScheme)
        case nodes.WindowNode():
            read = names(node.specification.partitionBy) | _ordered(node.specification.orderingScheme)
            for function in node.windowFunctions.values():
                frame = function.frame
                bounds = (
                    frame.startValue,
                    frame.endValue,
                    frame.sortKeyCoercedForFrameStartComparison,
                    frame.sortKeyCoercedForFrameEndComparison,
                )
                read |= _of([function.functionCall]) | names(v for v in bounds if v is not None)
            return read
        case _:
            return _of(expressions(node))


def names(variables: Iterable[Variable]) -> Names:
    return frozenset(variable.name for variable in variables)


def _of(read: Iterable[RowExpression]) -> Names:
    return frozenset(v.name for expression in read for v in free_variables(expression))


def _ordered(scheme: OrderingScheme | None) -> Names:
    return _NONE if scheme is None else names(order.variable for order in scheme.orderBy)
