"""Where in the statement a refused part of a fragment stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from coordinator.checks.built_in.failure import located
from shared.errors import ErrorLocation
from shared.plan.expressions import Call, RowExpression, SourceLocation, Variable, type_of
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import PlanNode
from shared.plan.traversal import expressions, output_variables, walk, walk_expression
from shared.protocol.sidecar import Failure

_TYPE = re.compile(r"Failed to parse type \[(?P<type>[^\]]+)\]")


def location_of(failure: Failure, fragment: SimplePlanFragment) -> ErrorLocation | None:
    """Of the part whose type is refused; else as the sidecar says; else of the node or function that it names.

    What has no place of its own in the statement takes that of the nearest part that has one.
    """
    message = failure.message or ""
    # The sidecar points at the node that puts the type out, which stands where its table does.
    if (at := _of_named_type(message, fragment)) is not None:
        return located(at)
    if failure.errorLocation:
        return ErrorLocation(failure.errorLocation.lineNumber, failure.errorLocation.columnNumber)
    if failure.planNodeId:
        named = next((node for node in walk(fragment.root) if node.id == failure.planNodeId), None)
        if named is not None and (at := _nearest(named)) is not None:
            return located(at)
    return located(_of_named_function(message, fragment))


def _nearest(node: PlanNode) -> SourceLocation | None:
    """Its own, that of one of its expressions, that of what it reads."""
    for each in walk(node):
        if each.sourceLocation is not None:
            return each.sourceLocation
        for inner in _parts(each):
            if inner.sourceLocation is not None:
                return inner.sourceLocation
    return None


def _of_named_function(message: str, fragment: SimplePlanFragment) -> SourceLocation | None:
    words = set(re.findall(r"[\w$.]+", message))
    for node in walk(fragment.root):
        for inner in _parts(node):
            at = inner.sourceLocation or node.sourceLocation
            if isinstance(inner, Call) and at is not None and _names(inner) & words:
                return at
    return None


def _of_named_type(message: str, fragment: SimplePlanFragment) -> SourceLocation | None:
    found = _TYPE.search(message)
    if found is None:
        return None
    nearest: SourceLocation | None = None
    around: SourceLocation | None = None
    for node in walk(fragment.root):
        for inner in (*_parts(node), *output_variables(node)):
            if type_of(inner) != found["type"]:
                continue
            if inner.sourceLocation is not None and not isinstance(inner, Variable):
                return inner.sourceLocation
            nearest = nearest or inner.sourceLocation
            around = around or node.sourceLocation
    return nearest or around


def _parts(node: PlanNode) -> Iterator[RowExpression]:
    for expression in expressions(node):
        yield from walk_expression(expression)


def _names(call: Call) -> set[str]:
    signature = getattr(call.functionHandle, "signature", None)
    qualified = signature.name if signature is not None else call.displayName
    unqualified = qualified.rpartition(".")[2]
    # A one-word operator such as "and" may stand in any sentence; functions of three letters up are telling enough.
    return {qualified} | ({unqualified} if len(unqualified) > 2 else set())
