"""Which answers are kept."""

from __future__ import annotations

import pytest

from shared.plan.kept import kept
from shared.plan.types import parse_type


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("a" * 10, "a" * 11),
        (("a" * 4, "b" * 4), ("a" * 6, "b" * 5)),
        (parse_type("map(bigint,bigint)"), parse_type(f"row({','.join(['bigint'] * 10)})")),
        (10**50, b"a" * 11),
    ],
)
def test_long_arguments_are_asked_for_again(short: object, long: object) -> None:
    asked = []

    @kept(maxsize=10, longest=10)
    def answer(value: object) -> object:
        asked.append(value)
        return value

    for value in (short, long, short, long):
        assert answer(value) is value
    assert asked == [short, long, long]


def test_too_many_are_forgotten() -> None:
    asked = []

    @kept(maxsize=2)
    def answer(value: int, *, more: int = 0) -> int:
        asked.append(value)
        return value + more

    assert [answer(value) for value in (1, 2, 1, 3, 3, 1)] == [1, 2, 1, 3, 3, 1]
    assert asked == [1, 2, 3, 1]
    assert (answer(1, more=5), answer(1, more=6)) == (6, 7)
