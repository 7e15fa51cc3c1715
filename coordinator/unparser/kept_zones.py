"""Zones of computed moments in a query's result.

The engines hold moments in UTC alone. What the last projection gives a zone of its own leaves them as text, which the
result's encoder takes for a timestamp with time zone; the kernels compute it with the zone at hand.
"""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.expressions.builders import NAMESPACE, function_call, typed
from coordinator.expressions.types import TIMESTAMP_TZ, VARCHAR
from coordinator.unparser.carried_zones import with_carried_zones
from shared.plan.expressions import Call, RowExpression, SpecialForm, StaticFunctionHandle, Variable
from shared.plan.nodes import LimitNode, OutputNode, PlanNode, ProjectNode
from shared.plan.traversal import variable_of_key

_GIVE_ZONES = ("at_timezone", "with_timezone", "parse_datetime", "from_iso8601_timestamp")


def with_zones_as_text(root: OutputNode) -> OutputNode:
    """The plan whose last projection shows moments with zones of their own; the root itself when there are none."""
    shown: set[str] = set()
    root = with_carried_zones(root)
    source = _shown(root.source, shown)
    if not shown:
        return root
    variables = tuple(Variable(name=v.name, type="varchar") if v.name in shown else v for v in root.outputVariables)
    return replace(root, source=source, outputVariables=variables)


def _shown(node: PlanNode, shown: set[str]) -> PlanNode:
    match node:
        case LimitNode():
            return replace(node, source=_shown(node.source, shown))
        case ProjectNode():
            assigned: dict[str, RowExpression] = {}
            for key, expression in node.assignments.assignments.items():
                variable = variable_of_key(key)
                if typed(expression) == TIMESTAMP_TZ and _gives_zone(expression):
                    shown.add(variable.name)
                    text = Variable(name=variable.name, type="varchar")
                    assigned[text.key] = function_call("$operator$cast", (expression,), VARCHAR, display="CAST")
                else:
                    assigned[key] = expression
            return replace(node, assignments=replace(node.assignments, assignments=assigned)) if shown else node
        case _:
            return node


def _gives_zone(expression: RowExpression) -> bool:
    if isinstance(expression, Call) and isinstance(expression.functionHandle, StaticFunctionHandle):
        name = expression.functionHandle.signature.name.removeprefix(NAMESPACE)
        if name in _GIVE_ZONES or (name == "from_unixtime" and len(expression.arguments) > 1):
            return True
        if name in ("$operator$cast", "try_cast") and typed(expression) == TIMESTAMP_TZ:
            return typed(expression.arguments[0]).base in ("varchar", "char")
    arguments = expression.arguments if isinstance(expression, Call | SpecialForm) else ()
    return any(typed(a) == TIMESTAMP_TZ and _gives_zone(a) for a in arguments)
