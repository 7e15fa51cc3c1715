"""SQLAlchemy's dialect of Trino over Iceberg tables: what it makes of ``"t$partitions"``."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
pytest.importorskip("trino.sqlalchemy")


def test_no_index_is_invented(whole_service: Service) -> None:
    service = whole_service
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.reflected")
    service.execute("CREATE TABLE iceberg.reflected.plain AS SELECT 1 id")
    service.execute("CREATE TABLE iceberg.reflected.parted WITH (partitioning = ARRAY['p']) AS SELECT 1 id, 'a' p")
    engine = sa.create_engine(service.url.replace("http://", "trino://tester@") + "/iceberg/reflected")
    with engine.connect() as connection:
        inspector = sa.inspect(connection)
        for table in ("plain", "parted"):
            assert inspector.get_indexes(table) == []
            assert next(column["name"] for column in inspector.get_columns(table)) == "id"
        asked = 'SELECT partition.p, record_count, data.id.max FROM "parted$partitions"'
        assert [tuple(row) for row in connection.execute(sa.text(asked))] == [("a", 1, 1)]
        asked = 'SELECT partition, record_count FROM "plain$partitions"'
        assert [tuple(row) for row in connection.execute(sa.text(asked))] == [(None, 1)]
    engine.dispose()
