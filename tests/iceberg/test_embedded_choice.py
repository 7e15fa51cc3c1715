"""Which engine reads a table, and what EXPLAIN says of it."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.vocabulary.planned_statement import RunLocally, RunOnSpark
from shared.errors import ProcessionError
from tests.iceberg.embedded_reader import Reader, numbered, tuples

ZONED = pa.table({"id": [1], "moments": pa.array([[]], pa.list_(pa.timestamp("us", "UTC")))})


def outside(lake: Any) -> None:
    """A table of that name, one of whose files is not in the warehouse."""
    lake.create("outside", [numbered(0, 10)])
    elsewhere = lake.home / "elsewhere.parquet"
    pq.write_table(numbered(10, 5), elsewhere)
    lake.other.load_table("db.outside").add_files([f"file://{elsewhere}"])


def test_spark_reads_what_is_beyond(reader: Reader, lake: Any) -> None:
    lake.create("t", [numbered(0, 2000)])
    assert isinstance(reader.work("SELECT id FROM t"), RunLocally)
    assert isinstance(reader.work("SELECT id FROM t", engine="spark"), RunOnSpark)
    assert isinstance(reader.work("SELECT id FROM t", embedded_engine_max_scan_size="100B"), RunOnSpark)
    assert isinstance(reader.work("SELECT id FROM t", embedded_engine_max_scan_rows="1999"), RunOnSpark)
    by_rows = "SELECT CAST(name AS json) FROM t"
    assert isinstance(reader.work(by_rows), RunLocally)
    assert isinstance(reader.work(by_rows, embedded_engine_max_program_rows="500"), RunLocally)
    assert isinstance(reader.work(by_rows, embedded_engine_max_program_rows="499"), RunOnSpark), "four times, on both"
    on_spark_alone = "SELECT levenshtein_distance(name, 'n') FROM t"
    assert isinstance(reader.work(on_spark_alone, embedded_engine_max_program_rows="2000"), RunLocally)
    assert isinstance(reader.work(on_spark_alone, embedded_engine_max_program_rows="1999"), RunOnSpark)
    assert isinstance(reader.work('SELECT "$deleted" FROM t'), RunLocally)
    outside(lake)
    assert isinstance(reader.work("SELECT count(DISTINCT id) FROM outside"), RunOnSpark)
    lake.create("zoned", [ZONED])
    assert isinstance(reader.work("SELECT moments FROM zoned"), RunLocally), "instants within other types too"


def test_programs_for_some_rows_alone_are_no_reason_for_spark(reader: Reader, lake: Any) -> None:
    lake.create("t", [numbered(0, 2000)])
    query = "SELECT try_cast(name AS bigint) a, CAST(' ' || CAST(id AS varchar) AS bigint) b FROM t WHERE id % 2 = 0"
    assert isinstance(reader.work(query, embedded_engine_max_program_rows="1999"), RunLocally)
    assert {(row["a"], row["b"] % 2) for row in reader.rows(query).to_pylist()} == {(None, 0)}


def test_what_the_embedded_engine_cannot_read_is_told(reader: Reader, lake: Any) -> None:
    lake.create("t", [ZONED])
    outside(lake)
    why = "it has files outside of the catalog's locations"
    with pytest.raises(ProcessionError, match=rf"The embedded engine cannot run this query: lab\.db\.outside .*{why}"):
        reader.work("SELECT count(DISTINCT id) FROM outside", engine="embedded")
    text = str(reader.work("EXPLAIN SELECT moments FROM t").rows[0][0])
    assert "the embedded engine runs it: it reads " in text
    assert "in 1 rows of 1 files" in text


@pytest.mark.parametrize(
    ("query", "given", "programs"),
    [
        ("SELECT id + 1, lower(name), CAST(id AS varchar) FROM t", {}, None),
        ("SELECT CAST(name AS bigint) FROM t", {}, None),
        ("SELECT levenshtein_distance(name, 'it''s \\'), CAST(name AS json) FROM t", {},
         "cast(varchar as json), levenshtein_distance"),
        ("SELECT levenshtein_distance(name, 'it''s \\'), CAST(name AS json) FROM t", {"engine": "spark"},
         "cast(varchar as json)"),
        ("SELECT id FROM t WHERE try(id / (id - 5)) > 2", {}, "divide, subtract, try"),
        ("SELECT tdigest_agg(CAST(id AS double)) FROM t", {}, "tdigest_agg"),
        ("SELECT approx_set(id), approx_percentile(id, 0.5e0) FROM t", {}, ""),
    ],
)  # fmt: skip
def test_explain_names_what_runs_row_by_row(
    reader: Reader, lake: Any, query: str, given: dict[str, str], programs: str | None
) -> None:
    lake.create("t", [numbered(0, 10)])
    lines = str(reader.work(f"EXPLAIN {query}", **given).rows[0][0]).splitlines()
    assert [line for line in lines if line.startswith("Programs: ")] == (
        [f"Programs: {programs}: row by row, as programs"] if programs else []
    )


def test_explain_tells_the_engine_that_programs_choose(reader: Reader, lake: Any) -> None:
    lake.create("t", [numbered(0, 10)])
    text = str(
        reader.work("EXPLAIN SELECT levenshtein_distance(name, 'x') FROM t", embedded_engine_max_program_rows="9").rows
    )
    assert "Engine: Spark runs it: levenshtein_distance would run as programs for 10 rows" in text
    assert "Programs: " not in text


def test_files_outside_of_the_catalogs_locations_are_not_read_here(reader: Reader, lake: Any) -> None:
    outside(lake)
    work = reader.work("SELECT count(DISTINCT id) FROM outside")
    assert isinstance(work, RunOnSpark)
    text = str(reader.work("EXPLAIN SELECT count(DISTINCT id) FROM outside").rows[0][0])
    assert (
        "Spark runs it: lab.db.outside is read by Spark alone: it has files outside of the catalog's locations" in text
    )


def test_a_with_query_over_a_table_is_computed_once(reader: Reader, lake: Any) -> None:
    """Each of its scans has a transaction of its own; the uses want different columns."""
    lake.create("t", [numbered(0, 100)])
    query = (
        "WITH g AS (SELECT id % 7 AS k, sum(id) AS s, count(*) AS n FROM t GROUP BY 1) SELECT k, s FROM g "
        "WHERE s = (SELECT max(s) FROM g) OR n = (SELECT max(n) FROM g) OR s < (SELECT min(n) FROM g) ORDER BY k"
    )
    work = reader.work(query, engine="embedded")
    assert work.sql.count("AS MATERIALIZED") == 2, "and the three numbers of it at once"
    assert len(work.inputs) == 1
    with duckdb.connect() as oracle:
        oracle.register("t", numbered(0, 100))
        assert tuples(reader, query) == oracle.execute(query).fetchall()
