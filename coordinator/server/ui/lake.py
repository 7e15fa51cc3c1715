"""``/ui/lake`` and ``/ui/table``: catalogs, schemas and tables, as statements of the user see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from string import Template

from fastapi import Request, Response

from coordinator.history.reader import HistoryFilter, HistoryReader
from coordinator.server.authentication import identity_of
from coordinator.server.problems import bad_request
from coordinator.server.query_access import QueryAccess
from coordinator.server.ui.charts import Bar, bars
from coordinator.server.ui.page import Context, Pages
from coordinator.server.ui.queries import Listed, of_record
from coordinator.server.ui.snapshot_graph import snapshot_graph
from coordinator.server.ui.statements import Rows, UserStatements, identifier, qualified, text
from coordinator.server.ui.visible import Visible
from coordinator.server.ui.words import count, size

_LONGEST = 1000
_LISTED = 50
_TABLES = (
    "SELECT table_name, table_type FROM $catalog.information_schema.tables "
    "WHERE table_schema = $schema ORDER BY table_name"
)
_STORED = (
    "SELECT name, freshness FROM system.metadata.materialized_views "
    "WHERE catalog_name = $catalog AND schema_name = $schema"
)
_KINDS = ("files", "partitions", "snapshots", "refs", "properties")
_QUESTIONS: dict[str, dict[str, str]] = {
    "columns": {"columns": "DESCRIBE $named", "create": "SHOW CREATE TABLE $named"},
    "files": {
        "sizes": "SELECT content, "
        "greatest(0, CAST(floor(log2(CAST(file_size_in_bytes AS double))) AS bigint)) AS bucket, "
        "count(*) AS files, sum(file_size_in_bytes) AS bytes, sum(record_count) AS records FROM $files "
        "WHERE file_size_in_bytes > 0 GROUP BY 1, 2 ORDER BY 1, 2",
        "largest": "SELECT file_path, content, file_format, record_count, file_size_in_bytes FROM $files "
        "ORDER BY file_size_in_bytes DESC LIMIT 20",
    },
    "partitions": {"partitions": "SELECT * FROM $partitions ORDER BY row_count DESC LIMIT 200"},
    "snapshots": {
        "snapshots": "SELECT * FROM $snapshots ORDER BY committed_at DESC LIMIT 100",
        "references": "SELECT * FROM $refs",
    },
    "properties": {"properties": "SELECT * FROM $properties ORDER BY 1"},
    "statistics": {"statistics": "SHOW STATS FOR $named"},
}
TABS = ("columns", "files", "partitions", "snapshots", "properties", "statistics", "statements")


@dataclass(frozen=True, slots=True)
class LakePages:
    statements: UserStatements
    access: QueryAccess
    history: HistoryReader | None
    pages: Pages

    async def list(self, request: Request) -> Response:
        """Catalogs, or the schemas of one, or the tables of a schema."""
        catalog = _name(request, "catalog")
        schema = _name(request, "schema") if catalog else ""
        if not catalog:
            sql = "SHOW CATALOGS"
        elif not schema:
            sql = f"SHOW SCHEMAS FROM {identifier(catalog)}"
        else:
            sql = Template(_TABLES).substitute(catalog=identifier(catalog), schema=text(schema))
        asked = {"found": sql}
        if schema:
            asked["stored"] = Template(_STORED).substitute(catalog=text(catalog), schema=text(schema))
        found = await self.statements.several(request, asked)
        # Whoever may not ask for them sees plain views.
        stored = {} if "stored" not in found else {str(row[0]): str(row[1]) for row in found["stored"].rows}
        made = {"catalog": catalog, "schema": schema, "found": found["found"], "stored": stored}
        return await self.pages.show(request, "lake.html", "lake", lambda: made)

    async def table(self, request: Request) -> Response:
        """One table, a tab at a time: each costs its own statements."""
        catalog, schema, table = (_name(request, part) for part in ("catalog", "schema", "table"))
        if not (catalog and schema and table):
            raise bad_request("Expected catalog, schema and table")
        tab = request.query_params.get("tab", "columns")
        tab = tab if tab in TABS else "columns"
        found = await self.statements.several(request, _statements(tab, catalog, schema, table))
        past = await self._past(request, f"{catalog}.{schema}.{table}") if tab == "statements" else []
        names = {"catalog": catalog, "schema": schema, "table": table}

        def make() -> Context:
            made: dict[str, object] = {
                "names": names,
                "quoted": qualified(*names.values()),
                "tab": tab,
                "tabs": TABS,
                "found": found,
                "past": past,
            }
            made |= {"sizes": _sizes(found["sizes"]) if tab == "files" else []}
            is_graph = tab == "snapshots" and found["snapshots"].error is None
            made["graph"] = (
                snapshot_graph(found["snapshots"].records(), found["references"].records()) if is_graph else None
            )
            return made

        return await self.pages.show(request, "table.html", "lake", make)

    async def _past(self, request: Request, table: str) -> Sequence[Listed]:
        if self.history is None:
            return []
        visible = Visible(self.access.control, identity_of(request))
        page = await self.pages.aside(partial(self.history.page, HistoryFilter(table=table), visible.may_see, _LISTED))
        return [of_record(record) for record in page.records]


def _name(request: Request, parameter: str) -> str:
    return request.query_params.get(parameter, "")[:_LONGEST]


def _statements(tab: str, catalog: str, schema: str, table: str) -> Mapping[str, str]:
    names = {kind: qualified(catalog, schema, f"{table}${kind}") for kind in _KINDS}
    names["named"] = qualified(catalog, schema, table)
    return {name: Template(sql).substitute(names) for name, sql in _QUESTIONS.get(tab, {}).items()}


def _sizes(found: Rows) -> list[Bar]:
    """A bar for each power of two, data files and delete files apart."""
    kinds = {0: "", 1: "position deletes ", 2: "equality deletes "}
    values = []
    for each in found.records():
        low = 1 << min(62, _number(each["bucket"]))
        label = f"{kinds.get(_number(each['content']), '')}{size(low)} to {size(2 * low)}"
        files = _number(each["files"])
        note = f"{count(files)} files, {size(_number(each['bytes']))}, {count(_number(each['records']))} rows"
        values.append((label, float(files), note))
    return bars(values)


def _number(value: object) -> int:
    """A count of a row; 0 for NULL."""
    return value if isinstance(value, int) else 0
