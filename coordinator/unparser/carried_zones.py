"""Zones of moments across query blocks.

The engines hold moments in UTC alone, so a moment that one block gives a zone reaches the next without it. Where the
zone is the same for all rows, which the plan shows, it is given again where a later block uses the moment or shows it:
``hour(d)`` over ``SELECT x AT TIME ZONE 'Asia/Tokyo' AS d`` is the hour in Tokyo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from coordinator.expressions.builders import NAMESPACE, constant, function_call, typed, value_of
from coordinator.expressions.types import TIMESTAMP_TZ, VARCHAR
from coordinator.unparser.session_zone import session_zone
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, StaticFunctionHandle, Variable, type_of
from shared.plan.nodes import (
    AggregationNode,
    Assignments,
    ExchangeNode,
    FilterNode,
    GroupIdNode,
    JoinNode,
    LimitNode,
    OutputNode,
    PlanNode,
    ProjectNode,
    WindowNode,
)
from shared.plan.traversal import output_variables, rewrite_bottom_up, variable_of_key

_GIVE = ("at_timezone", "with_timezone", "from_unixtime")
_KEEP = ("date_trunc", "date_add", "$operator$add", "$operator$subtract", "greatest", "least")
_CHOOSE = ("IF", "COALESCE", "SWITCH", "WHEN", "NULL_IF")
_PICK = ("min", "max", "arbitrary", "any_value", "max_by", "min_by")
_PICK_IN_WINDOW = (*_PICK, "lag", "lead", "first_value", "last_value", "nth_value")
_COMPARE = ("equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal", "between")
_SAME_IN_ANY_ZONE = frozenset([f"$operator${name}" for name in _COMPARE])


def with_carried_zones(root: OutputNode) -> OutputNode:
    """The plan with zones given again; the root itself when no moment has a zone of its own."""
    zones = _Zones()
    source = rewrite_bottom_up(root.source, zones.rewritten)
    if not zones.of:
        return root
    return replace(root, source=zones.shown(source, root.outputVariables))


class _Zones:
    """``of`` has the zone of each variable whose moments all have the same one, other than UTC; filled bottom up."""

    def __init__(self) -> None:
        self.of: dict[str, str] = {}

    def rewritten(self, node: PlanNode) -> PlanNode:
        """``node``, whose inputs have been rewritten."""
        match node:
            case ProjectNode():
                return self._project(node)
            case FilterNode() if self.of:
                return replace(node, predicate=self._inside(node.predicate))
            case JoinNode() if self.of and node.filter is not None:
                return replace(node, filter=self._inside(node.filter))
            case AggregationNode() if self.of:
                self._picked({key: a.call for key, a in node.aggregations.items()}, _PICK)
            case WindowNode() if self.of:
                self._picked({key: f.functionCall for key, f in node.windowFunctions.items()}, _PICK_IN_WINDOW)
            case GroupIdNode() if self.of:
                for key, variable in node.groupingColumns.items():
                    self._note(variable_of_key(key), self.of.get(variable.name))
            case ExchangeNode() if self.of:
                for position, variable in enumerate(output_variables(node)):
                    self._note(variable, _only(self.of.get(i[position].name) for i in node.inputs))
            case _:
                pass
        return node

    def shown(self, node: PlanNode, columns: Sequence[Variable]) -> PlanNode:
        """What the result shows, its zones given by the last projection."""
        if not any(column.name in self.of for column in columns):
            return node
        if isinstance(node, LimitNode):
            return replace(node, source=self.shown(node.source, columns))
        if not isinstance(node, ProjectNode):
            last = {column.key: self._given(column, self.of.get(column.name)) for column in columns}
            return ProjectNode(id=node.id, source=node, assignments=Assignments(assignments=last), locality="LOCAL")
        old = node.assignments.assignments
        assigned = {key: self._given(e, self.of.get(variable_of_key(key).name)) for key, e in old.items()}
        return replace(node, assignments=Assignments(assignments=assigned))

    def _project(self, node: ProjectNode) -> PlanNode:
        assigned = {key: self._inside(e) for key, e in node.assignments.assignments.items()} if self.of else None
        for key, expression in node.assignments.assignments.items():
            if type_of(expression) == TIMESTAMP_TZ.base:
                self._note(variable_of_key(key), self._zone(expression))
        return node if assigned is None else replace(node, assignments=Assignments(assignments=assigned))

    def _note(self, variable: Variable, zone: str | None) -> None:
        if zone is not None and zone != "UTC":
            self.of[variable.name] = zone

    def _picked(self, calls: Mapping[str, Call], names: Sequence[str]) -> None:
        for key, call in calls.items():
            if _name(call) in names and call.returnType == TIMESTAMP_TZ.base:
                self._note(variable_of_key(key), self._zone(call.arguments[0]))

    def _given(self, expression: RowExpression, zone: str | None) -> RowExpression:
        if zone is None or (isinstance(expression, Call) and _name(expression) in _GIVE):
            return expression
        return function_call("at_timezone", (expression, constant(zone, VARCHAR)), TIMESTAMP_TZ)

    def _inside(self, expression: RowExpression) -> RowExpression:
        """With the zones of variables given, where an expression does more with them than to compare or pass them."""
        if not isinstance(expression, Call | SpecialForm):
            return expression
        same = isinstance(expression, Call) and _name(expression) in _SAME_IN_ANY_ZONE
        arguments = tuple(
            self._given(a, None if same else self.of.get(a.name)) if isinstance(a, Variable) else self._inside(a)
            for a in expression.arguments
        )
        unchanged = all(new is old for new, old in zip(arguments, expression.arguments, strict=True))
        return expression if unchanged else replace(expression, arguments=arguments)

    def _zone(self, expression: RowExpression) -> str | None:
        """The zone of all values of a moment, as far as the plan shows it."""
        match expression:
            case Variable():
                return self.of.get(expression.name)
            case SpecialForm() if expression.form in _CHOOSE:
                return self._common(expression.arguments)
            case Call() if _name(expression) in _GIVE and len(expression.arguments) > 1:
                zone = expression.arguments[1]
                is_text = isinstance(zone, Constant) and typed(zone).base == "varchar"
                return value_of(zone) if isinstance(zone, Constant) and is_text else None
            case Call() if _name(expression) in _KEEP:
                return self._common(expression.arguments)
            case Call() if _name(expression) == "$operator$cast":
                return session_zone() if typed(expression.arguments[0]).base in ("timestamp", "date") else None
            case _:
                return None

    def _common(self, expressions: Sequence[RowExpression]) -> str | None:
        instants = (e for e in expressions if type_of(e) == TIMESTAMP_TZ.base)
        return _only(self._zone(e) for e in instants if not (isinstance(e, Constant) and value_of(e) is None))


def _only(zones: Iterable[str | None]) -> str | None:
    found = set(zones)
    return found.pop() if len(found) == 1 else None


def _name(call: Call) -> str:
    handle = call.functionHandle
    return handle.signature.name.removeprefix(NAMESPACE) if isinstance(handle, StaticFunctionHandle) else ""
