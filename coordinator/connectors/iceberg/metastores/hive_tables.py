"""What a Hive metastore is told of an Iceberg table: parameters and columns, as Iceberg's Java library writes them.

PyIceberg leaves the counts and the schema of the commit before in the parameters, which other engines read, and takes
away the storage handler by which Hive itself reads the table.
"""

from __future__ import annotations

import json
import time

from hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor
from hive_metastore.ttypes import Table as HiveTable
from pyiceberg.catalog.hive import SchemaToHiveConverter
from pyiceberg.schema import visit
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import IcebergBaseModel
from pyiceberg.types import PrimitiveType

from coordinator.connectors.iceberg.metastores.hive_locks import user_name

OWNER = "hive.metastore.table.owner"
_MOST_CHARACTERS = 32672
"""Of one parameter: what Iceberg's library takes as the limit of a metastore (HIVE-12274)."""
_NAMES = {"gc.enabled": "external.table.purge"}
_TOTALS = {"total-data-files": "numFiles", "total-records": "numRows", "total-files-size": "totalSize"}
_OF_SNAPSHOTS = ("current-snapshot-id", "current-snapshot-timestamp-ms", "current-snapshot-summary")
_PLAIN = (
    "org.apache.hadoop.mapred.FileInputFormat",
    "org.apache.hadoop.mapred.FileOutputFormat",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
)
_HIVE = tuple(f"org.apache.iceberg.mr.hive.HiveIceberg{kind}" for kind in ("InputFormat", "OutputFormat", "SerDe"))
_HANDLER = "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler"


def new_hive_table(database: str, name: str, metadata: TableMetadata, location: str) -> HiveTable:
    """A table that the metastore does not have yet."""
    now = int(time.time())
    table = HiveTable(
        dbName=database,
        tableName=name,
        owner=metadata.properties.get(OWNER) or user_name(),
        createTime=now,
        lastAccessTime=now,
        retention=2**31 - 1,
        partitionKeys=[],
        parameters={"EXTERNAL": "TRUE"},
        tableType="EXTERNAL_TABLE",
    )
    describe(table, metadata, location)
    return table


def describe(
    table: HiveTable, metadata: TableMetadata, location: str, previous: tuple[TableMetadata, str] | None = None
) -> None:
    """Bring the metastore's table to ``metadata``, which is at ``location``; ``previous`` is what it was before."""
    parameters = dict(table.parameters or {})
    if previous is not None:
        for name in previous[0].properties.keys() - metadata.properties.keys():
            parameters.pop(_NAMES.get(name, name), None)
        parameters["previous_metadata_location"] = previous[1]
    given = {_NAMES.get(k, k): str(v) for k, v in metadata.properties.items() if k.lower() != OWNER}
    parameters |= given | {
        "uuid": str(metadata.table_uuid),
        "table_type": "ICEBERG",
        "metadata_location": location,
        # Else the metastore lists the folder and takes the sizes that it finds.
        "DO_NOT_UPDATE_STATS": "true",
    }
    parameters.pop("COLUMN_STATS_ACCURATE", None)
    _describe_layout(parameters, metadata)
    _describe_snapshot(parameters, metadata)
    read_by_hive = _read_by_hive(table, metadata)
    if read_by_hive:
        parameters["storage_handler"] = _HANDLER
    else:
        parameters.pop("storage_handler", None)
    table.parameters = parameters
    table.sd = _storage(metadata, _HIVE if read_by_hive else _PLAIN)


def _describe_layout(parameters: dict[str, str], metadata: TableMetadata) -> None:
    spec, order = metadata.spec(), metadata.sort_order_by_id(metadata.default_sort_order_id)
    layout: dict[str, IcebergBaseModel | None] = {
        "current-schema": metadata.schema(),
        "default-partition-spec": None if spec.is_unpartitioned() else spec,
        "default-sort-order": None if order is None or order.is_unsorted else order,
    }
    for name, found in layout.items():
        parameters.pop(name, None)
        if found is not None:
            _put(parameters, name, found.model_dump_json())


def _describe_snapshot(parameters: dict[str, str], metadata: TableMetadata) -> None:
    for name in _OF_SNAPSHOTS:
        parameters.pop(name, None)
    parameters["snapshot-count"] = str(len(metadata.snapshots))
    snapshot = metadata.current_snapshot()
    if snapshot is None:
        return
    summary = {} if snapshot.summary is None else snapshot.summary.additional_properties
    parameters["current-snapshot-id"] = str(snapshot.snapshot_id)
    parameters["current-snapshot-timestamp-ms"] = str(snapshot.timestamp_ms)
    _put(parameters, "current-snapshot-summary", json.dumps(summary))
    parameters |= {hive: summary[name] for name, hive in _TOTALS.items() if name in summary}


def _put(parameters: dict[str, str], name: str, text: str) -> None:
    if len(text) <= _MOST_CHARACTERS:
        parameters[name] = text


def _read_by_hive(table: HiveTable, metadata: TableMetadata) -> bool:
    """What the table says; where it says nothing, as it is: engines may have that in their own configuration."""
    said = metadata.properties.get("engine.hive.enabled")
    if said is not None:
        return said.lower() == "true"
    return (table.parameters or {}).get("storage_handler") == _HANDLER


def _storage(metadata: TableMetadata, classes: tuple[str, ...]) -> StorageDescriptor:
    columns = [FieldSchema(f.name, visit(f.field_type, _HiveTypes()), f.doc) for f in metadata.schema().fields]
    reader, writer, serde = classes
    return StorageDescriptor(
        columns, metadata.location, reader, writer, serdeInfo=SerDeInfo(serializationLib=serde, parameters={})
    )


class _HiveTypes(SchemaToHiveConverter):
    """Types that every metastore knows: Hive 2 refuses timestamps with a zone, and PyIceberg fails on version 3's."""

    def __init__(self) -> None:
        super().__init__(hive2_compatible=True)

    def primitive(self, primitive: PrimitiveType) -> str:
        name = str(primitive).partition("(")[0]
        newer: dict[str, object] = {"timestamp_ns": "timestamp", "timestamptz_ns": "timestamp", "unknown": "string"}
        if name in newer:
            return str(newer[name])
        return "binary" if name in ("geometry", "geography") else super().primitive(primitive)
