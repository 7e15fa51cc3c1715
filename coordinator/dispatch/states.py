"""The states of a query and every legal step between them. Source: Presto's QueryState."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class QueryState(Enum):
    """In Presto's order; a query only moves forward."""

    WAITING_FOR_PREREQUISITES = "WAITING_FOR_PREREQUISITES"
    QUEUED = "QUEUED"
    WAITING_FOR_RESOURCES = "WAITING_FOR_RESOURCES"
    DISPATCHING = "DISPATCHING"
    PLANNING = "PLANNING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    FINISHING = "FINISHING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"

    @property
    def done(self) -> bool:
        """No further step exists."""
        return not TRANSITIONS[self]

    @property
    def dispatched(self) -> bool:
        """The query left the queue, or ended: it has executing pages."""
        return self not in _BEFORE_DISPATCH


_S = QueryState

TRANSITIONS: Mapping[QueryState, frozenset[QueryState]] = {
    # Planning and checking happen here, before the statement queues.
    _S.WAITING_FOR_PREREQUISITES: frozenset({_S.QUEUED, _S.FAILED}),
    _S.QUEUED: frozenset({_S.WAITING_FOR_RESOURCES, _S.DISPATCHING, _S.FAILED}),
    _S.WAITING_FOR_RESOURCES: frozenset({_S.DISPATCHING, _S.FAILED}),
    _S.DISPATCHING: frozenset({_S.PLANNING, _S.STARTING, _S.FAILED}),
    _S.PLANNING: frozenset({_S.STARTING, _S.FAILED}),
    _S.STARTING: frozenset({_S.RUNNING, _S.FINISHING, _S.FAILED}),
    _S.RUNNING: frozenset({_S.FINISHING, _S.FAILED}),
    # The engine has ended; rows may still wait for the client.
    _S.FINISHING: frozenset({_S.FINISHED, _S.FAILED}),
    _S.FINISHED: frozenset(),
    _S.FAILED: frozenset(),
}

_BEFORE_DISPATCH = frozenset({_S.WAITING_FOR_PREREQUISITES, _S.QUEUED, _S.WAITING_FOR_RESOURCES})


class IllegalTransitionError(Exception):
    """A step that TRANSITIONS does not hold: a defect of this program, never of a statement."""

    def __init__(self, old: QueryState, new: QueryState) -> None:
        super().__init__(f"a query cannot go from {old.value} to {new.value}")


def check_transition(old: QueryState, new: QueryState) -> None:
    """Raise IllegalTransitionError unless ``old`` may become ``new``."""
    if new not in TRANSITIONS[old]:
        raise IllegalTransitionError(old, new)
