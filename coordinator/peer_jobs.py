"""Procedure calls of the other coordinators, as the history that all share has them; and ending one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog
from sqlalchemy import or_
from sqlalchemy.exc import SQLAlchemyError

from coordinator.history.reader import HistoryReader, Record
from coordinator.history.rows import from_micros
from coordinator.history.schema import PROCEDURES
from coordinator.listeners import may_see_queries_of
from coordinator.security.access_control.built_in import AllowAll
from shared.spi.access_control import Identity, SystemAccessControl, identity_of_session
from shared.spi.jobs import Job
from shared.spi.session import Session

_log = structlog.get_logger(__name__)
_LOOKED_AT = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Kill = Callable[[Session, str, str], bool | None]
"""Of another coordinator's query, see ``RuntimeState.kill``."""


class PeerJobs:
    """Implements ``coordinator.engine.guarded_jobs.JobsElsewhere``."""

    def __init__(self, reader: HistoryReader, control: SystemAccessControl, node_id: str, kill: Kill) -> None:
        """``reader`` of a database that answers within seconds; ``node_id`` is this coordinator."""
        self._reader, self._control, self._node_id, self._kill = reader, control, node_id, kill

    def jobs(self, session: Session | None, limit: int, state: str | None) -> Sequence[Job]:
        """The newest; nothing while the database is away. Ended ones of this coordinator are among them."""
        # What this one runs it knows better than the history, which is late.
        conditions = [or_(PROCEDURES.c.node_id != self._node_id, PROCEDURES.c.ended.is_not(None))]
        if state is not None:
            conditions.append(PROCEDURES.c.state == state)
        visible: Callable[[Identity], bool] = lambda _owner: True  # noqa: E731
        looked_at = limit
        if session is not None and type(self._control) is not AllowAll:
            looked_at = _LOOKED_AT
            visible = partial(may_see_queries_of, self._control, identity_of_session(session))
        try:
            return [_job(row) for row in self._reader.procedures(visible, looked_at, *conditions)][:limit]
        except SQLAlchemyError as error:
            _log.warning("calls of other coordinators are not known", reason=str(getattr(error, "orig", None) or error))
            return []

    def kill(self, session: Session, job_id: str, message: str) -> bool:
        """Raises ProcessionError for one that the session may not end, and when its coordinator does not answer."""
        known = any(job.job_id == job_id for job in self.jobs(session, _LOOKED_AT, "RUNNING"))
        return known and bool(self._kill(session, job_id, message))


def _job(row: Record) -> Job:
    lost = row["state"] == "LOST"
    return Job(
        job_id=row["query_id"],
        procedure=row["procedure"],
        table=row["table_name"],
        user=row["user_name"],
        state=row["state"],
        started=_EPOCH + timedelta(microseconds=row["started"]),
        ended=None if lost else from_micros(row["ended"]),
        completed=row["completed"],
        total=row["total"],
        phase=row["phase"],
        error=row["error"],
        node_id=row["node_id"],
    )
