"""How many rows the optimizer is told that a table has, beside the rows that readers find."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.iceberg.embedded_reader import Reader, numbered


def told(lake: Any, name: str, schema: str = "db") -> int | None:
    metadata = lake.connector.table(schema, name)
    assert metadata is not None
    rows: int | None = metadata.row_count
    return rows


@pytest.mark.parametrize("name", ["v1_table", "v2_posdel", "v2_posdel_part", "v3_dv"])
def test_position_deletes_and_vectors_are_counted(java_reader: tuple[Reader, Path], name: str) -> None:
    reader, home = java_reader
    rows = (home / "expected" / f"{name}.jsonl").read_text().splitlines()
    assert reader.catalogs.connector("fx").table("fx", name).row_count == len(rows)


@pytest.mark.parametrize("name", ["v2_eqdel", "v2_eqdel_part", "v3_eqdel"])
def test_equality_deletes_are_not_guessed(java_reader: tuple[Reader, Path], name: str) -> None:
    reader, home = java_reader
    rows = (home / "expected" / f"{name}.jsonl").read_text().splitlines()
    summary = reader.catalogs.connector("fx").tables_of.open("fx", name).current_snapshot().summary
    told = reader.catalogs.connector("fx").table("fx", name).row_count
    assert told == int(summary["total-records"]) - int(summary["total-position-deletes"]) >= len(rows) > 0


def test_a_table_without_rows_has_none(lake: Any) -> None:
    lake.other.create_table("db.t", schema=pa.schema({"id": pa.int64()}))
    assert told(lake, "t") == 0
    lake.create("emptied", [numbered(0, 5)]).delete()
    assert told(lake, "emptied") == 0


def test_time_travel_has_the_rows_of_its_snapshot(lake: Any, foreign: Any) -> None:
    table = lake.create("t", [numbered(0, 50), numbered(50, 50)])
    before = table.current_snapshot().snapshot_id
    (path, _) = sorted(task.file.file_path for task in table.scan().plan_files())
    foreign.delete_positions(table, {path: range(10)})
    assert told(lake, "t") == 90
    assert lake.connector.table("db", "t", before).row_count == 100


@pytest.mark.parametrize(
    ("summary", "rows"),
    [
        ({"total-position-deletes": "30"}, 70),
        ({"total-position-deletes": "30", "total-equality-deletes": "60"}, 70),
        ({"total-position-deletes": "100"}, 10),
        ({"total-position-deletes": "250"}, 10),
        ({"total-position-deletes": None}, 100),
        ({"total-position-deletes": "many"}, 100),
        ({"total-position-deletes": "30", "total-delete-files": None}, 70),
        ({"total-position-deletes": "30", "total-delete-files": "0"}, 100),
        ({"total-records": None}, None),
        ({"total-records": "0"}, 0),
    ],
)
def test_a_summary_may_tell_of_too_many_deletes_or_of_none(
    lake: Any, foreign: Any, summary: dict[str, str | None], rows: int | None
) -> None:
    """Deletes of files that a rewrite replaced stay in the sum, so all rows may seem to be gone."""
    table = lake.create("t", [numbered(0, 100)])
    foreign.delete_equal(table, pa.table({"id": [1]}))
    path = Path(lake.table("t").metadata_location.removeprefix("file://"))
    root = json.loads(path.read_text())
    changed = root["snapshots"][-1]["summary"] | summary
    root["snapshots"][-1]["summary"] = {key: value for key, value in changed.items() if value is not None}
    path.write_text(json.dumps(root))
    assert told(lake, "t") == rows
