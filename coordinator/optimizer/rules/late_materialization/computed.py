"""Expressions over deferred columns: computed of the rows that are left, above the Fetch.

``SELECT upper(name) … ORDER BY k LIMIT 10`` needs ten names. Such an expression waits as long as nothing reads its
result and it gives the same above as below: not below the side of an outer join that gets NULLs, nor below a union,
whose branches compute differently.
"""

from __future__ import annotations

import re

from coordinator.analyzer.determinism import deterministic
from shared.plan import nodes
from shared.plan.expressions import RowExpression, Variable
from shared.plan.traversal import free_variables

_OF_ONE_STATEMENT = frozenset({"time", "zone", "interval", "uuid", "ipaddress", "ipprefix", "unknown"})
"""Words in types whose values do not leave one statement of the engine and enter another as they are."""
_WORDS = re.compile("[a-z]+")
_NULL_SIDES = {"INNER": (False, False), "LEFT": (False, True), "RIGHT": (True, False)}


def can_wait(expression: RowExpression) -> bool:
    """Whether an expression gives the same value when a later statement of the engine computes it."""
    read = free_variables(expression)
    if isinstance(expression, Variable) or not read:
        return False
    return deterministic(expression) and not any(_OF_ONE_STATEMENT & {*_WORDS.findall(v.type)} for v in read)


def gets_nulls(join: nodes.JoinNode) -> tuple[bool, bool]:
    """Of the left and the right side, whether rows of the other without a partner have NULLs in its place."""
    return _NULL_SIDES.get(join.type, (True, True))
