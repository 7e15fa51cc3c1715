"""Where a refusal of the sidecar is said to stand in the statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coordinator.checks.refusal_location import location_of
from shared.errors import ErrorLocation
from shared.plan.expressions import SourceLocation, Variable
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import FilterNode, LimitNode, PlanNode, ValuesNode
from shared.protocol.sidecar import Failure, FailureLocation

MakeFragment = Callable[..., SimplePlanFragment]
HERE = SourceLocation(3, 5)


def plan(*, values: SourceLocation | None = None, predicate: SourceLocation | None = None) -> PlanNode:
    """LIMIT over a filter by a ``char(3)`` over values."""
    a = Variable(name="a", type="char(3)", sourceLocation=predicate)
    source = ValuesNode(id="0", outputVariables=(a,), rows=(), sourceLocation=values)
    return LimitNode(id="2", source=FilterNode(id="1", source=source, predicate=a), count=1, step="FINAL")


@pytest.mark.parametrize(
    ("failure", "root", "place"),
    [
        ({"errorLocation": FailureLocation(lineNumber=9, columnNumber=8)}, plan(values=HERE), ErrorLocation(9, 8)),
        ({"planNodeId": "0"}, plan(values=HERE), ErrorLocation(3, 5)),
        ({"planNodeId": "2"}, plan(values=HERE), ErrorLocation(3, 5)),
        ({"planNodeId": "2"}, plan(predicate=HERE, values=SourceLocation(7, 7)), ErrorLocation(3, 5)),
        ({"planNodeId": "2"}, plan(), None),
        ({"planNodeId": "42"}, plan(values=HERE), None),
        (
            {"message": "Failed to parse type [char(3)]. Type not registered."},
            plan(predicate=HERE),
            ErrorLocation(3, 5),
        ),
        ({"message": "Failed to parse type [char(4)]. Type not registered."}, plan(predicate=HERE), None),
        ({"message": "something else"}, plan(values=HERE, predicate=HERE), None),
    ],
)
def test_places(
    make_fragment: MakeFragment, failure: dict[str, Any], root: PlanNode, place: ErrorLocation | None
) -> None:
    message = {"message": "no", **failure}
    assert location_of(Failure(type="VeloxUserError", **message), make_fragment(root)) == place
