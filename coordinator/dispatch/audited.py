"""A planner in front of which the audit log stands: nothing that it lets through runs without a line."""

from __future__ import annotations

from coordinator.dispatch.ports import StatementPlanner
from coordinator.security.audit_log.trail import Trail
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ProcessionError
from shared.spi.session import Session


class AuditedPlanner:
    """Implements ``StatementPlanner`` around the one that asks the access control."""

    def __init__(self, planner: StatementPlanner, trail: Trail | None) -> None:
        self._planner, self._trail = planner, trail

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        """Raises ProcessionError."""
        if self._trail is None:
            return await self._planner.plan(text, session)
        try:
            planned = await self._planner.plan(text, session)
        except ProcessionError as error:
            await self._trail.refused(text, session, error)
            raise
        await self._trail.allowed(text, session, planned.query_type, planned.accesses, planned.inputs)
        return planned
