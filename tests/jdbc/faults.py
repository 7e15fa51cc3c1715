"""A database of faults: a user who may not read all of it, slow views, and a look at who is connected."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from coordinator.connectors.registry import Catalogs
from shared.errors import ProcessionError
from tests.jdbc.conftest import catalog_config

SECRET = "open-sesame"
TABLES = f"""
CREATE SCHEMA faults;
CREATE TABLE faults.many AS SELECT g AS k, 'row ' || g AS v FROM generate_series(1, 60000) g;
ALTER TABLE faults.many ADD PRIMARY KEY (k);
CREATE TABLE faults.few AS SELECT g AS k, g * 2 AS w FROM generate_series(1, 20) g;
CREATE TABLE faults.secret (k integer);
CREATE VIEW faults.slow AS SELECT k, CASE WHEN pg_sleep(30) IS NULL THEN 0 ELSE 1 END AS s FROM faults.few;
CREATE ROLE reader LOGIN PASSWORD '{SECRET}';
CREATE ROLE locked LOGIN PASSWORD 'another';
GRANT USAGE ON SCHEMA faults TO reader, locked;
GRANT SELECT ON faults.many, faults.few, faults.slow TO reader, locked;
ANALYZE faults.many; ANALYZE faults.few; ANALYZE faults.secret;
"""


def admin_of(url: str) -> sa.Engine:
    """The server's owner, who sees all sessions; makes the tables on first use."""
    engine = sa.create_engine(
        url.replace("postgresql:", "postgresql+psycopg2:", 1), execution_options={"isolation_level": "AUTOCOMMIT"}
    )
    with engine.connect() as connection:
        if connection.exec_driver_sql("SELECT to_regnamespace('faults')").scalar() is None:
            connection.exec_driver_sql(TABLES)
            hba = Path(str(connection.exec_driver_sql("SHOW hba_file").scalar_one()))
            asked = "host all locked all scram-sha-256\nlocal all locked scram-sha-256\n"
            hba.write_text(asked + hba.read_text())
            connection.exec_driver_sql("SELECT pg_reload_conf()")
    return engine


def reader_of(url: str, **more: str) -> Catalogs:
    """Catalog ``pg`` as the user who may not read ``secret``."""
    values = {"connection-user": "reader", "connection-password": SECRET} | more
    return Catalogs([catalog_config(url, **values)])


def close(catalogs: Catalogs) -> None:
    """Give up the pool."""
    catalogs.connector("pg").database.close()  # type: ignore[attr-defined]


def sessions(admin: sa.Engine, user: str = "reader") -> list[str]:
    """What the sessions of the catalog's user run, once those that are ending have ended."""
    found: list[str] = []
    for _ in range(150):
        with admin.connect() as connection:
            asked = sa.text("SELECT state || ': ' || query FROM pg_stat_activity WHERE usename = :user")
            found = list(connection.execute(asked, {"user": user}).scalars())
        if not found:
            break
        time.sleep(0.1)
    return found


def failure(work: Callable[[], object]) -> ProcessionError:
    """The error that ``work`` ends with."""
    with pytest.raises(ProcessionError) as caught:
        work()
    assert SECRET not in str(caught.value)
    return caught.value


def in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    """``work`` on a thread of its own, and what it raised once that has ended."""
    failures: list[BaseException] = []

    def body() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    return thread, failures


def wait_for_query(admin: sa.Engine, part: str, failures: list[BaseException]) -> int:
    """The process of the query that holds ``part``, once it runs; ``failures`` are its sender's."""
    asked = sa.text(
        "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND usename = 'reader' AND strpos(query, :part) > 0"
    )
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and not failures:
        with admin.connect() as connection:
            pid = connection.execute(asked, {"part": part}).scalar()
        if pid is not None:
            return int(pid)
        time.sleep(0.05)
    raise AssertionError(f"no query {part}: {failures}")
