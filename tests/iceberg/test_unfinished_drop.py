"""A DROP TABLE that is cut off after the catalog forgot the table: its files go all the same, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.connectors.iceberg.tables import purge
from coordinator.connectors.iceberg.tables.dropping import drop_table
from shared.errors import ProcessionError
from shared.spi.catalog_changes import TableRemoval
from tests.iceberg.test_recovery import numbers
from tests.iceberg.test_unfinished_expiry import eventually

DROP = TableRemoval("db", "t", if_exists=False)


def files(lake: Any) -> set[Path]:
    return {path for path in Path(lake.home, "wh").rglob("*") if path.is_file() and "/t" in str(path)}


def is_over(lake: Any) -> bool:
    return not lake.connector.tables_of.open_drops.open_entries()


def cut_off(patch: pytest.MonkeyPatch, after: int, error: BaseException) -> None:
    deleted = purge.delete_all

    def some(io: Any, locations: Any, at_once: int) -> Iterator[list[bool]]:
        yield from deleted(io, list(locations)[:after], at_once)
        raise error

    patch.setattr(purge, "delete_all", some)


def killed(lake: Any, patch: pytest.MonkeyPatch, after: int) -> None:
    """As a process that ends there: nothing of it goes on."""
    with pytest.raises(KeyboardInterrupt), patch.context() as context:
        context.setattr(purge, "_again", lambda *_: None)
        cut_off(context, after, KeyboardInterrupt())
        drop_table(lake.connector.tables_of, DROP)
    lake.connector.close()
    lake.connector = lake.connect()


@pytest.fixture
def table(lake: Any) -> Any:
    return lake.create("t", [numbers(i * 50) for i in range(3)])


@pytest.mark.parametrize("after", [0, 2, 4, 8])
def test_the_next_start_finishes_it(lake: Any, table: Any, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(lake, monkeypatch, after)
    assert lake.connector.tables_of.load("db", "t") is None
    assert files(lake)
    (found,) = lake.connector.recover()
    assert (found.table, found.outcome) == ("t", "POSTPONED")
    eventually(lambda: is_over(lake))
    assert files(lake) == set()
    assert lake.connector.recover() == []


def test_one_that_failed_is_finished_soon(lake: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "_SOON_SECONDS", 0.0)
    monkeypatch.setattr(purge, "_PAUSE_SECONDS", 0.05)  # the first try may be cut off, too
    with pytest.raises(ProcessionError, match="cut"), monkeypatch.context() as context:
        cut_off(context, 1, OSError("cut"))
        drop_table(lake.connector.tables_of, DROP)
    eventually(lambda: is_over(lake))
    assert files(lake) == set()


def test_a_table_that_is_there_keeps_its_files(lake: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was not dropped, or was registered again meanwhile."""
    before = files(lake)
    with pytest.raises(KeyboardInterrupt), monkeypatch.context() as context:
        context.setattr(purge, "_again", lambda *_: None)
        context.setattr(type(lake.connector.tables_of.client()), "drop_table", _interrupted)
        drop_table(lake.connector.tables_of, DROP)
    lake.connector.close()
    lake.connector = lake.connect()
    lake.connector.recover()
    eventually(lambda: is_over(lake))
    assert files(lake) == before
    killed(lake, monkeypatch, 0)
    lake.call("register_table", schema="db", table_name="again", metadata_file=table.metadata_location)
    lake.connector.recover()
    eventually(lambda: is_over(lake))
    assert files(lake) == before
    assert len(lake.rows("again")) == 150


def _interrupted(*_arguments: object) -> None:
    raise KeyboardInterrupt


def test_a_drop_that_ends_well_leaves_no_record(lake: Any, table: Any) -> None:
    drop_table(lake.connector.tables_of, DROP)
    assert is_over(lake)
    assert files(lake) == set()
