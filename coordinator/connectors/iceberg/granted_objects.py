"""What roles and privileges are granted on: a table or view by its UUID, so that another one of the same name is
another thing, and a schema by a property that only it has.
"""

from __future__ import annotations

import uuid

from pyiceberg.exceptions import NoSuchNamespaceError

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.views.catalog_views import view_store

SCHEMA_ID = "procession.schema-id"


class GrantedObjects:
    """Of one catalog. Methods raise ProcessionError."""

    def __init__(self, catalog: TableCatalog) -> None:
        self._catalog = catalog

    def object_id(self, schema: str, table: str) -> str | None:
        """Of what has the name now; of the schema where ``table`` is empty. None where there is none, or no id."""
        if not table:
            return (self._properties(schema) or {}).get(SCHEMA_ID)
        found = self._catalog.load(schema, table)
        if found is not None:
            return str(found.metadata.table_uuid)
        with mapped(f"{schema}.{table}"):
            store = view_store(self._catalog)
            view = None if store is None else store.load(schema, table)
        return None if view is None else str(view.view_uuid)

    def known_id(self, schema: str, table: str) -> str | None:
        """The same, after a schema that has none yet was given one; None where there is no such thing."""
        found = self.object_id(schema, table)
        if found is not None or table or self._properties(schema) is None:
            return found
        made = uuid.uuid4().hex
        with mapped(schema):
            self._catalog.client().update_namespace_properties(tuple(schema.split(".")), updates={SCHEMA_ID: made})
        return self.object_id(schema, "")  # of two at once the later one stays

    def _properties(self, schema: str) -> dict[str, str] | None:
        with mapped(schema):
            try:
                return dict(self._catalog.client().load_namespace_properties(tuple(schema.split("."))))
            except NoSuchNamespaceError:
                return None
