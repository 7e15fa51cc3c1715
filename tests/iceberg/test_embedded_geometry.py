"""Columns of geometry and geography: well-known binary in files, geometries in SQL."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shared.errors import ProcessionError
from tests.iceberg.embedded_reader import Reader


def with_types(lake: Any, name: str, types: dict[str, object]) -> None:
    """The table with other types in its metadata, for which no writer is here."""
    table = lake.table(name)
    place = Path(table.metadata_location.removeprefix("file://"))
    old = json.loads(place.read_text())

    def changed(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: changed(value) for key, value in part.items()}
        if isinstance(part, list):
            return [changed(each) for each in part]
        return "geometry" if part == "binary" else part

    fields = [{**f, "type": types.get(f["name"], changed(f["type"]))} for f in old["schemas"][0]["fields"]]
    new = {**old, "format-version": 3, "next-row-id": 0, "schemas": [{**old["schemas"][0], "fields": fields}]}
    made = place.with_name("00009-typed.metadata.json")
    made.write_text(json.dumps(new))
    lake.other.drop_table(f"db.{name}")
    lake.call("register_table", schema="db", table_name=name, metadata_file=f"file://{made}")


def point(x: float, y: float) -> bytes:
    return struct.pack("<BIdd", 1, 1, x, y)


def test_functions_take_columns_of_geometry(reader: Reader, lake: Any) -> None:
    """Well-known binary in files, geometries in SQL; those of a sphere are geographies."""
    square = struct.pack("<BIII10d", 1, 3, 1, 5, 0, 0, 3, 0, 3, 3, 0, 3, 0, 0)
    part = pa.table(
        {
            "id": pa.array([1, 2, 3, 4], pa.int64()),
            "g": pa.array([point(1, 2), point(5, 5), square, None], pa.binary()),
            "l": pa.array([[point(1, 2), None], [], None, [square]], pa.list_(pa.binary())),
            "r": pa.array(
                [{"at": point(7, 8), "n": i} for i in range(4)], pa.struct([("at", pa.binary()), ("n", "int64")])
            ),
            "m": pa.array([[("a", point(0, 1))], [], None, [("b", None)]], pa.map_(pa.string(), pa.binary())),
            "s": pa.array([point(9, 9)] * 4, pa.binary()),
        }
    )
    lake.create("shapes", [part])
    with_types(lake, "shapes", {"s": "geography"})
    described = {c.name: c.type for c in lake.connector.table("db", "shapes").columns}
    assert described["g"] == "Geometry"
    assert (described["l"], described["r"], described["s"]) == (
        "array(Geometry)",
        "row(at Geometry,n bigint)",
        "SphericalGeography",
    )
    asked = "SELECT id, ST_X(g), ST_AsText(g) FROM shapes WHERE ST_GeometryType(g) = 'ST_Point'"
    assert [tuple(row.values()) for row in reader.rows(asked).to_pylist()] == [
        (1, 1.0, "POINT (1 2)"),
        (2, 5.0, "POINT (5 5)"),
    ]
    inside = "SELECT b.id FROM shapes a JOIN shapes b ON ST_Contains(a.g, b.g) WHERE a.id = 3 AND b.id <> 3"
    assert reader.rows(inside)[0].to_pylist() == [1]
    nested = reader.rows("SELECT ST_Y(l[1]) y, ST_X(r.at) x, ST_Y(m['a']) z FROM shapes WHERE id = 1").to_pylist()
    assert nested == [{"y": 2.0, "x": 7.0, "z": 1.0}]
    assert reader.rows("SELECT ST_X(to_geometry(s)) x FROM shapes LIMIT 1").to_pylist() == [{"x": 9.0}]
    north = "ST_Distance(s, to_spherical_geography(ST_Point(9, 10)))"
    assert reader.rows(f"SELECT round({north} / (6371010 * radians(1)), 9) x FROM shapes LIMIT 1").to_pylist() == [
        {"x": 1.0}
    ]
    assert reader.rows("SELECT g, l FROM shapes WHERE id = 4").to_pylist() == [
        {"g": None, "l": ["POLYGON ((0 0, 3 0, 3 3, 0 3, 0 0))"]}
    ]


def test_what_is_no_geometry_is_told(reader: Reader, lake: Any) -> None:
    lake.create("broken", [pa.table({"g": pa.array([b"no shape"], pa.binary())})])
    with_types(lake, "broken", {})
    with pytest.raises(ProcessionError, match="Invalid WKB"):
        reader.rows("SELECT g FROM broken")
    assert reader.rows("SELECT count(*) FROM broken").to_pylist() == [{"count": 1}]
