"""A MariaDB with every kind of column, and the catalog over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.executor import Executor
from coordinator.engine.local import LocalEngine
from coordinator.planning.plan_statement import plan_statement
from shared.properties import Property
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.mariadb import PASSWORD, mariadb_server

TABLES = r"""
CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE shop.kinds (
  id integer PRIMARY KEY, flag boolean, t tinyint, tu tinyint unsigned, s smallint, su smallint unsigned,
  m mediumint, iu integer unsigned, l bigint, lu bigint unsigned, r float, d double, n decimal(12,2),
  wide decimal(60,2),
  v varchar(10), tx text, c char(5), vb varbinary(4), bl blob, day date, moment datetime(6), stamp timestamp(3) NULL,
  pick enum('a','b'), several set('x','y'), doc json, gap time, yr year
);
INSERT INTO shop.kinds VALUES
  (1, true, -5, 250, -3, 65000, 7, 4000000000, 9, 18446744073709551615, 1.5, 2.5, 12345.67, 1.1, 'abc', 'läßt', 'ab',
   x'00ff', x'0102', '2024-02-29', '2024-02-29 01:02:03.456', '2024-02-29 01:02:03.5', 'b', 'x,y',
   '{"a": [1]}', '10:00', 2024),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
   NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE shop.l (
  i integer, s smallint, b bigint, n decimal(10,2), d double, v varchar(10), c varchar(10) COLLATE utf8mb4_nopad_bin,
  x varchar(10) COLLATE utf8mb4_bin, ch char(5), day date, ts datetime, ok boolean
);
INSERT INTO shop.l VALUES
  (1, 1, 1, 1.00, 1.5, 'abc', 'abc', 'abc', 'ab', '2024-01-01', '2024-01-01 10:00:00', true),
  (2, 2, 2, 2.50, -0.0, 'ABC', 'ABC', 'ABC', 'AB', '2024-02-29', '2024-02-29 23:59:59', false),
  (3, 3, 3000000000, -1.00, 1e300, 'abc ', 'abc ', 'abc ', 'ab', NULL, NULL, NULL),
  (4, NULL, -4, 0.00, 4, 'a_c', 'a%c', '', '', '1999-12-31', '1999-12-31 00:00:00', true),
  (5, 5, 5, 99999999.99, 0, 'äpfel', 'äpfel', 'ÄPFEL', 'ä', '2024-01-01', '2024-01-01 10:00:00', false),
  (NULL, 7, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2024-03-01', '2024-03-01 00:00:00', NULL),
  (2, 2, 2, 2.50, 2.5, 'zeta', 'Zeta', 'zeta', 'zeta', '2024-02-29', '2024-02-29 00:00:00', true);
CREATE TABLE shop.r LIKE shop.l;
INSERT INTO shop.r SELECT * FROM shop.l WHERE i <> 4 OR i IS NULL;
INSERT INTO shop.r VALUES
  (2, 2, 2, 2.50, 7.5, 'Abc', 'aBC', 'aBc', 'Ab', '2024-01-01', '2024-01-01 10:00:00', true),
  (9, 9, 9, 9.00, 9.5, 'it''s', 'back\\slash', '"q"', 'x''y', '2030-01-01', '2030-01-01 00:00:00', false);
ANALYZE TABLE shop.l, shop.r, shop.kinds;
"""
ENGINE = LocalEngine()
SESSION = Session(user="test", catalog="maria", schema="shop")


@contextmanager
def filled_server() -> Iterator[str]:
    """The server's address, ``host:port``."""
    with mariadb_server() as address:
        engine = engine_of(address)
        with engine.connect() as connection:
            connection.exec_driver_sql("SET time_zone = '+00:00'")
            for statement in TABLES.split(";\n"):
                if statement.strip():
                    connection.exec_driver_sql(statement.replace("%", "%%"))
            connection.commit()
        engine.dispose()
        yield address


def engine_of(address: str, database: str = "") -> sa.Engine:
    """The server as its user."""
    return sa.create_engine(f"mariadb+pymysql://reader:{PASSWORD}@{address}/{database}?charset=utf8mb4")


def engine_with(address: str, tables: str) -> Iterator[sa.Engine]:
    """For a fixture: the server's ``shop`` with these tables, one statement a ``;`` at the end of a line."""
    engine = engine_of(address, "shop")
    with engine.connect() as connection:
        for statement in tables.split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement.replace("%", "%%"))
        connection.commit()
    yield engine
    engine.dispose()


def catalogs_of(address: str, **more: str) -> Catalogs:
    values = {"connection-url": f"jdbc:mariadb://{address}/", "connection-user": "reader"}
    values |= {"connection-password": PASSWORD} | more
    properties = {n: Property(n, v, Path("maria.properties"), i) for i, (n, v) in enumerate(values.items(), 1)}
    return Catalogs([CatalogConfig("maria", "mariadb", properties)])


def rows(catalogs: Catalogs, text: str, properties: dict[str, str]) -> list[str]:
    planned = plan_statement(text, replace(SESSION, properties=properties), catalogs, PlanCheckers())
    executor = Executor(catalogs, ENGINE, None, lambda _: "")  # type: ignore[arg-type]
    batches = executor.execute(planned, FakeExecution())  # type: ignore[arg-type]
    found: list[str] = []
    for batch in batches:
        cells = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        found += [str([shown(v) for v in row]) for row in cells]
    return sorted(found)


def shown(value: Any) -> Any:
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, float):
        return value + 0.0
    return value
