"""A PostgreSQL with every kind of column."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

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


@contextmanager
def filled_postgres() -> Iterator[str]:
    """The server's address, ``postgresql://user@host:port/database``."""
    with postgres_server() as url:
        engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg2:", 1))
        with engine.begin() as connection:
            connection.exec_driver_sql(TABLES)
            connection.exec_driver_sql("ANALYZE")
        engine.dispose()
        yield url
