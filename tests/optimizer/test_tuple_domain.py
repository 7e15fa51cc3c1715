"""Domains against the predicate itself: a value that the predicate accepts must be in the domain."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.analyzer.expressions import analyze_predicate
from coordinator.optimizer.tuple_domain import Domain, Range, column_domains
from shared.plan.nodes import TableHandle
from shared.spi.connector import ColumnMetadata, TableMetadata
from shared.spi.session import Session

COLUMNS = (("a", "bigint"), ("s", "varchar"), ("d", "double"), ("p", "decimal(10,2)"), ("b", "boolean"), ("x", "json"))
TABLE = TableMetadata(
    "c",
    "s",
    "t",
    tuple(ColumnMetadata(name, kind, {}) for name, kind in COLUMNS),
    TableHandle(connectorId="c", connectorHandle={}),
)
SESSION = Session(user="t")


def domains(text: str) -> dict[str, Domain]:
    return {v.name: d for v, d in column_domains(analyze_predicate(text, TABLE, SESSION)).items()}


def contains(domain: Domain, value: Any) -> bool:
    if value is None:
        return domain.null_allowed
    return domain.ranges is None or any(_inside(r, value) for r in domain.ranges)


def _inside(bounds: Range, value: Any) -> bool:
    low, high = bounds.low, bounds.high
    above = low is None or (value >= low.value if low.inclusive else value > low.value)
    below = high is None or (value <= high.value if high.inclusive else value < high.value)
    return bool(above and below)


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
CONJUNCT = st.tuples(st.sampled_from(sorted(COMPARISONS)), st.integers(-4, 4), st.booleans())


@settings(deadline=None)
@given(st.lists(CONJUNCT, min_size=1, max_size=4))
def test_conjunctions_of_comparisons_are_exact(conjuncts: list[tuple[str, int, bool]]) -> None:
    text = " AND ".join(f"{value} {sign} a" if flipped else f"a {sign} {value}" for sign, value, flipped in conjuncts)
    domain = domains(text)["a"]
    for value in range(-6, 7):
        accepted = all(
            COMPARISONS[sign](other, value) if flipped else COMPARISONS[sign](value, other)
            for sign, other, flipped in conjuncts
        )
        assert contains(domain, value) is accepted
    assert not contains(domain, None)


@settings(deadline=None)
@given(st.sets(st.integers(-5, 5), min_size=1), st.integers(-5, 5), st.integers(-5, 5))
def test_in_and_between(options: set[int], low: int, high: int) -> None:
    text = f"a IN ({', '.join(map(str, options))}) AND a BETWEEN {low} AND {high}"
    domain = domains(text)["a"]
    for value in range(-7, 8):
        assert contains(domain, value) is (value in options and low <= value <= high)


@pytest.mark.parametrize(
    ("text", "null_allowed", "ranges"),
    [
        ("s IS NULL", True, ()),
        ("s IS NOT NULL", False, None),
        ("NOT (s IS NULL)", False, None),
        ("s IS NULL AND s = 'x'", False, ()),
    ],
)
def test_null(text: str, null_allowed: bool, ranges: tuple[Range, ...] | None) -> None:
    domain = domains(text)["s"]
    assert (domain.null_allowed, domain.ranges) == (null_allowed, ranges)


@pytest.mark.parametrize(
    "text", ["a = 1 OR s = 'x'", "a + 1 = 2", "length(s) > 3", "d = nan()", "s LIKE 'a%x'", "b", "a = length(s)"]
)
def test_what_no_domain_can_say_is_left_out(text: str) -> None:
    assert domains(text) == {}


def test_other_conjuncts_do_not_hide_a_domain() -> None:
    assert set(domains("length(s) > 3 AND p >= 1.5 AND (a = 1 OR d > 2e0)")) == {"p"}


def test_wire_form_is_prestos() -> None:
    wire = domains("s = 'F'")["s"].wire()
    marker = {"type": "varchar", "valueBlock": "DgAAAFZBUklBQkxFX1dJRFRIAQAAAAEAAAAAAQAAAEY=", "bound": "EXACTLY"}
    assert wire == {
        "values": {"@type": "sortable", "type": "varchar", "ranges": [{"low": marker, "high": marker}]},
        "nullAllowed": False,
    }
    low = domains("d > 1000e0")["d"].wire()["values"]["ranges"][0]
    assert low == {
        "low": {"type": "double", "valueBlock": "CgAAAExPTkdfQVJSQVkBAAAAAAAAAAAAQI9A", "bound": "ABOVE"},
        "high": {"type": "double", "bound": "BELOW"},
    }
