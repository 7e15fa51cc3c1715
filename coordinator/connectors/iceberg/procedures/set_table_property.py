"""``CALL catalog.system.set_table_property(schema, table_name, key, value)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table import Table
from pyiceberg.table.update import RemovePropertiesUpdate, SetPropertiesUpdate, TableUpdate

from coordinator.connectors.iceberg.locations import LOCATION_PROPERTIES
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.table_words import check_settable
from coordinator.security.redaction import shown_value
from shared.errors import ProcessionError
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

_RESERVED = frozenset(
    {
        "uuid",
        "snapshot-count",
        "current-snapshot-summary",
        "current-snapshot-id",
        "current-snapshot-timestamp-ms",
        "current-schema",
        "default-partition-spec",
        "default-sort-order",
    }
)
"""Iceberg's ``TableProperties.RESERVED_PROPERTIES``, without format-version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    key: Annotated[str, Declared("varchar", "Name of the property.")]
    value: Annotated[str | None, Declared("varchar", "Its value; NULL removes the property.")] = None


DECLARATION = ProcedureDeclaration(
    name="set_table_property",
    kind=ProcedureKind.COORDINATOR,
    summary="Set a property of a table, or remove it.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("key", "varchar", "Name of the property."),
        OutputColumn("previous_value", "varchar", "Its value before the call; NULL when it had none."),
        OutputColumn("current_value", "varchar", "Its value after the call; NULL when it has none."),
    ),
    example="CALL iceberg.system.set_table_property('sales', 'orders', 'commit.retry.num-retries', '10')",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for an empty name and for what Iceberg keeps for itself."""
    key, value = call.arguments.key, call.arguments.value
    if not key:
        raise ArgumentError("key", "Property name is empty")
    if key == "format-version":
        raise ArgumentError("key", "The format version is changed by upgrade_format_version")
    if key in _RESERVED:
        raise ArgumentError("key", f"Cannot set reserved property: {key}")
    if value is not None:  # whatever others have put there may go
        settings = call.catalog.settings
        try:
            check_settable([key], settings.allowed_properties)
        except ProcessionError as error:
            raise ArgumentError("key", error.message) from error
        if key in LOCATION_PROPERTIES:
            call.check_free_location("value", value, call.read().location())
    changed = commit_change(call.catalog, call.schema, call.table, lambda table: _changed(table, key, value))
    return [(key, *(None if text is None else shown_value(key, text) for text in changed[1:]))]


def _changed(table: Table, key: str, value: str | None) -> Change[tuple[str, str | None, str | None]]:
    old = table.properties.get(key)
    if old == value:
        return Change((key, old, value))
    update: TableUpdate = SetPropertiesUpdate(updates={key: value or ""})
    if value is None:
        update = RemovePropertiesUpdate(removals=[key])
    return Change((key, old, value), (update,))
