"""Coordinators that come to a SQL catalog at the same time, whose tables nobody has made yet."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg2.extensions
import pytest
import sqlalchemy as sa
from pyiceberg.catalog.sql import SqlCatalog, SqlCatalogBaseTable

from coordinator.connectors.iceberg import catalog as catalogs
from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.properties import read_settings
from coordinator.connectors.iceberg.sql_catalog import sql_catalog, with_deadlines
from shared.errors import ProcessionError
from shared.properties import Property
from tests.databases import new_database


def catalog(uri: str, home: Path) -> TableCatalog:
    values = {"iceberg.catalog.uri": uri, "iceberg.catalog.warehouse": f"file://{home}/wh"}
    properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
    return TableCatalog(read_settings("lab", properties, home))


@contextmanager
def another_before(uri: str, at_once: int) -> Iterator[list[str]]:
    """Another program makes tables after each look that found some missing; which it made."""
    made: list[str] = []

    def make(_target: object, _connection: object, **_named: object) -> None:
        left = [table for table in SqlCatalogBaseTable.metadata.tables.values() if table.name not in made][:at_once]
        engine = sa.create_engine(uri)
        with engine.begin() as connection:
            for table in left:
                connection.execute(sa.schema.CreateTable(table))
        engine.dispose()
        made.extend(table.name for table in left)

    sa.event.listen(SqlCatalogBaseTable.metadata, "before_create", make)
    try:
        yield made
    finally:
        sa.event.remove(SqlCatalogBaseTable.metadata, "before_create", make)


@pytest.mark.parametrize("at_once", [2, 1])
def test_another_makes_the_tables_first(tmp_path: Path, at_once: int) -> None:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    with another_before(uri, at_once) as made:
        assert catalog(uri, tmp_path).schemas() == []
    assert len(made) == 2


@pytest.mark.slow
def test_another_makes_the_tables_first_in_postgres(postgres: str, tmp_path: Path) -> None:
    uri = new_database(postgres, "fresh").replace("postgresql:", "postgresql+psycopg2:", 1)
    with another_before(uri, 2) as made:
        assert catalog(uri, tmp_path).schemas() == []
    assert len(made) == 2


@pytest.mark.slow
def test_four_begin_at_once(postgres: str, tmp_path: Path) -> None:
    uri = new_database(postgres, "fresh")
    ready, seen = threading.Barrier(4), []

    def begin(one: TableCatalog) -> None:
        ready.wait()
        seen.append(one.schemas())

    threads = [threading.Thread(target=begin, args=(catalog(uri, tmp_path),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen == [[]] * 4


def test_a_database_that_is_away_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def count(self: Any, name: str, **properties: str) -> None:
        asked.append(name)
        init(self, name, **properties)

    init = SqlCatalog.__init__
    monkeypatch.setattr(SqlCatalog, "__init__", count)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(ProcessionError, match="failed"):
        catalog(f"postgresql://u@127.0.0.1:{port}/d", tmp_path).schemas()
    assert asked == ["lab"]


def test_who_waits_for_a_connection_waits_for_one_time_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for those of all that came before; whoever comes later tries again."""
    lake, tried = catalog(f"sqlite:///{tmp_path}/catalog.db", tmp_path), list[float]()
    connect, waiting, told = catalogs._connect, threading.Barrier(8), list[str]()
    all_begun = threading.Event()

    def in_vain(*_: object) -> None:
        tried.append(time.monotonic())
        assert all_begun.wait(60)
        time.sleep(0.3)
        raise ConnectionError("timed out")

    def ask() -> None:
        if waiting.wait() == 0:
            all_begun.set()
        try:
            lake.schemas()
        except ProcessionError as error:
            told.append(error.message)

    monkeypatch.setattr(catalogs, "_connect", in_vain)
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(told) == 8
    assert len(tried) <= 4  # some threads may have come late
    monkeypatch.setattr(catalogs, "_connect", connect)
    assert lake.schemas() == []


def test_a_database_that_refuses_to_make_tables_says_so(tmp_path: Path) -> None:
    """Not a loop without end."""
    file = tmp_path / "catalog.db"
    SqlCatalog("lab", uri=f"sqlite:///{file}").destroy_tables()
    uri = f"sqlite:///file:{file}?mode=ro&uri=true"
    with pytest.raises(sa.exc.OperationalError, match="readonly"):
        sql_catalog("lab", {"uri": uri})


@pytest.mark.slow
def test_a_database_that_was_restarted_fails_no_look(postgres: str, tmp_path: Path) -> None:
    """Connections that rest in the pool ended with it."""
    uri = new_database(postgres, "restarted")
    lake = catalog(uri, tmp_path)
    client: Any = lake.client()
    client.create_namespace("db")
    with client.engine.connect(), client.engine.connect():
        pass  # two of them rest
    other = sa.create_engine(uri.replace("postgresql:", "postgresql+psycopg2:", 1))
    with other.connect() as connection:
        ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()"
        count = connection.exec_driver_sql(f"{ended} AND pid <> pg_backend_pid()").scalar_one()
    other.dispose()
    assert count == 2
    assert lake.load("db", "t") is None
    assert lake.schemas() == ["db"]


def test_the_database_is_not_waited_for_without_end() -> None:
    """Unless the address says otherwise."""
    plain, own = (
        sa.make_url(with_deadlines(f"postgresql+psycopg2://u:p%40@h/d{query}"))
        for query in ("", "?connect_timeout=3&sslmode=require")
    )
    assert (plain.password, plain.query["connect_timeout"], plain.query["tcp_user_timeout"]) == ("p@", "10", "60000")
    assert (own.query["connect_timeout"], own.query["sslmode"], own.query["keepalives_idle"]) == ("3", "require", "30")
    assert with_deadlines("sqlite:////data/catalog.db") == "sqlite:////data/catalog.db"
    psycopg2.extensions.parse_dsn(" ".join(f"{name}={value}" for name, value in plain.query.items()))
