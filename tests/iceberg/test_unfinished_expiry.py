"""An expiry that is cut off after the table forgot its snapshots: the files that only they need go all the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from coordinator.connectors.iceberg.maintenance import unfinished_expiry
from coordinator.connectors.iceberg.procedures import expire_snapshots
from shared.errors import ErrorCode, ProcessionError
from tests.iceberg.test_recovery import numbers

ASKED = {"schema": "db", "table_name": "t", "older_than": datetime(2100, 1, 1)}


@pytest.fixture
def rows(lake: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Of a table with six files that only its old snapshots need."""
    monkeypatch.setattr(unfinished_expiry, "_SOON_SECONDS", 0.0)
    lake.create("t", [numbers(i * 50) for i in range(6)])
    lake.rewrite("t", {"rewrite-all": "true"})
    return lake.rows("t")  # type: ignore[no-any-return]


def cut_off(patch: pytest.MonkeyPatch, after: int, error: BaseException) -> None:
    """The next expiry ends after so many deletions; what others of this module delete is deleted."""
    deleted = expire_snapshots.delete_all

    def some(io: Any, locations: Any, at_once: int) -> Iterator[list[bool]]:
        yield from deleted(io, list(locations)[:after], at_once)
        raise error

    patch.setattr(expire_snapshots, "delete_all", some)


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_over(lake: Any) -> bool:
    engine = lake.connector.tables_of.work.file_engine(expire_snapshots_table(lake))
    with engine.connect() as connection:
        return bool(connection.exec_driver_sql("SELECT count(*) FROM open_expiries").scalar_one() == 0)


def expire_snapshots_table(lake: Any) -> Any:
    return lake.connector.tables_of.open_expiries.records._local


def killed(lake: Any, patch: pytest.MonkeyPatch, after: int) -> None:
    """As a process that ends there: nothing of it goes on."""
    with pytest.raises(KeyboardInterrupt), patch.context() as context:
        context.setattr(unfinished_expiry, "finish_later", lambda *_: None)
        cut_off(context, after, KeyboardInterrupt())
        lake.call("expire_snapshots", **ASKED)
    lake.connector.close()
    lake.connector = lake.connect()


@pytest.mark.parametrize("after", [0, 4, 8, 14])
def test_the_next_start_finishes_it(lake: Any, rows: list[Any], after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it was: data files go first, then the manifests and lists that tell of them."""
    killed(lake, monkeypatch, after)
    assert lake.orphans("t")
    (found,) = lake.connector.recover()
    assert (found.table, found.outcome) == ("t", "POSTPONED")
    eventually(lambda: is_over(lake))
    assert (lake.orphans("t"), lake.rows("t")) == (set(), rows)
    assert lake.connector.recover() == []


def test_one_that_is_cancelled_is_finished_at_once(lake: Any, rows: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(monkeypatch, 3, ProcessionError(ErrorCode.USER_CANCELED, "Query was canceled"))
    with pytest.raises(ProcessionError, match="canceled"):
        lake.call("expire_snapshots", **ASKED)
    eventually(lambda: is_over(lake))
    assert (lake.orphans("t"), lake.rows("t")) == (set(), rows)


def test_one_that_the_catalog_refused_has_nothing_to_finish(
    lake: Any, rows: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = lake.files("t")

    def refuse(*_: object) -> None:
        raise ProcessionError(ErrorCode.TRANSACTION_CONFLICT, "somebody else was first")

    monkeypatch.setattr(lake.connector.tables_of.client(), "commit_table", refuse)
    with pytest.raises(ProcessionError, match="somebody else"):
        lake.call("expire_snapshots", **ASKED)
    eventually(lambda: is_over(lake))
    assert (lake.files("t"), lake.rows("t"), len(lake.table("t").snapshots())) == (files, rows, 7)


def test_what_the_table_needs_again_stays(lake: Any, rows: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Under another name by now, and with a file of a forgotten snapshot that somebody has added anew."""
    data = Path(lake.home) / "wh" / "db" / "t" / "data"
    needed = {f"file://{file}" for file in data.glob("*.parquet")}
    old = sorted(needed - set(lake.table("t").inspect.data_files()["file_path"].to_pylist()))[0]
    killed(lake, monkeypatch, 0)
    lake.table("t").add_files([old])
    lake.other.rename_table("db.t", "db.renamed")
    lake.create("t", [numbers(0)])
    lake.connector.recover()
    eventually(lambda: is_over(lake))
    assert len(lake.rows("renamed")) == len(rows) + 50
    left = {f"file://{file}" for file in data.glob("*.parquet")} & needed
    assert left == set(lake.table("renamed").inspect.data_files()["file_path"].to_pylist())


def test_of_a_table_that_is_gone_nothing_is_touched(
    lake: Any, rows: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(lake, monkeypatch, 0)
    location, files = lake.table("t").metadata_location, lake.files("t")
    lake.other.drop_table("db.t")
    lake.connector.recover()
    eventually(lambda: is_over(lake))
    assert lake.files("t") == files
    lake.other.register_table("db.t", location)
    assert lake.rows("t") == rows


def test_while_the_catalog_is_away_it_is_tried_again(
    lake: Any, rows: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unfinished_expiry, "_PAUSE_SECONDS", 0.05)
    killed(lake, monkeypatch, 2)
    catalog, tried = type(lake.other), []
    load = catalog.load_table

    def away(*_args: Any) -> Any:
        tried.append(1)
        raise ConnectionError("connection refused")

    monkeypatch.setattr(catalog, "load_table", away)
    assert len(lake.connector.recover()) == 1
    eventually(lambda: len(tried) > 2)
    assert not is_over(lake)
    monkeypatch.setattr(catalog, "load_table", load)
    eventually(lambda: is_over(lake))
    assert (lake.orphans("t"), lake.rows("t")) == (set(), rows)
