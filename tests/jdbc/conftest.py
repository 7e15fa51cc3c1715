"""A PostgreSQL with every kind of column, and the catalog over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from coordinator.connectors.jdbc.dialects import DIALECTS
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.settings import DEFAULT_PACKAGES, SparkSettings
from shared.properties import Property
from tests.engine_local.test_local_engine import Run
from tests.jdbc.maria import filled_server
from tests.mariadb import PASSWORD
from tests.postgres import postgres_server

TABLES = """
CREATE SCHEMA shop;
CREATE TABLE shop.kinds (
  id integer PRIMARY KEY, b boolean, s smallint, l bigint, r real, d double precision, n numeric(12,2),
  free numeric, v varchar(10), t text, c char(5), bin bytea, day date, at time, ts timestamp, tz timestamptz,
  u uuid, j jsonb, mood text[]
);
INSERT INTO shop.kinds VALUES
  (1, true, 2, 3, 1.5, 2.5, 12345.67, 1.1, 'abc', 'läßt', 'ab', '\\x00ff', '2024-02-29', '12:34:56.789', '2024-02-29 01:02:03.456',
   '2024-02-29 01:02:03.456+02', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": [1]}', '{x}'),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE VIEW shop.days AS SELECT id, day FROM shop.kinds;
CREATE TABLE shop."MixedCase" ("Key" integer, plain integer);
INSERT INTO shop."MixedCase" VALUES (7, 8);
"""  # noqa: E501


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with postgres_server() as url:
        engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg2:", 1))
        with engine.begin() as connection:
            connection.exec_driver_sql(TABLES)
            connection.exec_driver_sql("ANALYZE")
        engine.dispose()
        yield url


@pytest.fixture(scope="session")
def mariadb() -> Iterator[str]:
    with filled_server() as address:
        yield address


@pytest.fixture(scope="session")
def jdbc_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    """Spark with the drivers of PostgreSQL and MariaDB; at its end no password stands in what it wrote."""
    home = tmp_path_factory.mktemp("jdbc_spark")
    (home / "events").mkdir()
    shown = {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false"}
    conf = shown | {"spark.eventLog.dir": (home / "events").as_uri()}
    packages = (*DEFAULT_PACKAGES, DIALECTS["mariadb"].driver_package)
    engine = SparkEngine(SparkSettings(home / "spark", driver_memory="1g", conf=conf, packages=packages), {})
    with pytest.MonkeyPatch.context() as patch:
        # A machine's zone must not be seen in what a driver reads.
        patch.setenv("TZ", "America/New_York")
        # Not while a test waits for what runs in a database.
        list(engine.run("SELECT 1", Run()))  # type: ignore[arg-type]
    yield engine
    engine.stop()
    texts = {file: file.read_text(errors="replace") for file in home.rglob("*") if file.is_file()}
    assert any("procession_remote" in text for text in texts.values()), "the event log shows what was read"
    secrets = ("open-sesame", PASSWORD)
    assert [file for file, text in texts.items() if any(secret in text for secret in secrets)] == []


def catalog_config(url: str, **more: str) -> CatalogConfig:
    """Catalog ``pg`` over the server at ``url``."""
    address = url.split("@")[1]
    values = {"connection-url": f"jdbc:postgresql://{address}", "connection-user": "postgres"} | more
    properties = {n: Property(n, v, Path("pg.properties"), i) for i, (n, v) in enumerate(values.items(), 1)}
    return CatalogConfig("pg", "postgresql", properties)


@pytest.fixture(scope="session")
def catalogs(postgres: str) -> Catalogs:
    return Catalogs([catalog_config(postgres)])
