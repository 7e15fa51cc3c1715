"""Plans of the fuzz (``python -m benchmarks.fuzz.many``) that were internal errors, or ended a converter."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

Refuse = Callable[..., dict[str, Any]]


@pytest.fixture
def t(plans: SimpleNamespace) -> SimpleNamespace:
    """A table s.t(a bigint, b varchar)."""
    a, b = plans.var("a"), plans.var("b", "varchar")
    return SimpleNamespace(a=a, b=b, s=plans.scan(a, b))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [(b'{"@type": ', "truncated"), (b"[1 2]}", "expected"), (b'"\xff"}', "codec can't decode")],
)
def test_what_is_no_json_behind_a_wrong_place(
    plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse, wrong: bytes, message: str
) -> None:
    body = plans.fragment(t.s).replace(b'"@type":"variable"', b'"@type":"nothing"')
    body = body if b'"nothing"' in body else body.replace(b'"@type": "variable"', b'"@type": "nothing"')
    failure = refuse(body.rstrip()[:-1] + b', "more": ' + wrong)
    assert failure["message"].startswith("Plan fragment is not JSON: ")
    assert message in failure["message"]


def test_a_constant_with_the_block_of_another_type(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    constant = plans.const("AMERICA", "varchar") | {"type": "ipprefix"}
    failure = refuse(plans.fragment(plans.project(t.s, c=constant)))
    assert failure["message"] == "The block of a constant is not of type ipprefix"
    assert failure["errorCode"]["name"] == "GENERIC_USER_ERROR"


@pytest.mark.parametrize("bound", ["EXACTLY", "ABOVE"])
def test_bounds_of_another_type(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse, bound: str) -> None:
    low = {"type": "varchar", "bound": bound, "valueBlock": plans.const("MEDIUM", "varchar")["valueBlock"]}
    high = {"type": "bigint", "bound": "EXACTLY", "valueBlock": plans.const(7)["valueBlock"]}
    values = {"@type": "sortable", "type": "bigint", "ranges": [{"low": low, "high": high}]}
    domains = [{"column": "a", "domain": {"values": values, "nullAllowed": False}}]
    scan = plans.scan(t.a, t.b, layout={"domainPredicate": {"columnDomains": domains}})
    failure = refuse(plans.fragment(scan))
    assert failure["message"] == "The bound of a range is not of type bigint"


def test_a_window_function_that_is_a_cast(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    """It ended the converter with SIGSEGV."""
    specification = {"partitionBy": [t.b], "orderingScheme": plans.ordering(t.b, t.a)}
    frame = {"type": "RANGE", "startType": "UNBOUNDED_PRECEDING", "endType": "CURRENT_ROW"}
    entry = {"functionCall": plans.op("cast", "boolean", t.a), "frame": frame, "ignoreNulls": False}
    root = plans.node(".WindowNode", "2", t.s, specification=specification, windowFunctions={"w<boolean>": entry})
    failure = refuse(plans.fragment(root))
    assert failure["message"] == "$operator$cast is not a window function"


def test_bytes_that_are_no_text_where_nobody_looks(plans: SimpleNamespace, t: SimpleNamespace, refuse: Refuse) -> None:
    body = plans.fragment(plans.project(t.s, c=plans.call("no_such_function", "bigint", t.a)))
    failure = refuse(body.rstrip()[:-1] + b', "more": "\xd9"}')
    assert failure["message"].startswith("Scalar function name not registered: no_such_function")
