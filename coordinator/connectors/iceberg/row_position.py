"""Positions of an Iceberg table's rows: data file and row number in it, at the snapshot that planning pinned.

``_file`` and ``_pos`` are Iceberg's metadata columns; a position holds for one snapshot and needs no row lineage, so
that tables of every format version have it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import xxhash
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    IcebergType,
    ListType,
    MapType,
    StructType,
    TimestamptzType,
    UUIDType,
)

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.handles import columns_changed, schema_of
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.numbers import whole_number
from coordinator.connectors.iceberg.scans.planned_files import is_planned_by_server
from coordinator.connectors.iceberg.snapshots.known import known_snapshot
from coordinator.connectors.iceberg.statistics.decoded_sizes import DecodedSizes
from coordinator.connectors.iceberg.storage import storage_of
from coordinator.connectors.iceberg.types import PLAIN_TYPES
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import TableHandle, TableScanNode
from shared.spi.connector import ColumnMetadata
from shared.spi.row_position import LookUpTemplate, RowPositionDescriptor

_SPARK_SEED = 42
_MOST_NUMBERED_FILES = 50_000
"""Beyond it, finding the path of a number again would take seconds."""
_PLAIN: tuple[type[IcebergType], ...] = (*PLAIN_TYPES, TimestamptzType)


def metadata_column(name: str, field_id: int, kind: str) -> ColumnMetadata:
    """A column that Iceberg's readers make up; ids are the specification's reserved ones."""
    handle = {
        "@type": "iceberg",
        "columnIdentity": {"id": field_id, "name": name, "typeCategory": "PRIMITIVE", "children": []},
        "type": kind,
        "columnType": "SYNTHESIZED",
        "requiredSubfields": [],
    }
    return ColumnMetadata(name, kind, handle, nullable=False, hidden=True)


FILE = metadata_column("_file", 2147483646, "varchar")
FILE_ID = metadata_column("$file_id", 2147483646, "bigint")
"""A number for ``_file``, which joins and sorts carry along instead of a long path: its 64-bit xxHash."""
POSITION = metadata_column("_pos", 2147483645, "bigint")
_LINEAGE = (
    metadata_column("_row_id", 2147483540, "bigint"),
    metadata_column("_last_updated_sequence_number", 2147483539, "bigint"),
)
LINEAGE_IDS = frozenset(int(column.handle["columnIdentity"]["id"]) for column in _LINEAGE)
MADE_UP_IDS = LINEAGE_IDS | {int(column.handle["columnIdentity"]["id"]) for column in (FILE, POSITION)}


def hidden_columns(table: Table) -> tuple[ColumnMetadata, ...]:
    """A row's place, and row lineage, which tables of version 3 have; a table's own columns of these names win."""
    own = {field.name.lower() for field in table.schema().fields}
    lineage = _LINEAGE if table.format_version >= 3 else ()
    return tuple(c for c in (FILE, POSITION, *lineage) if c.name not in own)


def row_position(catalog: TableCatalog, decoded: DecodedSizes, scan: TableScanNode) -> RowPositionDescriptor | str:
    """The position of a scan's rows, or why there is none."""
    handle = scan.table.connectorHandle
    inner = handle.get("icebergTableName", {"tableName": handle.get("tableName"), "tableType": "SYSTEM"})
    name = str(inner["tableName"])
    if inner.get("tableType", "DATA") != "DATA":
        return f"{name} is a metadata table"
    table = catalog.load(str(handle["schemaName"]), name)
    snapshot = None if table is None else _snapshot(table, inner.get("snapshotId"))
    if table is None or snapshot is None:
        return f"{name} is empty"
    if columns_changed(snapshot, schema_of(handle)):
        return f"columns of {name} were changed after its last snapshot"
    fields = json.loads(handle["tableSchemaJson"])["fields"]
    if {field["name"].lower() for field in fields} & {FILE.name, POSITION.name}:
        return f"{name} has columns of its own named {FILE.name} or {POSITION.name}"
    constants = _constants(table)
    kinds = {field.field_id: field.field_type for field in schema_of(handle).fields}
    deferrable = {
        f["name"]
        for f in fields
        # Defaults inside of a nested column are the reader's business; those of whole columns a look-up knows.
        if f["id"] not in constants and readable(kinds[f["id"]]) and "initial-default" not in json.dumps(f["type"])
    }
    totals = {} if snapshot.summary is None else snapshot.summary.additional_properties
    files = whole_number(totals.get("total-data-files"))
    numbered = files is not None and files <= _MOST_NUMBERED_FILES and not is_planned_by_server(table)
    return RowPositionDescriptor(
        row_source=FILE_ID if numbered else FILE,
        ref_columns=(POSITION,),
        deferrable=frozenset(deferrable),
        row_count=whole_number(totals.get("total-records")),
        size_bytes=whole_number(totals.get("total-files-size")),
        decoded_bytes=lambda names: decoded.of(table, snapshot, [f["id"] for f in fields if f["name"] in names]),
    )


