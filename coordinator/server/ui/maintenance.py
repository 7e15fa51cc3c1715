"""``/ui/maintenance``: the health of tables, what was decided and done about it, and stopping it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import Request, Response

from coordinator.server.problems import ProblemError, bad_request
from coordinator.server.ui.page import Context, Pages, see_other
from coordinator.server.ui.statements import UserStatements, text

_FORM = 16_000
_EVERY = 10
_QUESTIONS = {
    "tables": "SELECT * FROM system.maintenance.tables ORDER BY health, worst_partition_health LIMIT 200",
    "jobs": "SELECT * FROM system.maintenance.jobs ORDER BY started DESC LIMIT 100",
    "decisions": "SELECT * FROM system.maintenance.decisions ORDER BY decided DESC LIMIT 100",
    "budget": "SELECT * FROM system.maintenance.budget",
    "policies": "SELECT policy, tables, type, enabled FROM system.maintenance.policies",
}
_PARTS = ("catalog", "schema", "table_name")


@dataclass(frozen=True, slots=True)
class MaintenancePage:
    statements: UserStatements
    pages: Pages

    async def show(self, request: Request) -> Response:
        async def begin() -> Callable[[], Context]:
            found = await self.statements.several(request, _QUESTIONS)
            active = any(each["state"] == "RUNNING" for each in found["jobs"].records())
            return lambda: {"found": found, "active": active}

        return await self.pages.live(request, "maintenance.html", "maintenance", _EVERY, begin)

    async def tell(self, request: Request) -> Response:
        """Pause or resume everything, a catalog, a schema or a table."""
        fields = await self.pages.tokens.form(request, _FORM)
        action = fields.get("action", "")
        if action not in ("pause", "resume"):
            raise bad_request("Expected pause or resume")
        scope = {name: fields[name].strip() for name in _PARTS if fields.get(name, "").strip()}
        if action == "pause" and fields.get("reason", "").strip():
            scope["reason"] = fields["reason"].strip()
        arguments = ", ".join(f"{name} => {text(value)}" for name, value in scope.items())
        rows = await self.statements.rows(request, f"CALL system.{action}({arguments})")
        if rows.error is not None:
            raise ProblemError(400, rows.error)
        return see_other("maintenance")
