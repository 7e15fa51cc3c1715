"""``/ui/editor``: a statement and its result. The script speaks the statement protocol below ``/ui/v1``."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

from fastapi import APIRouter, Depends, Request, Response

from coordinator.server.node import json_response
from coordinator.server.statement import StatementRoutes
from coordinator.server.ui.page import Pages
from coordinator.server.ui.plan_tree import logical_drawing, logical_plan
from coordinator.server.ui.statements import UserStatements, identifier, qualified
from coordinator.sql.expected.following import what_follows

_LONGEST = 1_000_000
_PLACE = re.compile(r"^line \d+:\d+: ")
_FORM = 4 << 20


@dataclass(frozen=True, slots=True)
class EditorPage:
    statements: UserStatements
    protocol: StatementRoutes
    pages: Pages
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)

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
            # Its place is one in the statement around it.
            error = None if rows.error is None else _PLACE.sub("", rows.error)
            return {"drawing": None if plan is None else logical_drawing(plan, str), "error": error}

        return await self.pages.show(request, "plan_part.html", "editor", make)

    async def names(self, request: Request) -> Response:
        """What may be typed: catalogs, schemas and tables, or the columns of a table; a list of texts."""
        catalog, schema, table = (request.query_params.get(name, "") for name in ("catalog", "schema", "table"))
        asked = {"catalogs": "SHOW CATALOGS"}
        if table:
            asked = {"columns": f"DESCRIBE {qualified(*(name for name in (catalog, schema, table) if name))}"}
        elif catalog:
            asked["schemas"] = f"SHOW SCHEMAS FROM {identifier(catalog)}"
            if schema:
                asked["tables"] = f"SHOW TABLES FROM {qualified(catalog, schema)}"
        found = await self.statements.several(request, asked)
        return json_response([str(row[0]) for rows in found.values() for row in rows.rows])

    async def following(self, request: Request) -> Response:
        """What may stand behind the text ``before``; one is found out at a time."""
        fields = await self.pages.tokens.form(request, _FORM)
        async with self.reading:
            found = await asyncio.to_thread(what_follows, fields.get("before", ""))
        return json_response(found)

    def routes(self) -> APIRouter:
        """The statement protocol for scripts of our pages alone: what changes something brings their token."""

        def check(request: Request) -> None:
            # A retry is a GET that runs a statement: another page could make a browser send it.
            if request.method != "GET" or "/retry/" in request.url.path:
                self.pages.tokens.check(request)

        router = APIRouter(prefix="/ui", dependencies=[Depends(check)])
        router.include_router(self.protocol.router())
        return router