def look_up_template(
    catalog: TableCatalog, handle: TableHandle, columns: Sequence[Mapping[str, Any]], sources: Sequence[int | str]
) -> LookUpTemplate:
    """What look-ups of a table have in common. Raises ProcessionError, retriable when the snapshot is gone.

    ``sources`` are values of FILE or FILE_ID.
    """
    inner = handle.connectorHandle["icebergTableName"]
    table = catalog.open(str(handle.connectorHandle["schemaName"]), str(inner["tableName"]))
    snapshot_id = inner.get("snapshotId")
    snapshot = _snapshot(table, snapshot_id)
    if snapshot is None:
        message = (
            f"Snapshot {snapshot_id} of {inner['tableName']} was expired while the query ran; running it again helps"
        )
        raise ProcessionError(ErrorCode.ICEBERG_MISSING_DATA, message, retriable=True)
    wanted = {int(column["columnIdentity"]["id"]) for column in columns}
    fields = json.loads(handle.connectorHandle["tableSchemaJson"])["fields"]
    mapping = table.name_mapping()
    return LookUpTemplate(
        fields=[{**field, "required": False} for field in fields if field["id"] in wanted],
        storage=storage_of(table, catalog.settings.storage),
        name_mapping=None if mapping is None else json.loads(mapping.model_dump_json()),
        paths=_paths(table, snapshot, sources),
        snapshot_id=snapshot_id,
    )


def file_id(path: str) -> int:
    """What Spark's ``xxhash64`` says of a path."""
    number = xxhash.xxh64_intdigest(path.encode(), _SPARK_SEED)
    return number - (1 << 64) if number >= 1 << 63 else number


def _paths(table: Table, snapshot: Snapshot, sources: Sequence[int | str]) -> dict[int | str, str]:
    """The path of each source; sources that two files share are left out."""
    found: dict[int | str, str] = {source: source for source in sources if isinstance(source, str)}
    wanted = {source for source in sources if not isinstance(source, str)}
    if not wanted:
        return found
    shared: set[int] = set()
    with mapped(table.name()[-1]):
        paths = {file.path for file in read_live(table, snapshot, statistics=False).data}
    for path in paths:
        number = file_id(path)
        if number in wanted:
            if number in found:
                shared.add(number)
            found[number] = path
    return {source: path for source, path in found.items() if source not in shared}


def readable(type_: IcebergType, *, nested: bool = False) -> bool:
    """Whether a look-up gives values of this type exactly as a scan by Spark does."""
    match type_:
        case StructType():
            return all(readable(field.field_type, nested=True) for field in type_.fields)
        case ListType():
            return readable(type_.element_type, nested=True)
        case MapType():
            return readable(type_.key_type, nested=True) and readable(type_.value_type, nested=True)
        case UUIDType():
            return not nested
        case _:
            return isinstance(type_, _PLAIN)


def _constants(table: Table) -> frozenset[int]:
    """Columns that may be left out of files, since each file has one value: reading them early costs nothing."""
    return frozenset(
        field.source_id
        for spec in table.specs().values()
        for field in spec.fields
        if isinstance(field.transform, IdentityTransform)
    )


def _snapshot(table: Table, snapshot_id: int | None) -> Snapshot | None:
    return known_snapshot(table, None if snapshot_id is None else int(snapshot_id))
