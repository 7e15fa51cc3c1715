"""Iceberg handles as Presto 0.296 writes them in plan JSON: table, table layout and columns.

Source: ``presto_protocol_iceberg`` and captured fragments; ``@type`` is the connector factory's name, ``iceberg``.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import lru_cache

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata as IcebergMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from coordinator.connectors.iceberg.opaque_types import parse_schema
from coordinator.connectors.iceberg.types import hive_type, presto_type
from shared.plan.nodes import TableHandle

TYPE = "iceberg"
_TRUE = {"@type": "constant", "valueBlock": "CgAAAEJZVEVfQVJSQVkBAAAAAAE=", "type": "boolean"}


def column_handle(field: NestedField, *, partition_key: bool = False) -> dict[str, object]:
    """The IcebergColumnHandle of a top-level column."""
    handle: dict[str, object] = {
        "@type": TYPE,
        "columnIdentity": _identity(field),
        "type": str(presto_type(field.field_type)),
    }
    if field.doc is not None:
        handle["comment"] = field.doc
    handle["columnType"] = "PARTITION_KEY" if partition_key else "REGULAR"
    handle["requiredSubfields"] = []
    return handle


def hidden_handle(field_id: int, name: str, kind: str) -> dict[str, object]:
    """The IcebergColumnHandle of a column that is in no file: Iceberg's reserved id, Presto's name."""
    identity = {"id": field_id, "name": name, "typeCategory": "PRIMITIVE", "children": []}
    return {
        "@type": TYPE,
        "columnIdentity": identity,
        "type": kind,
        "columnType": "SYNTHESIZED",
        "requiredSubfields": [],
    }


def _identity(field: NestedField) -> dict[str, object]:
    category, children = _children(field.field_type)
    return {
        "id": field.field_id,
        "name": field.name,
        "typeCategory": category,
        "children": [_identity(child) for child in children],
    }


def _children(iceberg: IcebergType) -> tuple[str, tuple[NestedField, ...]]:
    match iceberg:
        case StructType():
            return "STRUCT", iceberg.fields
        case ListType():
            return "ARRAY", (iceberg.element_field,)
        case MapType():
            return "MAP", (iceberg.key_field, iceberg.value_field)
        case _:
            return "PRIMITIVE", ()


def partition_key_ids(spec: PartitionSpec) -> frozenset[int]:
    """Source ids of the identity partition fields: the columns that are constant in every file."""
    return frozenset(f.source_id for f in spec.fields if isinstance(f.transform, IdentityTransform))


def table_handle(
    catalog: str, schema_name: str, table_name: str, metadata: IcebergMetadata, schema: Schema, snapshot_id: int | None
) -> TableHandle:
    """What a TableScan over the table at ``snapshot_id`` carries."""
    connector_handle = _connector_handle(schema_name, table_name, metadata, schema, snapshot_id)
    keys = partition_key_ids(metadata.spec())
    layout = {
        "@type": TYPE,
        "partitionColumns": [column_handle(f, partition_key=True) for f in schema.fields if f.field_id in keys],
        "dataColumns": [{"name": f.name, "type": hive_type(f.field_type)} for f in schema.fields],
        "domainPredicate": {"columnDomains": []},
        "remainingPredicate": _TRUE,
        "predicateColumns": {},
        "pushdownFilterEnabled": False,
        "partitionColumnPredicate": {"columnDomains": []},
        "table": connector_handle,
    }
    return TableHandle(
        connectorId=catalog,
        connectorHandle=connector_handle,
        transaction=new_transaction(),
        connectorTableLayout=layout,
    )


def schema_of(connector_handle: Mapping[str, object]) -> Schema:
    """The columns of a table handle, read once for each text: a statement asks several times for each table."""
    return schema_of_json(str(connector_handle["tableSchemaJson"]))


@lru_cache(maxsize=256)
def schema_of_json(text: str) -> Schema:
    """The columns that ``tableSchemaJson`` of a handle tells."""
    return parse_schema(text)


def columns_changed(snapshot: Snapshot, schema: Schema) -> bool:
    """Whether columns were changed after the snapshot, which Spark reads by number with the columns of its time.

    So Spark by itself reads the newest snapshot then; the kernels read this one with the columns of today.
    """
    return snapshot.schema_id not in (None, schema.schema_id)


def new_transaction() -> dict[str, object]:
    """A transaction handle that no other scan has."""
    return {"@type": TYPE, "uuid": str(uuid.uuid4())}


def _connector_handle(
    schema_name: str, table_name: str, metadata: IcebergMetadata, schema: Schema, snapshot_id: int | None
) -> dict[str, object]:
    name: dict[str, object] = {"tableName": table_name, "tableType": "DATA"}
    if snapshot_id is not None:
        name["snapshotId"] = snapshot_id
    properties: Mapping[str, str] = metadata.properties
    return {
        "@type": TYPE,
        "schemaName": schema_name,
        "icebergTableName": name,
        "snapshotSpecified": False,
        "outputPath": metadata.location,
        "storageProperties": dict(properties),
        "tableSchemaJson": schema.model_dump_json(),
        "sortOrder": [],
        "updatedColumns": [],
    }
