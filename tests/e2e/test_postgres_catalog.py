"""The catalog database on a real PostgreSQL: the coordinator, Spark and another PyIceberg writer see one table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.e2e.service import Service, checksum, start_service, write_etc
from tests.e2e.test_call import numbers
from tests.postgres import postgres_server

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with postgres_server() as url:
        yield url


def test_rewrite_and_query_over_a_postgres_catalog(postgres: str, tmp_path: Path) -> None:
    etc = write_etc(tmp_path / "etc")
    (etc / "catalog" / "lake.properties").write_text(
        f"connector.name=iceberg\niceberg.catalog.uri={postgres}\n"
        f"iceberg.catalog.warehouse=file://{tmp_path}/wh\niceberg.journal.file={tmp_path}/lake.journal.db\n"
    )
    service = start_service(etc, tmp_path / "data", tmp_path / "log")
    try:
        _rewrite_and_query(service, postgres, tmp_path)
    finally:
        assert service.stop() == 0, (tmp_path / "log").read_text()


def _rewrite_and_query(service: Service, postgres: str, home: Path) -> None:
    uri = postgres.replace("postgresql://", "postgresql+psycopg2://", 1)
    other = SqlCatalog("lake", uri=uri, warehouse=f"file://{home}/wh")
    other.create_namespace("db")
    table = other.create_table("db.t", schema=numbers(0).schema)
    for number in range(6):
        table.append(numbers(number * 100))
    before = checksum(table)
    assert service.execute("SELECT count(*), max(id) FROM lake.db.t") == [[600, 599]]
    assert service.execute("CALL lake.system.rewrite_data_files('db', 't')")[0][:2] == [6, 1]
    assert checksum(table) == before
    assert service.execute("SELECT count(*), max(id) FROM lake.db.t") == [[600, 599]]
    table.append(numbers(600))
    assert service.execute("SELECT count(*), max(id) FROM lake.db.t") == [[700, 699]]
