"""Queries with the native checker on: planned, converted by real Velox, run on Spark, equal to DuckDB on the files."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from tests.e2e.service import Service
from tests.e2e.test_call import numbers

pytestmark = [pytest.mark.spark, pytest.mark.slow]

QUERIES = [
    "SELECT p, count(*), sum(id) FROM {a} WHERE id > 17 GROUP BY p ORDER BY p",
    "SELECT a.id, b.name FROM {a} a JOIN {b} b ON a.id = b.id ORDER BY 1 LIMIT 5",
    "SELECT a.id FROM {a} a JOIN {b} b ON a.id = b.id WHERE a.p = 1 "
    "UNION ALL SELECT b.id FROM {b} b LEFT JOIN {a} a ON a.id = b.id WHERE a.id IS NULL ORDER BY 1",
    "SELECT count(*) FROM {a} WHERE id NOT IN (SELECT id FROM {b})",
    "SELECT DISTINCT p FROM {b} ORDER BY 1 DESC",
]


@pytest.fixture(scope="module")
def names(service: Service) -> dict[str, tuple[str, str]]:
    tables = {"a": service.create("qa", [numbers(0), numbers(100)]), "b": service.create("qb", [numbers(50)])}
    files = {
        key: [task.file.file_path.removeprefix("file://") for task in table.scan().plan_files()]
        for key, table in tables.items()
    }
    return {key: (f"iceberg.db.q{key}", f"read_parquet({files[key]!r})") for key in tables}


@pytest.mark.parametrize("engine", ["EMBEDDED", "SPARK"])
@pytest.mark.parametrize("query", QUERIES)
def test_equal_to_duckdb(service: Service, names: dict[str, tuple[str, str]], query: str, engine: str) -> None:
    text = query.format(**{key: pair[0] for key, pair in names.items()})
    ours = service.execute(text, session_properties={"engine": engine})
    theirs = duckdb.sql(query.format(**{key: pair[1] for key, pair in names.items()})).fetchall()
    assert [tuple(row) for row in ours] == theirs


def test_sequence_numbers_of_rows(service: Service) -> None:
    """The snapshot that added a row is the one whose sequence number it tells, at other snapshots too."""
    made = service.create("numbered", [pa.table({"id": [1, 2]}), pa.table({"id": [3]}), pa.table({"id": [4]})])
    made.delete("id = 3")
    sql = 'SELECT "$data_sequence_number" AS n, id FROM iceberg.db.numbered {version} ORDER BY id'
    assert service.execute(sql.format(version="")) == [[1, 1], [1, 2], [3, 4]]
    second = made.metadata.snapshots[1].snapshot_id
    assert service.execute(sql.format(version=f"FOR VERSION AS OF {second}")) == [[1, 1], [1, 2], [2, 3]]
    counted = 'SELECT count(*) FROM iceberg.db.numbered GROUP BY "$data_sequence_number" ORDER BY 1'
    assert service.execute(counted) == [[1], [2]]


def test_hidden_columns_and_metadata_tables_beside_spark(service: Service, names: dict[str, tuple[str, str]]) -> None:
    """Files and rows by ``"$path"`` and by ``$files``, and a join of both on Spark."""
    table = names["a"][0]
    files = service.execute(f'SELECT file_path, record_count FROM {table.rpartition(".")[0]}."qa$files" ORDER BY 1')
    assert (
        service.execute(f'SELECT x."$path", count(*) FROM {table} x WHERE NOT "$deleted" GROUP BY 1 ORDER BY 1')
        == files
    )
    joined = f"""SELECT f.record_count, count(*) FROM iceberg.db."qa$files" f JOIN {table} t ON t."$path" = f.file_path
        GROUP BY f.file_path, f.record_count ORDER BY 1"""
    assert service.execute(joined) == sorted([count, count] for _, count in files)
    assert service.columns(f"SELECT * FROM {table}") == [("id", "bigint"), ("p", "integer"), ("name", "varchar")]


def test_places_of_rows_and_computed_bounds_are_the_same_on_both_engines(
    service: Service, names: dict[str, tuple[str, str]]
) -> None:
    table, files = names["a"]
    placed = f'SELECT id, "$path", _file, _pos, "$data_sequence_number" FROM {table} WHERE _pos % 7 = 3 ORDER BY 1'
    mixed = (
        f"SELECT n.name, count(*), json_extract_scalar('{{\"a\":' || CAST(max(t.id) AS varchar) || '}}', '$.a') "
        f"FROM {table} t JOIN tpch.tiny.nation n ON n.nationkey = t.id % 25 WHERE t.id > 10 + 5 AND "
        "regexp_like(t.name, '[0-4]$') GROUP BY 1 ORDER BY 1"
    )
    for query in (placed, mixed):
        found = [service.execute(query, session_properties={"engine": engine}) for engine in ("EMBEDDED", "SPARK")]
        assert found[0] == found[1]
        assert found[0]
    numbered = files.replace(")", ", file_row_number = true)")
    theirs = duckdb.sql(f"SELECT id, file_row_number FROM {numbered} WHERE file_row_number % 7 = 3").fetchall()
    assert {row[0]: row[3] for row in service.execute(placed)} == dict(theirs)
