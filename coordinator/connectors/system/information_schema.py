"""``information_schema`` of one catalog: what SQL's standard and BI tools ask there.

Source of names, types and values: Presto 0.296, ``InformationSchemaMetadata`` and recorded answers. Tables of roles
and privileges are empty where the catalog keeps none.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from coordinator.connectors.system.column_sizes import precision_scale_length
from coordinator.connectors.system.listing import INFORMATION_SCHEMA, ListedCatalogs, Listing, Names
from coordinator.connectors.system.virtual_table import VirtualTable, read_rows, rows_relation, typed, varchars
from coordinator.connectors.system.wanted import Wanted
from coordinator.security.access_control.shown_grants import (
    shown_applicable_roles,
    shown_enabled_roles,
    shown_grants,
    shown_roles,
    standing,
)
from coordinator.security.current_session import current_session
from shared.plan.nodes import TableHandle, TableScanNode
from shared.spi.access_control import Identity, identity_of_session
from shared.spi.capabilities import Capabilities
from shared.spi.connector import ColumnMetadata, TableMetadata
from shared.spi.grants import Grants
from shared.spi.procedure import Procedure
from shared.spi.relation import ArrowStream, JdbcRelation, RowsRelation

CONNECTOR_PREFIX = "$info_schema@"
_TYPE = "$info_schema"
_NAMES = Names("table_catalog", "table_schema", "table_name")
_SCHEMATA = Names("catalog_name", "schema_name", "")
_Shown = Callable[[Grants, Identity, str], Sequence[Sequence[object]]]


@dataclass(slots=True)
class InformationSchema:
    """The connector behind ``catalog.information_schema``."""

    catalog: str
    catalogs: ListedCatalogs

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(rows=self)

    def schemas(self) -> Sequence[str]:
        return (INFORMATION_SCHEMA,)

    def tables(self, schema: str) -> Sequence[str]:
        return sorted(self._tables()) if schema == INFORMATION_SCHEMA else ()

    def schema_exists(self, schema: str) -> bool:
        return schema == INFORMATION_SCHEMA

    def table(self, schema: str, name: str, version: object = None) -> TableMetadata | None:
        found = self._tables().get(name) if self.schema_exists(schema) and version is None else None
        if found is None:
            return None
        handle = {"@type": _TYPE, "catalogName": self.catalog, "schemaName": schema, "tableName": name}
        columns = tuple(
            ColumnMetadata(column, type_, {"@type": _TYPE, "columnName": column})
            for column, type_ in found.columns.items()
        )
        layout = {"@type": _TYPE, "table": handle, "prefixes": [{"catalogName": self.catalog}]}
        table_handle = TableHandle(
            connectorId=f"{CONNECTOR_PREFIX}{self.catalog}",
            connectorHandle=handle,
            transaction={"@type": _TYPE, "transactionId": str(uuid.uuid4())},
            connectorTableLayout=layout,
        )
        return TableMetadata(self.catalog, schema, name, columns, table_handle)

    def relation(self, scan: TableScanNode) -> RowsRelation:
        return rows_relation(scan, self._tables()[str(scan.table.connectorHandle["tableName"])])

    def read(self, relation: RowsRelation | JdbcRelation) -> ArrowStream:
        assert isinstance(relation, RowsRelation)
        return read_rows(self._tables()[str(relation.handle.connectorHandle["tableName"])], relation)

    def procedures(self) -> Sequence[Procedure]:
        return ()

    def _granted(self, shown: _Shown, _wanted: Wanted) -> Iterable[Sequence[object]]:
        """Nothing where the catalog keeps no roles, or nobody asks."""
        store = self.catalogs.capabilities(self.catalog).grants
        session = current_session()
        if store is None or session is None:
            return ()
        grants = store.read()
        if shown is shown_grants:
            grants = standing(grants, store.object_id)
        return shown(grants, identity_of_session(session), self.catalog)

    def _tables(self) -> dict[str, VirtualTable]:
        listing = Listing(self.catalogs, self.catalog)
        made = (
            ("columns", _COLUMNS, partial(_columns, listing)),
            ("tables", varchars("table_catalog table_schema table_name table_type"), partial(_tables, listing)),
            (
                "views",
                varchars("table_catalog table_schema table_name view_owner view_definition"),
                partial(_views, listing),
            ),
            ("schemata", varchars("catalog_name schema_name"), lambda wanted: listing.schemas(wanted, _SCHEMATA)),
            ("table_privileges", _PRIVILEGES, partial(self._granted, shown_grants)),
            ("roles", varchars("role_name"), partial(self._granted, shown_roles)),
            (
                "applicable_roles",
                varchars("grantee grantee_type role_name is_grantable"),
                partial(self._granted, shown_applicable_roles),
            ),
            ("enabled_roles", varchars("role_name"), partial(self._granted, shown_enabled_roles)),
        )
        return {name: VirtualTable(INFORMATION_SCHEMA, name, columns, rows) for name, columns, rows in made}


_COLUMNS = typed(
    "table_catalog, table_schema, table_name, column_name, ordinal_position bigint, column_default, is_nullable, "
    "data_type, comment, extra_info, precision bigint, scale bigint, length bigint"
)
_PRIVILEGES = varchars(
    "grantor grantor_type grantee grantee_type table_catalog table_schema table_name privilege_type is_grantable "
    "with_hierarchy"
)


def _tables(listing: Listing, wanted: Wanted) -> Iterable[Sequence[object]]:
    for catalog, schema, table, kind in listing.relations(wanted, _NAMES):
        if wanted.accepts("table_type", kind):
            yield catalog, schema, table, kind


def _views(listing: Listing, wanted: Wanted) -> Iterable[Sequence[object]]:
    for view in listing.views(wanted, _NAMES):
        # A list of names may hold one that stands for another view now; its text is for those who see its columns.
        seen = not view.columns or listing.catalogs.shown_columns(view)
        yield listing.only, view.schema, view.name, view.owner, view.definition if seen else None


def _columns(listing: Listing, wanted: Wanted) -> Iterable[Sequence[object]]:
    for table in listing.described(wanted, _NAMES):
        for position, column in enumerate(listing.catalogs.shown_columns(table), start=1):
            yield (
                table.catalog,
                table.schema,
                table.name,
                column.name,
                position,
                None,
                "YES" if column.nullable else "NO",
                column.type,
                column.comment,
                "partition key" if column.is_partition_key else None,
                *precision_scale_length(column.type),
            )
