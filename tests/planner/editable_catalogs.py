"""A catalog of which DDL, writes, views, statistics and grants are planned; nothing is ever carried out.

``iceberg`` can do all of it, ``lake`` describes the same tables and can do nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import ChangeCatalog, PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ProcessionError
from shared.spi.capabilities import Capabilities
from shared.spi.catalog_changes import CatalogChange, NewColumn, PropertyDeclaration, TableDefinition
from shared.spi.connector import Connector, ViewColumn, ViewMetadata
from shared.spi.grants import Grants, Principal, RoleGrant, TableGrant
from shared.spi.session import Session
from shared.spi.table_statistics import ColumnStatistics, TableStatistics
from tests.planner.conftest import ORDERS, FakeCatalogs, FakeConnector, column, table

ODD = (
    column(1, "select", "bigint"),
    replace(column(2, 'a "b"', "varchar"), nullable=False, comment="it's"),
)
CHEAP = ViewMetadata(
    *("iceberg", "db", "cheap", "SELECT orderkey FROM orders WHERE price < 10"),
    (ViewColumn("orderkey", "bigint"),),
    *("iceberg", "db", "ann"),
)
ASKED = replace(CHEAP, name="asked", security="INVOKER", comment="as who asks")
TRINOS = replace(CHEAP, name="trinos", dialect="trino")
FOREIGN = replace(CHEAP, name="foreign", definition="", dialect="spark")
PROPERTIES = (
    PropertyDeclaration("format", "varchar", "Format of files."),
    PropertyDeclaration("partitioning", "array(varchar)", "Partition fields."),
    PropertyDeclaration("format_version", "integer", "Of the specification."),
    PropertyDeclaration("share", "double", "A number with a fraction."),
    PropertyDeclaration("location", "varchar", "Folder."),
)
GRANTS = Grants(
    frozenset({"writers", "readers"}),
    (RoleGrant("writers", Principal("USER", "test")), RoleGrant("readers", Principal("ROLE", "writers"), True)),
    (
        TableGrant("db", "orders", "SELECT", Principal("ROLE", "readers"), False, "ann", "id of db.orders"),
        TableGrant("db", "orders", "DELETE", Principal("USER", "test"), True, "ann", "id of db.orders"),
        TableGrant("db", "orders", "INSERT", Principal("USER", "test"), True, "ann", "id of another"),
        TableGrant("db", "cheap", "SELECT", Principal("USER", "eve"), False, "ann", "id of db.cheap"),
    ),
)
STATISTICS = TableStatistics(
    4.0,
    (
        ColumnStatistics("orderkey", None, 4.0, 0.0, "1", "9"),
        ColumnStatistics("status", 12.0, 2.0, 0.25, None, None),
        *(ColumnStatistics(name) for name in ("price", "day", "comment")),
    ),
)


class EditableConnector(FakeConnector):
    """``validate`` refuses what is called ``refused``, as a connector may."""

    def __init__(self, catalog: str) -> None:
        super().__init__(catalog)
        db = self._tables["db"]
        db["odd"] = table(catalog, "db", "odd", ODD)
        twins = (column(1, "a b", "varchar"), column(2, "a_b", "varchar"), column(3, "at", "bigint"))
        db["twins"] = table(catalog, "db", "twins", twins)
        db["single"] = table(catalog, "db", "single", ORDERS[:1])
        needs = (replace(column(1, "id", "bigint"), nullable=False), column(2, "small", "smallint"))
        db["strict"] = table(catalog, "db", "strict", needs)
        self._views = {each.name: each for each in (CHEAP, ASKED, TRINOS, FOREIGN)}

    @property
    def capabilities(self) -> Capabilities:
        this: Any = self
        return Capabilities(views=this, changes=this, writes=this, analyze=this, statistics=this, grants=this)

    def view_names(self, schema: str) -> Sequence[str]:
        return sorted(self._views) if schema == "db" else ()

    def view(self, schema: str, name: str) -> ViewMetadata | None:
        return self._views.get(name) if schema == "db" else None

    def schema_properties(self) -> Sequence[PropertyDeclaration]:
        return PROPERTIES[-1:]

    def table_properties(self) -> Sequence[PropertyDeclaration]:
        return PROPERTIES

    def column_properties(self) -> Sequence[PropertyDeclaration]:
        return (PropertyDeclaration("partitioning", "varchar", "Transform."),)

    def definition(self, schema: str, name: str) -> TableDefinition | None:
        found = self._tables.get(schema, {}).get(name)
        if found is None:
            return None
        columns = tuple(NewColumn(c.name, c.type, c.nullable, c.comment) for c in found.columns if not c.hidden)
        given = {"format": "ORC", "location": "s3://b/it's", "partitioning": ["status", "x'y"], "format_version": 2}
        return TableDefinition(columns, given | {"share": 0.5} if name == "orders" else {}, found.comment)

    def schema_definition(self, schema: str) -> Mapping[str, object] | None:
        return {"db": {"location": "s3://b/db"}, "empty": {}}.get(schema)

    def validate(self, change: CatalogChange) -> None:
        if "refused" in str(change):
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"{type(change).__name__} is refused")

    def change(self, change: CatalogChange, _context: object) -> None:
        raise AssertionError(change)

    def write(self, write: object, _context: object) -> int:
        raise AssertionError(write)

    def analyze_properties(self) -> Sequence[PropertyDeclaration]:
        return (PropertyDeclaration("columns", "array(varchar)", "Which."),)

    def analyze(self, *_: object) -> int:
        raise AssertionError

    def statistics(self, _schema: str, name: str) -> TableStatistics | None:
        return STATISTICS if name == "orders" else None

    def read(self) -> Grants:
        return GRANTS

    def object_id(self, schema: str, name: str) -> str | None:
        return f"id of {schema}.{name}" if name else f"id of {schema}"


class EditableCatalogs(FakeCatalogs):
    """``iceberg`` and ``lake``."""

    def __init__(self) -> None:
        super().__init__()
        connectors: dict[str, Connector] = dict(self._connectors)
        self._connectors = connectors | {"iceberg": EditableConnector("iceberg")}

    def grants(self, catalog: str) -> Any:
        """As coordinator.connectors.registry.Catalogs has it."""
        return self.capabilities(catalog).grants


def planned(text: str, session: Session | None = None) -> PlannedStatement | str:
    """The planned statement, or the error's name and text."""
    asked = Session(user="test", catalog="iceberg", schema="db") if session is None else session
    try:
        return plan_statement(text, asked, EditableCatalogs(), PlanCheckers())  # type: ignore[arg-type]
    except ProcessionError as error:
        return f"{error.code.name}: {error.wire_message}"


def changed(text: str) -> object:
    """What a statement would change; the rows that it answers where it changes nothing, or the error."""
    found = planned(text)
    if isinstance(found, str):
        return found
    work = found.work
    assert isinstance(work, ChangeCatalog | ReturnRows)
    return work.change if isinstance(work, ChangeCatalog) else work.rows
