"""docs/rooms.md is what the code says of its rooms."""

from __future__ import annotations

from tools.rooms import PAGE, arrows, cycles, page


def test_page_is_current() -> None:
    assert PAGE.read_text() == page(), "run `make rooms`"


def test_arrows_that_follow_from_others_are_left_out() -> None:
    graph = {"a": {"b", "c", "d"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    frozen = {room: frozenset(needed) for room, needed in graph.items()}
    assert cycles(frozen) == [["b", "c"]]
    assert arrows(frozen) == [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]
