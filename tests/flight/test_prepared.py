"""Prepared statements are kept for those that made them, and not for ever."""

from __future__ import annotations

import pytest

from coordinator.flight.callers import Caller
from coordinator.flight.failures import CallError
from coordinator.flight.prepared import Prepared, PreparedStatements
from shared.spi.session import Session

ALICE, BOB = Caller(Session("alice")), Caller(Session("bob"))
STATEMENT = Prepared("SELECT 1", None, None)


def test_of_their_owner_alone():
    kept = PreparedStatements(5, 10.0)
    handle = kept.keep(ALICE, STATEMENT)
    assert kept.find(ALICE, handle) == STATEMENT
    for stranger in (BOB, Caller(Session("alice", principal="mallory"))):
        with pytest.raises(CallError):
            kept.find(stranger, handle)
        kept.close(stranger, handle)
    kept.close(ALICE, handle)
    assert len(kept) == 0


def test_the_one_that_was_not_used_for_longest_goes_and_others_keep_theirs():
    kept = PreparedStatements(2, 10.0)
    theirs = kept.keep(BOB, STATEMENT)
    first, second = kept.keep(ALICE, STATEMENT), kept.keep(ALICE, STATEMENT)
    kept.find(ALICE, first)
    third = kept.keep(ALICE, STATEMENT)
    with pytest.raises(CallError):
        kept.find(ALICE, second)
    assert [kept.find(who, each) for who, each in ((ALICE, first), (ALICE, third), (BOB, theirs))] == [STATEMENT] * 3


def test_long_ones_have_less_company():
    kept = PreparedStatements(5, 10.0, size_of_user=100)
    first, second = (kept.keep(ALICE, Prepared("x" * 40, None, None)) for _ in range(2))
    kept.bind(ALICE, second, (("y" * 40,),))
    with pytest.raises(CallError):
        kept.find(ALICE, first)
    assert kept.find(ALICE, second).bound


@pytest.mark.parametrize("limit", [{"most": 3}, {"size": 130}])
def test_all_users_together_have_a_limit(limit):
    kept = PreparedStatements(5, 10.0, **limit)
    users = [Caller(Session(f"u{n}")) for n in range(6)]
    statement = Prepared("x" * 40, None, None)
    handles = [kept.keep(user, statement) for user in users[:3]]
    kept.find(users[0], handles[0])
    kept.close(users[2], handles[2])
    handles += [kept.keep(user, statement) for user in users[3:5]]
    assert len(kept) == 3
    with pytest.raises(CallError):
        kept.find(users[1], handles[1])
    assert kept.find(users[0], handles[0]) == statement
    kept.bind(users[4], handles[4], (("y" * 5,),) * 2)
    assert len(kept) == 3
    kept.bind(users[4], handles[4], (("y" * 1000,),))
    assert len(kept) == (1 if "size" in limit else 3)
    assert kept.find(users[4], handles[4]).bound


def test_nobody_uses_it_and_it_goes():
    now = [0.0]
    kept = PreparedStatements(5, 10.0, lambda: now[0])
    handle = kept.keep(ALICE, STATEMENT)
    now[0] = 9.0
    kept.find(ALICE, handle)
    now[0] = 18.0
    kept.find(ALICE, handle)
    now[0] = 28.5
    kept.keep(BOB, STATEMENT)
    assert len(kept) == 1


def test_parameters_are_literals_of_an_immediate_statement():
    prepared = Prepared("SELECT 'a' WHERE ? = 1", None, None)
    assert prepared.statement(("1",)) == "EXECUTE IMMEDIATE 'SELECT ''a'' WHERE ? = 1' USING 1"
