"""Mistakes of whoever sent the statement, which are said as such, and leave nothing behind."""

from __future__ import annotations

from uuid import uuid4

import prestodb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.e2e.service import Service

pytestmark = pytest.mark.slow


@pytest.mark.spark
def test_files_that_a_table_has_already(whole_service: Service) -> None:
    name = f"added_{uuid4().hex[:8]}"
    rows = pa.table({"n": pa.array([1, 2], pa.int64())})
    table = whole_service.create(name, [rows])
    folder = whole_service.data_dir / "iceberg" / "warehouse" / f"files_{name}"
    folder.mkdir(parents=True)
    pq.write_table(rows, folder / "a.parquet")
    call = (
        f"CALL iceberg.system.add_files(schema => 'db', table_name => '{name}', source_table => '`parquet`.`{folder}`')"
    )
    assert whole_service.execute(call) == [[1, None]]
    with pytest.raises(prestodb.exceptions.PrestoUserError, match="already exist within the target table") as failed:
        whole_service.execute(call)
    assert failed.value.error_name == "INVALID_PROCEDURE_ARGUMENT"
    assert "java." not in failed.value.message and "org.apache" not in failed.value.message
    assert len(list(table.refresh().scan().plan_files())) == 2
    whole_service.lake().drop_table(f"db.{name}")


@pytest.mark.parametrize("column", ["n.zz", "q.zz"])
def test_a_column_within_another(whole_service: Service, column: str) -> None:
    name = f"within_{uuid4().hex[:8]}"
    whole_service.create(name, [pa.table({"n": pa.array([1], pa.int64())})])
    with pytest.raises(prestodb.exceptions.PrestoUserError) as failed:
        whole_service.execute(f"ALTER TABLE iceberg.db.{name} ADD COLUMN {column} bigint")
    assert failed.value.error_name == "SYNTAX_ERROR"
    assert failed.value.message.endswith("mismatched input '.'. Expecting: <type>")
    whole_service.lake().drop_table(f"db.{name}")


def test_max_by_gives_values_that_have_no_order(whole_service: Service) -> None:
    maps = "(VALUES (1, MAP(ARRAY['a'], ARRAY[1])), (2, MAP(ARRAY['b'], ARRAY[2]))) AS t(k, m)"
    found = whole_service.execute(f"SELECT max_by(m, k), min_by(m, k), max_by(m, k, 1) FROM {maps}")
    assert found == [[{"b": 2}, {"a": 1}, [{"b": 2}]]]
    with pytest.raises(prestodb.exceptions.PrestoUserError, match="Unexpected parameters"):
        whole_service.execute(f"SELECT max_by(k, m) FROM {maps}")
