"""``/ui/procedures``: calls that run and ran, and forms for dry runs, made from the declarations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request, Response

from coordinator.server.problems import ProblemError
from coordinator.server.ui.call_form import PREFIX, FormError, call_statement, hint, takes_dry_run
from coordinator.server.ui.page import Context, Pages
from coordinator.server.ui.statements import Rows, UserStatements
from shared.errors import ProcessionError
from shared.spi.procedure import ProcedureDeclaration

Declarations = Callable[[str], Sequence[ProcedureDeclaration]]
"""Those of a catalog, its own and the built-in ones; raises ProcessionError for a catalog that is not there."""
_FORM = 200_000
_EVERY = 5


@dataclass(frozen=True, slots=True)
class ProceduresPages:
    statements: UserStatements
    declarations: Declarations
    pages: Pages

    async def list(self, request: Request) -> Response:
        """Jobs, the newest first, and the procedures of every catalog that the user sees."""

        async def begin() -> Callable[[], Context]:
            asked = {"jobs": "CALL system.show_jobs(200)", "catalogs": "SHOW CATALOGS"}
            found = await self.statements.several(request, asked)
            return lambda: self._context(found)

        return await self.pages.live(request, "procedures.html", "procedures", _EVERY, begin)

    def _context(self, found: Mapping[str, Rows]) -> Context:
        catalogs = [str(row[0]) for row in found["catalogs"].rows]
        by_catalog = {name: sorted(self._of(name), key=lambda each: each.name) for name in catalogs}
        own = {each.name for each in by_catalog.get("system", ())}
        shown = {
            name: [each for each in procedures if name == "system" or each.name not in own]
            for name, procedures in by_catalog.items()
        }
        jobs = found["jobs"].records()
        return {
            "jobs": found["jobs"],
            "active": any(each["state"] == "RUNNING" for each in jobs),
            "several": len({each["node_id"] for each in jobs}) > 1,
            "procedures": {name: each for name, each in shown.items() if each},
        }

    async def form(self, request: Request) -> Response:
        catalog, declaration = await self._asked(request, dict(request.query_params))
        return await self._page(request, catalog, declaration, {}, "", None, "")

    async def submit(self, request: Request) -> Response:
        """Shows what a dry run says, or the statement for the editor where there is no dry run."""
        fields = await self.pages.tokens.form(request, _FORM)
        catalog, declaration = await self._asked(request, fields)
        dry = takes_dry_run(declaration)
        try:
            sql = call_statement(catalog, declaration, fields, dry_run=dry)
            final = call_statement(catalog, declaration, {**fields, f"{PREFIX}dry_run": ""}, dry_run=False)
        except FormError as error:
            return await self._page(request, catalog, declaration, fields, "", None, str(error))
        rows = await self.statements.rows(request, sql) if dry else None
        return await self._page(request, catalog, declaration, fields, final, rows, "")

    async def _asked(self, request: Request, named: dict[str, str]) -> tuple[str, ProcedureDeclaration]:
        """Of a catalog that the user sees."""
        catalog, name = named.get("catalog", ""), named.get("procedure", "")
        seen = await self.statements.rows(request, "SHOW CATALOGS")
        if seen.error is not None:
            raise ProblemError(403, seen.error)
        if [catalog] in [list(row) for row in seen.rows]:
            for each in self._of(catalog):
                if each.name == name:
                    return catalog, each
        raise ProblemError(404, "Procedure not found")

    def _of(self, catalog: str) -> Sequence[ProcedureDeclaration]:
        try:
            return self.declarations(catalog)
        except ProcessionError:
            return ()

    async def _page(
        self,
        request: Request,
        catalog: str,
        declaration: ProcedureDeclaration,
        fields: dict[str, str],
        statement: str,
        rows: Rows | None,
        error: str,
    ) -> Response:
        made = {
            "catalog": catalog,
            "procedure": declaration,
            "arguments": [(each, hint(each), fields.get(PREFIX + each.name, "")) for each in declaration.arguments],
            "dry": takes_dry_run(declaration),
            "prefix": PREFIX,
            "statement": statement,
            "rows": rows,
            "error": error,
        }
        return await self.pages.show(request, "call.html", "procedures", lambda: made)
