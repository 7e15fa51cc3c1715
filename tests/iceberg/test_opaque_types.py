"""Tables whose metadata PyIceberg refuses: variant, geometry, transforms of several columns, keys that it drops.

What a commit made of the metadata is read as JSON, and compared with the JSON that was there before.
"""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.opaque_types import OpaqueType, parse_metadata, parse_schema, unread_columns
from coordinator.connectors.iceberg.scans.columns import scan_columns
from coordinator.connectors.iceberg.spark_types import unknown_to_spark
from coordinator.kernels.schema import aligner
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Variable
from shared.plan.nodes import TableScanNode
from shared.spi.relation import RowsRelation

POINT = bytes.fromhex("0101000000000000000000f03f0000000000000040")
STRANGE = {
    "g": "geometry(srid:4326)",
    "h": "geography(OGC:CRS84, karney)",
    "v": "variant",
    "l": {"type": "list", "element-id": 90, "element": "variant", "element-required": False},
    "later": "interval_of_version_9",
}


def strange_metadata(old: dict[str, Any]) -> dict[str, Any]:
    """The same table as a writer of version 3 could have left it."""
    (schema,) = old["schemas"]
    fields = [{**field, "type": STRANGE.get(field["name"], field["type"])} for field in schema["fields"]]
    struct = {
        "type": "struct",
        "fields": [{"id": 91, "name": "x", "type": "int", "required": False, "initial-default": 4}],
    }
    fields.append({"id": 92, "name": "s", "type": struct, "required": False, "initial-default": {}})
    several = {"source-ids": [1, 2], "field-id": 1001, "name": "both", "transform": "bucket[4]"}
    return {
        **old,
        "format-version": 3,
        "next-row-id": 0,
        "schemas": [{**schema, "fields": fields}],
        "last-column-id": 92,
        "partition-specs": [*old["partition-specs"], {"spec-id": 1, "fields": [several]}],
        "last-partition-id": 1001,
        "encryption-keys": [{"key-id": "k", "encrypted-key-metadata": "c2VjcmV0"}],
        "of-a-later-version": {"precise": 12345678901234567890123},
    }


@pytest.fixture
def strange(lake: Any) -> Any:
    """A table ``db.t`` with such columns, registered by our own procedure; two files of two rows."""
    part = pa.table(
        {
            "id": pa.array([1, 2], pa.int64()),
            "g": pa.array([POINT, None], pa.binary()),
            "h": pa.array([None, POINT], pa.binary()),
            "v": pa.array([b"x", b"y"], pa.binary()),
            "l": pa.array([b"x", b"y"], pa.binary()),
            "later": pa.array([b"x", b"y"], pa.binary()),
        }
    )
    table = lake.create("plain", [part, part])
    place = Path(table.metadata_location.removeprefix("file://"))
    made = place.with_name("00009-strange.metadata.json")
    made.write_text(json.dumps(strange_metadata(json.loads(place.read_text()))))
    lake.other.drop_table("db.plain")
    lake.call("register_table", schema="db", table_name="t", metadata_file=f"file://{made}")
    return lake


def metadata_of(lake: Any) -> dict[str, Any]:
    table = lake.connector.tables_of.open("db", "t")
    found: dict[str, Any] = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())
    return found


def rows(lake: Any, *names: str) -> list[dict[str, Any]]:
    """What the embedded engine is given for a scan of these columns."""
    description = lake.connector.table("db", "t")
    handle = description.handle
    with lake.connector.read(RowsRelation("lab", handle, names)) as stream:
        found: list[dict[str, Any]] = pa.Table.from_batches(stream).to_pylist()
    return found


def test_columns_are_described_and_read_as_far_as_they_can_be(strange: Any) -> None:
    described = {column.name: column.type for column in strange.connector.table("db", "t").columns}
    assert described == {
        "id": "bigint",
        "g": "Geometry",
        "h": "SphericalGeography",
        "v": "json",
        "l": "array(json)",
        "later": "unknown",
        "s": "row(x integer)",
    }
    assert rows(strange, "id", "g") == [{"id": 1, "g": "POINT (1 2)"}, {"id": 2, "g": None}] * 2
    table = strange.connector.tables_of.load("db", "t")
    unread = unread_columns(table.schema())
    assert {name: str(kind) for name, kind in unread.items()} == {"later": "interval_of_version_9"}
    assert unknown_to_spark(table) == (
        "geometry(srid:4326) (column g), geography(OGC:CRS84, karney) (column h), interval_of_version_9 (column later)"
    )


@pytest.mark.parametrize(
    ("procedure", "given"),
    [
        ("set_table_property", {"key": "owner", "value": "me"}),
        ("create_tag", {"tag": "kept"}),
        ("rewrite_manifests", {}),
        ("expire_snapshots", {"older_than": datetime(2100, 1, 1), "retain_last": 1}),
        ("compute_partition_stats", {}),
    ],
)
def test_commits_lose_nothing(strange: Any, procedure: str, given: dict[str, Any]) -> None:
    before = metadata_of(strange)
    strange.call(procedure, schema="db", table_name="t", **given)
    after = metadata_of(strange)
    assert after != before
    for name in ("schemas", "partition-specs", "encryption-keys", "of-a-later-version", "sort-orders"):
        assert after[name] == before[name], name
    assert [row["id"] for row in rows(strange, "id")] == [1, 2, 1, 2]


