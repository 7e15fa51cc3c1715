"""CheckUnsupportedPrestissimoTypes: types that native workers cannot hold, refused when the session runs native."""

from __future__ import annotations

from coordinator.checks.built_in.failure import located
from coordinator.checks.storage_form import rewrites_stored_data, storage_form
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import PlanNode
from shared.plan.traversal import output_variables, walk
from shared.plan.types import Type, parse_type

_UNSUPPORTED = {
    "char": "Char type is not supported in Prestissimo",
    "time": "Time type is not supported in Prestissimo",
    "time with time zone": "Time with Timezone type is not supported in Prestissimo",
    "ipprefix": "IPPrefix type is not supported in Prestissimo",
}


def check(plan: PlanNode) -> None:
    """Raises NOT_SUPPORTED at the first variable of such a type, nested ones included.

    A distributed procedure copies stored values, which are of none.
    """
    if rewrites_stored_data(plan):
        plan = storage_form(plan)
    for node in walk(plan):
        for variable in output_variables(node):
            problem = _problem(parse_type(variable.type))
            if problem is not None:
                at = located(variable.sourceLocation or node.sourceLocation)
                raise ProcessionError(ErrorCode.NOT_SUPPORTED, problem, location=at)


def _problem(parsed: Type) -> str | None:
    if parsed.base in _UNSUPPORTED:
        return _UNSUPPORTED[parsed.base]
    return next((problem for inner in parsed.arguments if (problem := _problem(inner))), None)
