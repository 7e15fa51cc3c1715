"""Shares of coordinators: never more than there is, fair, and all of it used."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coordinator.resource_groups.shares import contended, fair_shares, share_of

names = st.sampled_from(["a", "b", "c", "d"])
counts = st.integers(0, 40)


@given(st.integers(0, 60), st.dictionaries(names, counts, min_size=1), st.integers(0, 9))
def test_shares_are_fair_and_never_more_than_there_is(limit: int, wanted: dict[str, int], turn: int) -> None:
    shares = fair_shares(limit, wanted, turn)
    assert sum(shares.values()) <= limit
    assert min(sum(wanted.values()), limit) <= sum(shares.values())
    for one in wanted:
        for other in wanted:
            if shares[one] < wanted[one]:
                assert shares[one] >= min(shares[other], wanted[other]) - 1


def test_what_nobody_wants_is_divided_so_that_each_may_begin() -> None:
    assert fair_shares(100, {"a": 0, "b": 80}) == {"a": 10, "b": 90}
    assert fair_shares(1, {"a": 0, "b": 0}) == {"a": 0, "b": 0}
    assert fair_shares(1, {"a": 0, "b": 3}) == {"a": 0, "b": 1}
    assert fair_shares(0, {"a": 1}) == {"a": 0}


def test_each_comes_first_in_its_turn() -> None:
    served = [
        name for turn in range(6) for name, share in fair_shares(1, {"a": 3, "b": 3, "c": 9}, turn).items() if share
    ]
    assert served == ["a", "b", "c"] * 2


@given(st.integers(0, 30), st.lists(st.tuples(names, counts, st.integers(0, 40), st.integers(0, 3)), max_size=40))
def test_what_all_may_have_together_is_never_more(limit: int, steps: list[tuple[str, int, int, int]]) -> None:
    """Coordinators exchange in any order; each runs as many as it may, and ends some of them at any time."""
    wanted = dict.fromkeys("abcd", 0)
    reserved, running = dict.fromkeys("abcd", 0), dict.fromkeys("abcd", 0)
    for name, want, ended, turn in steps:
        running[name] = max(0, running[name] - ended)
        wanted[name] = max(want, running[name])
        share = share_of(limit, name, running[name], wanted, reserved, turn)
        reserved[name] = max(share, running[name])
        running[name] = max(running[name], min(share, wanted[name]))
        assert sum(reserved.values()) <= limit
        assert sum(running.values()) <= limit


def test_somebody_who_has_less_than_he_wants_is_told_of() -> None:
    assert contended("a", {"a": 5, "b": 3}, {"a": 5, "b": 0})
    assert not contended("a", {"a": 9, "b": 3}, {"a": 5, "b": 3})