@pytest.mark.parametrize(
    "procedure",
    [
        "show_snapshots",
        "show_refs",
        "file_size_stats",
        "table_storage",
        "ancestors_of",
        "show_commits_metadata",
    ],
)
def test_what_only_looks_works(strange: Any, procedure: str) -> None:
    assert strange.call(procedure, schema="db", table_name="t").rows


def test_its_files_are_as_they_should_be(strange: Any) -> None:
    assert strange.call("validate_files", schema="db", table_name="t").rows == []


def test_metadata_tables_are_read(strange: Any) -> None:
    for kind in ("files", "partitions", "snapshots", "manifests", "refs"):
        found = strange.connector.table("db", f"t${kind}")
        names = tuple(column.name for column in found.columns)
        with strange.connector.read(RowsRelation("lab", found.handle, names)) as stream:
            assert sum(batch.num_rows for batch in stream), kind


def test_a_rewrite_names_what_is_in_the_way(strange: Any) -> None:
    before = metadata_of(strange)
    with pytest.raises(ProcessionError, match="column later is of type interval_of_version_9") as refused:
        strange.call("rewrite_data_files", schema="db", table_name="t", options={"rewrite-all": "true"})
    assert refused.value.code is ErrorCode.NOT_SUPPORTED
    assert metadata_of(strange) == before


def test_a_type_is_its_text() -> None:
    field = '{"id":1,"name":"v","type":"variant","required":false}'
    text = f'{{"type":"struct","fields":[{field}],"schema-id":3,"identifier-field-ids":[]}}'
    schema = parse_schema(text)
    kind = schema.find_type("v")
    assert json.loads(schema.model_dump_json()) == json.loads(text)
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert kind == OpaqueType.of("variant") != OpaqueType.of("later")
    with pytest.raises(Exception, match="2 validation errors for TableMetadataWrapper"):
        parse_metadata('{"format-version": 3}')


def scan_node(lake: Any, *names: str) -> TableScanNode:
    description = lake.connector.table("db", "t")
    columns = {column.name: column for column in description.columns}
    variables = tuple(Variable(name=name, type=columns[name].type) for name in names)
    handles = {f"{name}<{columns[name].type}>": columns[name].handle for name in names}
    return TableScanNode(id="0", table=description.handle, outputVariables=variables, assignments=handles)


def test_a_query_names_the_column_that_it_cannot_read(strange: Any) -> None:
    relation = strange.connector.relation(scan_node(strange, "id", "g"))
    assert relation.here.only and not relation.here.direct
    for name, kernels in (("v", "v of type variant"), ("l", "l of type variant"), ("id", "")):
        here = strange.connector.relation(scan_node(strange, "id", name)).here
        assert here.decoded_here == kernels
    with pytest.raises(ProcessionError) as refused:
        strange.connector.relation(scan_node(strange, "id", "later"))
    message = "Column later of table db.t is of type interval_of_version_9, which cannot be read"
    assert (refused.value.code, refused.value.message) == (ErrorCode.NOT_SUPPORTED, message)


def test_nanoseconds_are_cut_inside_of_other_types_too() -> None:
    inner = '{"type":"list","element-id":3,"element":"timestamp_ns","element-required":false}'
    zoned = inner.replace("timestamp_ns", "timestamptz_ns").replace("3", "5")
    fields = (
        f'{{"id":1,"name":"l","required":false,"type":{inner}}},{{"id":4,"name":"z","required":false,"type":{zoned}}}'
    )
    handle = {"tableSchemaJson": f'{{"type":"struct","schema-id":0,"fields":[{fields}]}}'}
    (column,) = scan_columns(handle, ["l"], 3)
    assert (str(column.type), column.as_stored) == ("array(timestamp)", False)
    element = pa.field("element", pa.timestamp("ns"), metadata={"PARQUET:field_id": "3"})
    source = pa.field("l", pa.list_(element), metadata={"PARQUET:field_id": "1"})
    align = aligner(source, column.field)
    assert align is not None
    found = align(pa.array([[1_999, None], None], source.type))
    assert found.to_pylist() == [[datetime(1970, 1, 1, microsecond=1), None], None]
    (zoned_column,) = scan_columns(handle, ["z"], 3)
    assert (str(zoned_column.type), zoned_column.as_stored) == ("array(timestamp with time zone)", False)
    element = pa.field("element", pa.timestamp("ns", "UTC"), metadata={"PARQUET:field_id": "5"})
    align = aligner(pa.field("z", pa.list_(element), metadata={"PARQUET:field_id": "4"}), zoned_column.field)
    assert align is not None
    found = align(pa.array([[1_999, None], None], pa.list_(element)))
    assert found.to_pylist() == [[datetime(1970, 1, 1, microsecond=1, tzinfo=UTC), None], None]
