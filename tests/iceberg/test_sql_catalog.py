"""Coordinators that come to a SQL catalog at the same time, whose tables nobody has made yet."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pyiceberg.catalog.sql import SqlCatalog, SqlCatalogBaseTable

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.properties import read_settings
from coordinator.connectors.iceberg.sql_catalog import sql_catalog
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
        thread.join(30)
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


def test_a_database_that_refuses_to_make_tables_says_so(tmp_path: Path) -> None:
    """Not a loop without end."""
    file = tmp_path / "catalog.db"
    SqlCatalog("lab", uri=f"sqlite:///{file}").destroy_tables()
    uri = f"sqlite:///file:{file}?mode=ro&uri=true"
    with pytest.raises(sa.exc.OperationalError, match="readonly"):
        sql_catalog("lab", {"uri": uri})
