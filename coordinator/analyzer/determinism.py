"""Whether an expression gives the same value each time it is computed."""

from __future__ import annotations

from coordinator.analyzer.registry import registry
from coordinator.expressions.builders import NAMESPACE
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, StaticFunctionHandle, Variable


def deterministic(expression: RowExpression) -> bool:
    """Whether everything that ``expression`` calls is deterministic."""
    match expression:
        case Variable() | Constant():
            return True
        case Lambda():
            return deterministic(expression.body)
        case SpecialForm():
            return all(deterministic(a) for a in expression.arguments)
        case Call():
            handle = expression.functionHandle
            name = handle.signature.name.removeprefix(NAMESPACE) if isinstance(handle, StaticFunctionHandle) else ""
            known = registry().get(name, ())
            return all(s.deterministic for s in known) and all(deterministic(a) for a in expression.arguments)
