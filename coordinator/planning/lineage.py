"""Which columns of tables the variables of a plan are made of, and which decide what rows there are.

Works on the plan before optimization, in which every variable has one meaning. Words are OpenLineage's: DIRECT
(IDENTITY, TRANSFORMATION, AGGREGATION) and INDIRECT (FILTER, JOIN, GROUP_BY, SORT, WINDOW, CONDITIONAL).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shared.plan.expressions import Call, Lambda, RowExpression, SpecialForm, Variable, type_of
from shared.plan.nodes import (
    AggregationNode,
    ExchangeNode,
    FilterNode,
    GroupIdNode,
    JoinNode,
    MarkDistinctNode,
    OrderingScheme,
    PlanNode,
    ProjectNode,
    RowNumberNode,
    SemiJoinNode,
    SortNode,
    SpatialJoinNode,
    TableScanNode,
    TopNNode,
    TopNRowNumberNode,
    UnnestNode,
    WindowNode,
    WindowSpecification,
)
from shared.plan.traversal import sources, variable_of_key
from shared.spi.event_listener import SourceColumn

Origins = frozenset[SourceColumn]
NOTHING: Origins = frozenset()
_CONDITIONS = {"IF": (0,), "WHEN": (0,), "SWITCH": (0,)}
"""Arguments of special forms that choose among values and are no part of them."""


class Lineage:
    """Filled by walking a plan from its scans up; ``influences`` hold for the rows as a whole."""

    def __init__(self, scanned: Mapping[str, Mapping[str, SourceColumn]]) -> None:
        """``scanned``: the columns that each scan reads, by its id and the names of variables."""
        self._scanned = scanned
        self._origins: dict[str, Origins] = {}
        self.influences: dict[SourceColumn, None] = {}

    def of(self, expression: RowExpression) -> Origins:
        """What the value of an expression is made of."""
        while isinstance(expression, Call) and _keeps_value(expression):
            expression = expression.arguments[0]
        if isinstance(expression, Variable):
            return self._origins.get(expression.name, NOTHING)
        return _as(self._within(expression), "DIRECT", "TRANSFORMATION")

    def walk(self, root: PlanNode) -> None:
        """Without recursion: plans may be deeper than Python's stack."""
        stack, order = [root], []
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(sources(node))
        for node in reversed(order):
            self._add(node)

    def _add(self, node: PlanNode) -> None:
        match node:
            case TableScanNode():
                self._origins |= {name: frozenset([c]) for name, c in self._scanned.get(node.id, {}).items()}
            case ProjectNode():
                made = {variable_of_key(k).name: self.of(value) for k, value in node.assignments.assignments.items()}
                self._origins |= made
            case FilterNode():
                self._influence(self._within(node.predicate), "FILTER")
            case AggregationNode():
                self._aggregate(node)
            case WindowNode():
                self._window(node)
            case ExchangeNode():
                self._exchange(node)
            case UnnestNode():
                for key, made_of in node.unnestVariables.items():
                    for variable in made_of:
                        self._origins[variable.name] = _as(self.of(variable_of_key(key)), "DIRECT", "TRANSFORMATION")
            case GroupIdNode():
                self._origins |= {variable_of_key(k).name: self.of(v) for k, v in node.groupingColumns.items()}
            case SortNode() | TopNNode():
                self._influence(self._ordering(node.orderingScheme), "SORT")
            case _:
                self._add_joined(node)

    def _add_joined(self, node: PlanNode) -> None:
        match node:
            case JoinNode():
                for clause in node.criteria:
                    self._influence(self.of(clause.left) | self.of(clause.right), "JOIN")
                self._influence(NOTHING if node.filter is None else self._within(node.filter), "JOIN")
            case SpatialJoinNode():
                self._influence(self._within(node.filter), "JOIN")
            case SemiJoinNode():
                keys = self.of(node.sourceJoinVariable) | self.of(node.filteringSourceJoinVariable)
                self._origins[node.semiJoinOutput.name] = _as(keys, "INDIRECT", "JOIN")
            case MarkDistinctNode():
                self._origins[node.markerVariable.name] = self._all(node.distinctVariables, "GROUP_BY")
            case RowNumberNode():
                self._origins[node.rowNumberVariable.name] = self._all(node.partitionBy, "WINDOW")
            case TopNRowNumberNode():
                self._origins[node.rowNumberVariable.name] = self._specified(node.specification)
            case _:
                return

    def _aggregate(self, node: AggregationNode) -> None:
        keys = [self.of(key) for key in node.groupingSets.groupingKeys]
        self._influence(NOTHING.union(*keys), "GROUP_BY")
        for key, aggregation in node.aggregations.items():
            made = _as(NOTHING.union(*map(self._within, aggregation.call.arguments)), "DIRECT", "AGGREGATION")
            for condition in (aggregation.filter, aggregation.mask):
                if condition is not None:
                    made |= _as(self._within(condition), "INDIRECT", "FILTER")
            if aggregation.orderBy is not None:
                made |= _as(self._ordering(aggregation.orderBy), "INDIRECT", "SORT")
            self._origins[variable_of_key(key).name] = made

    def _window(self, node: WindowNode) -> None:
        over = self._specified(node.specification)
        for key, function in node.windowFunctions.items():
            direct = NOTHING.union(*map(self._within, function.functionCall.arguments))
            self._origins[variable_of_key(key).name] = _as(direct, "DIRECT", "TRANSFORMATION") | over

    def _specified(self, window: WindowSpecification) -> Origins:
        ordered = NOTHING if window.orderingScheme is None else self._ordering(window.orderingScheme)
        return self._all(window.partitionBy, "WINDOW") | _as(ordered, "INDIRECT", "WINDOW")

    def _exchange(self, node: ExchangeNode) -> None:
        for position, variable in enumerate(node.partitioningScheme.outputLayout):
            inputs = (self.of(variables[position]) for variables in node.inputs)
            self._origins[variable.name] = NOTHING.union(*inputs)

    def _ordering(self, scheme: OrderingScheme) -> Origins:
        return NOTHING.union(*(self.of(each.variable) for each in scheme.orderBy))

    def _all(self, variables: Iterable[Variable], subtype: str) -> Origins:
        return _as(NOTHING.union(*map(self.of, variables)), "INDIRECT", subtype)

    def _influence(self, columns: Origins, subtype: str) -> None:
        self.influences |= dict.fromkeys(_sorted(_as(columns, "INDIRECT", subtype)))

    def _within(self, expression: RowExpression) -> Origins:
        """Everything that an expression reads, as it comes."""
        match expression:
            case Variable():
                return self._origins.get(expression.name, NOTHING)
            case Call():
                return NOTHING.union(*map(self._within, expression.arguments))
            case Lambda():
                return self._within(expression.body)
            case SpecialForm():
                found = NOTHING
                for position, argument in enumerate(expression.arguments):
                    read = self._within(argument)
                    chooses = position in _CONDITIONS.get(expression.form, ())
                    found |= _as(read, "INDIRECT", "CONDITIONAL") if chooses else read
                return found
            case _:
                return NOTHING


def _keeps_value(call: Call) -> bool:
    """Texts of other lengths are other types and the same values."""
    if call.displayName != "CAST" or not call.returnType.startswith("varchar"):
        return False
    return type_of(call.arguments[0]).startswith("varchar")


def in_order(origins: Origins) -> tuple[SourceColumn, ...]:
    """Direct ones first, each group by name."""
    return tuple(_sorted(origins))


def _sorted(origins: Origins) -> list[SourceColumn]:
    return sorted(origins, key=lambda c: (c.type, c.catalog, c.schema, c.table, c.column, c.subtype))


def _as(columns: Origins, kind: str, subtype: str) -> Origins:
    """The same columns counting in another way: what was indirect stays so, an aggregate stays one."""
    return frozenset(_counted(column, kind, subtype) for column in columns)


def _counted(column: SourceColumn, kind: str, subtype: str) -> SourceColumn:
    if kind == "DIRECT" and (column.type == "INDIRECT" or column.subtype == "AGGREGATION"):
        return column
    return SourceColumn(
        catalog=column.catalog,
        schema=column.schema,
        table=column.table,
        column=column.column,
        type="DIRECT" if kind == "DIRECT" else "INDIRECT",
        subtype=subtype,
    )
