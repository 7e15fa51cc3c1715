"""``SET PROPERTIES``: another partition spec, order or format version beside plain properties, in one commit.

Metadata alone: files that are there stay under the spec that they were written under. Source: Iceberg specification,
"Partition Evolution", and Java's ``BaseUpdatePartitionSpec`` (ids and names of fields that come back).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec, validate_partition_name
from pyiceberg.table import Table
from pyiceberg.table.sorting import SortOrder
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSortOrderUpdate,
    AssertDefaultSortOrderId,
    AssertDefaultSpecId,
    AssertLastAssignedPartitionId,
    RemovePropertiesUpdate,
    SetDefaultSortOrderUpdate,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
    TableUpdate,
)
from pyiceberg.transforms import VoidTransform

from coordinator.connectors.iceberg.failures import invalid_property
from coordinator.connectors.iceberg.snapshots.format_version import upgraded
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change
from coordinator.connectors.iceberg.tables.layout import partition_spec, sort_order
from coordinator.connectors.iceberg.tables.table_properties import changed, format_version, stored

LAYOUT = frozenset({"partitioning", "sorted_by", "format-version"})
"""Properties that are no properties of Iceberg's."""
_LATEST = -1
"""The spec or order that the same commit adds."""


def changed_table(table: Table, given: Mapping[str, object]) -> Change[None]:
    """What makes a table have canonical properties. Raises INVALID_TABLE_PROPERTY for what it cannot have."""
    updates: list[TableUpdate] = []
    if "format-version" in given:
        version = format_version(given)
        if version < table.format_version:
            raise invalid_property(f"Cannot downgrade v{table.format_version} table to v{version}")
        updates += upgraded(table, version).updates
    if "partitioning" in given:
        updates += _partitioned(table, _entries(given["partitioning"]))
    if "sorted_by" in given:
        updates += _sorted(table, _entries(given["sorted_by"]))
    updates += _properties({name: value for name, value in given.items() if name not in LAYOUT}, table)
    metadata = table.metadata
    return Change(
        None,
        tuple(updates),
        (
            AssertLastAssignedPartitionId.model_validate({"last-assigned-partition-id": metadata.last_partition_id}),
            AssertDefaultSpecId.model_validate({"default-spec-id": metadata.default_spec_id}),
            AssertDefaultSortOrderId.model_validate({"default-sort-order-id": metadata.default_sort_order_id}),
        ),
    )


def _properties(given: Mapping[str, object], table: Table) -> Iterator[TableUpdate]:
    """What is None gets what a new table has, or goes."""
    of_new = stored({"format-version": table.format_version}, None)
    backwards = {name for name, value in given.items() if value is None}
    texts = changed(given) | {name: text for name, text in of_new.items() if name in backwards}
    if texts:
        yield SetPropertiesUpdate.model_validate({"updates": texts})
    if gone := sorted((backwards - texts.keys()) & table.properties.keys()):
        yield RemovePropertiesUpdate.model_validate({"removals": gone})


def _entries(given: object) -> Sequence[str]:
    return [str(each) for each in given] if isinstance(given, Sequence) and not isinstance(given, str) else []


def _partitioned(table: Table, entries: Sequence[str]) -> Iterator[TableUpdate]:
    fields = _fields(table, partition_spec(table.schema(), entries).fields)
    names: set[str] = set()
    for field in fields:
        try:
            validate_partition_name(field.name, field.transform, field.source_id, table.schema(), names)
        except ValueError as error:
            raise invalid_property(str(error)) from error
        names.add(field.name)
    wanted, known = PartitionSpec(*fields), table.specs()
    found = next((number for number, spec in known.items() if spec.fields == wanted.fields), None)
    if found is None:
        spec = PartitionSpec(*fields, spec_id=max(known) + 1)
        yield AddPartitionSpecUpdate.model_validate({"spec": spec})
        found = _LATEST
    if found != table.spec().spec_id:
        yield SetDefaultSpecUpdate.model_validate({"spec-id": found})


def _fields(table: Table, wanted: Sequence[PartitionField]) -> list[PartitionField]:
    """Those that stay, in their order, and then the new ones; one that was there before has the id that it had.

    In version 1 fields stay at their places: one that goes is void.
    """
    asked = {_kind(field): field for field in wanted}
    fields: list[PartitionField] = []
    for field in table.spec().fields:
        if asked.pop(_kind(field), None) is not None:
            fields.append(field)
        elif table.format_version == 1:
            fields.append(_void(field, {each.name for each in wanted}))
    before = {_kind(field): field for spec in table.specs().values() for field in spec.fields}
    last = table.metadata.last_partition_id or PARTITION_FIELD_ID_START - 1
    for kind, field in asked.items():
        if kind in before and table.format_version > 1:
            fields.append(before[kind])
        else:
            last += 1
            fields.append(PartitionField(field.source_id, last, field.transform, field.name))
    return fields


def _kind(field: PartitionField) -> tuple[int, str]:
    return field.source_id, str(field.transform)


def _void(field: PartitionField, taken: set[str]) -> PartitionField:
    name = f"{field.name}_{field.field_id}" if field.name in taken else field.name
    return PartitionField(field.source_id, field.field_id, VoidTransform(), name)


def _sorted(table: Table, entries: Sequence[str]) -> Iterator[TableUpdate]:
    wanted, known = sort_order(table.schema(), entries), table.sort_orders()
    found = next((number for number, order in known.items() if order.fields == wanted.fields), None)
    if found is None:
        number = max((*known, 0)) + 1 if wanted.fields else 0
        order = SortOrder(*wanted.fields, order_id=number)
        yield AddSortOrderUpdate.model_validate({"sort-order": order})
        found = _LATEST
    if found != table.metadata.default_sort_order_id:
        yield SetDefaultSortOrderUpdate.model_validate({"sort-order-id": found})
