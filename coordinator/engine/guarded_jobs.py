"""The log of procedure calls as users see it: jobs are queries, and those of others are seen and ended as such."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from coordinator.engine.jobs import JobLog
from coordinator.security.access_control.built_in import AllowAll
from coordinator.security.current_session import current_session
from shared.errors import ProcessionError
from shared.spi.access_control import Identity, SystemAccessControl, identity_of_session
from shared.spi.jobs import Job


class GuardedJobLog(JobLog):
    """A JobLog of which each user sees what the access control lets them see."""

    def __init__(
        self,
        file: Path | None,
        control: SystemAccessControl,
        redact: Callable[[str], str],
        tell: Callable[[Job], None] = lambda _job: None,
    ) -> None:
        super().__init__(file, redact, tell)
        self._control = control

    def jobs(self, limit: int, state: str | None = None) -> Sequence[Job]:
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

    def kill(self, job_id: str, message: str) -> bool:
        """Raises ProcessionError for a job of another that the user may see and not end; unseen is not running."""
        session = current_session()
        if session is not None:
            job = next((each for each in self.jobs(self.most, "RUNNING") if each.job_id == job_id), None)
            if job is None:
                return False
            self._control.check_can_kill_query_owned_by(identity_of_session(session), Identity(job.user))
        return super().kill(job_id, message)

    def _may_view(self, identity: Identity, owner: str) -> bool:
        try:
            self._control.check_can_view_query_owned_by(identity, Identity(owner))
        except ProcessionError:
            return False
        return True
