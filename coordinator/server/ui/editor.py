"""``/ui/editor``: a statement and its result. The script speaks the statement protocol below ``/ui/v1``."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Depends, Request, Response

from coordinator.server.statement import StatementRoutes
from coordinator.server.ui.page import Pages
from coordinator.server.ui.plan_tree import logical_drawing, logical_plan
from coordinator.server.ui.statements import UserStatements

_LONGEST = 1_000_000
_FORM = 4 << 20


@dataclass(frozen=True, slots=True)
class EditorPage:
    statements: UserStatements
    protocol: StatementRoutes
    pages: Pages

    async def show(self, request: Request) -> Response:
        """``sql``, ``catalog`` and ``schema`` of the address are filled in; nothing runs before the user says so."""
        made = {name: request.query_params.get(name, "")[:_LONGEST] for name in ("sql", "catalog", "schema")}
        return await self.pages.show(request, "editor.html", "editor", lambda: made)

    async def plan(self, request: Request) -> Response:
        """The plan of a statement as a graph, or why there is none: a part of the page."""
        fields = await self.pages.tokens.form(request, _FORM)
        sql = "EXPLAIN (FORMAT JSON) " + fields.get("sql", "").strip().rstrip(";")
        rows = await self.statements.rows(request, sql, catalog=fields.get("catalog"), schema=fields.get("schema"))

        def make() -> dict[str, object]:
            plan = logical_plan(str(rows.rows[0][0])) if rows.rows else None
            return {"drawing": None if plan is None else logical_drawing(plan, str), "error": rows.error}

        return await self.pages.show(request, "plan_part.html", "editor", make)

    def routes(self) -> APIRouter:
        """The statement protocol for scripts of our pages alone: what changes something brings their token."""

        def check(request: Request) -> None:
            if request.method != "GET":
                self.pages.tokens.check(request)

        router = APIRouter(prefix="/ui", dependencies=[Depends(check)])
        router.include_router(self.protocol.router())
        return router
