"""The log of procedure calls as users see it: jobs are queries, and those of others are seen and ended as such."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from coordinator.engine.jobs import JobLog
from coordinator.security.access_control.built_in import AllowAll
from coordinator.security.current_session import current_session
from shared.errors import ProcessionError
from shared.spi.access_control import Identity, SystemAccessControl, identity_of_session
from shared.spi.jobs import Job
from shared.spi.session import Session


class JobsElsewhere(Protocol):
    """Jobs of other coordinators; may be called in any thread but the event loop's."""

    def jobs(self, session: Session | None, limit: int, state: str | None) -> Sequence[Job]:
        """The newest that a session may see; of another state than they are in, for a moment."""
        ...

    def kill(self, session: Session, job_id: str, message: str) -> bool:
        """False when no such job runs there. Raises ProcessionError for one that the session may not end."""
        ...


class GuardedJobLog(JobLog):
    """A JobLog of which each user sees what the access control lets them see."""

    def __init__(
        self,
        file: Path | None,
        control: SystemAccessControl,
        redact: Callable[[str], str],
        tell: Callable[[Job], None] = lambda _job: None,
        node_id: str = "",
        elsewhere: JobsElsewhere | None = None,
    ) -> None:
        """``node_id``: this coordinator. ``elsewhere``: where there are several."""
        super().__init__(file, redact, tell)
        self._control, self._node_id, self._elsewhere = control, node_id, elsewhere

    def jobs(self, limit: int, state: str | None = None) -> Sequence[Job]:
        """Of all coordinators. A job that both know is shown as this one knows it."""
        mine = [replace(job, node_id=self._node_id) for job in self._own(limit, state)]
        if self._elsewhere is None:
            return mine
        known = {job.job_id for job in mine}
        others = self._elsewhere.jobs(current_session(), limit + len(known), state)
        found = [*mine, *(job for job in others if job.job_id not in known)]
        return sorted(found, key=lambda job: job.started, reverse=True)[:limit]

    def kill(self, job_id: str, message: str) -> bool:
        """Raises ProcessionError for a job of another that the user may see and not end; unseen is not running."""
        session = current_session()
        if session is None:
            return super().kill(job_id, message)
        job = next((each for each in self._own(self.most, "RUNNING") if each.job_id == job_id), None)
        if job is None:
            return self._elsewhere is not None and self._elsewhere.kill(session, job_id, message)
        self._control.check_can_kill_query_owned_by(identity_of_session(session), Identity(job.user))
        return super().kill(job_id, message)

    def _own(self, limit: int, state: str | None) -> Sequence[Job]:
        session = current_session()
        if session is None or type(self._control) is AllowAll:
            return super().jobs(limit, state)
        identity = identity_of_session(session)
        known: dict[str, bool] = {}
        found = []
        for job in super().jobs(self.most, state):
            if job.user not in known:
                known[job.user] = self._may_view(identity, job.user)
            if known[job.user]:
                found.append(job)
        return found[:limit]

    def _may_view(self, identity: Identity, owner: str) -> bool:
        try:
            self._control.check_can_view_query_owned_by(identity, Identity(owner))
        except ProcessionError:
            return False
        return True
