"""What a query keeps of its error: what is shown, and none of the frames that it came through."""

from __future__ import annotations

import weakref

import pytest

from coordinator.dispatch.clock import SystemClock
from coordinator.dispatch.execution import QueryExecution
from coordinator.dispatch.query import Query
from coordinator.dispatch.settings import DispatchSettings
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.session import Session

pytestmark = pytest.mark.anyio
PLACE = ErrorLocation(3, 14)


class Plan:
    """What a frame holds while it works."""


def _fail(query: Query) -> weakref.ref[Plan]:
    plan = Plan()
    try:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, "wrong", location=PLACE, retriable=True)
    except ProcessionError as error:
        query.fail(error)
    return weakref.ref(plan)


async def test_frames_are_not_kept() -> None:
    session, settings = Session("u", query_id="q"), DispatchSettings()
    query = Query(session=session, text="", slug="s", settings=settings, clock=SystemClock())
    assert _fail(query)() is None
    execution = QueryExecution(query)
    with pytest.raises(ProcessionError, match="wrong") as raised:
        execution.check_cancelled()
    said = raised.value
    assert (said.code, said.location, said.retriable) == (ErrorCode.SYNTAX_ERROR, PLACE, True)
    assert query.error is not None
    assert query.error.__traceback__ is None
