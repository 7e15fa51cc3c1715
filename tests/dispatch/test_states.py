"""The table of transitions, walked at random and checked as a whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.dispatch.states import TRANSITIONS, IllegalTransitionError, QueryState, check_transition

ORDER = list(QueryState)


def test_every_state_has_an_entry_and_every_running_state_can_fail():
    assert set(TRANSITIONS) == set(QueryState)
    for state, following in TRANSITIONS.items():
        assert state.done or QueryState.FAILED in following
    assert {state for state in QueryState if state.done} == {QueryState.FINISHED, QueryState.FAILED}


def test_queries_only_move_forward_in_prestos_order():
    for state, following in TRANSITIONS.items():
        assert all(ORDER.index(new) > ORDER.index(state) for new in following)


@given(st.lists(st.sampled_from(QueryState)))
def test_a_walk_is_legal_exactly_when_the_table_says_so(steps):
    state = QueryState.WAITING_FOR_PREREQUISITES
    for new in steps:
        if new in TRANSITIONS[state]:
            check_transition(state, new)
            state = new
        else:
            with pytest.raises(IllegalTransitionError, match=f"from {state.value} to {new.value}"):
                check_transition(state, new)


def test_dispatched():
    assert [state for state in QueryState if not state.dispatched] == ORDER[:3]
