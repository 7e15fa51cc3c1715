"""A PostgreSQL with every kind of column, and the catalog over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from coordinator.connectors.registry import CatalogConfig, Catalogs
from shared.properties import Property
from tests.jdbc.maria import filled_server
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


def catalog_config(url: str, **more: str) -> CatalogConfig:
    """Catalog ``pg`` over the server at ``url``."""
    address = url.split("@")[1]
    values = {"connection-url": f"jdbc:postgresql://{address}", "connection-user": "postgres"} | more
    properties = {n: Property(n, v, Path("pg.properties"), i) for i, (n, v) in enumerate(values.items(), 1)}
    return CatalogConfig("pg", "postgresql", properties)


@pytest.fixture(scope="session")
def catalogs(postgres: str) -> Catalogs:
    return Catalogs([catalog_config(postgres)])
