"""``ALTER TABLE … ADD COLUMN … WITH (partitioning = …)``: new files are divided by the column too."""

from __future__ import annotations

import prestodb
import pyarrow as pa
import pytest

from tests.e2e.service import Service

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


@pytest.mark.parametrize(
    ("column", "partitioning", "fields"),
    [
        ("varchar", "'identity'", {"c": "identity"}),
        ("integer", "ARRAY['bucket(4)']", {"c_bucket": "bucket[4]"}),
        ("varchar", "ARRAY['truncate(2)']", {"c_trunc": "truncate[2]"}),
        ("date", "'month'", {"c_month": "month"}),
        ("timestamp with time zone", "'day'", {"c_day": "day"}),
    ],
)
def test_the_table_is_partitioned_by_it(
    quiet_service: Service, request: pytest.FixtureRequest, column: str, partitioning: str, fields: dict[str, str]
) -> None:
    name = f"added_{request.node.callspec.indices['column']}"
    table = quiet_service.create(name, [ROWS])
    quiet_service.execute(f"ALTER TABLE iceberg.db.{name} ADD COLUMN c {column} WITH (partitioning = {partitioning})")
    table.refresh()
    assert {field.name: str(field.transform) for field in table.spec().fields} == fields
    with table.transaction() as transaction:
        transaction.append(ROWS.append_column("c", pa.nulls(3, table.schema().as_arrow().field("c").type)))
    assert quiet_service.execute(f"SELECT count(*), count(c) FROM iceberg.db.{name}") == [[6, 0]]
    assert len(quiet_service.execute(f'SELECT * FROM iceberg.db."{name}$partitions"')) == 1
    shown = quiet_service.execute(f"SHOW CREATE TABLE iceberg.db.{name}")[0][0]
    assert "partitioning = ARRAY[" in shown


def test_what_cannot_be_is_refused_and_nothing_is_added(quiet_service: Service) -> None:
    table = quiet_service.create("added_wrongly", [ROWS])
    wrong = {"double": "'bucket(4)'", "varchar": "'day'", "bigint": "'nonsense'", "integer": "ARRAY['bucket(0)']"}
    for column, partitioning in wrong.items():
        with pytest.raises(prestodb.exceptions.PrestoUserError) as refused:
            quiet_service.execute(
                f"ALTER TABLE iceberg.db.added_wrongly ADD COLUMN c {column} WITH (partitioning = {partitioning})"
            )
        assert refused.value.error_name in ("INVALID_TABLE_PROPERTY", "INVALID_COLUMN_PROPERTY"), refused.value
    assert [field.name for field in table.refresh().schema().fields] == ["id"]
    assert table.spec().fields == ()
