"""What a catalog does in the background ends with it, and leaves its records to the next start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from coordinator.connectors.iceberg.background import Background
from coordinator.connectors.iceberg.rewrite.committing import one_rewrite
from coordinator.connectors.iceberg.tables.open_writes import open_write
from coordinator.connectors.iceberg.tables.unfinished import UnfinishedTable
from shared.errors import ErrorCode, ProcessionError
from tests.iceberg.test_recovery import numbers


def threads_of(lake: Any) -> list[threading.Thread]:
    return list(lake.connector.tables_of.background._threads)


def test_what_waits_is_never_done_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordinator.connectors.iceberg.background._ENDING_SECONDS", 60.0)
    background, done = Background(), list[str]()
    background.later(0.0, "soon", lambda: done.append("soon"))
    background.later(300.0, "late", lambda: done.append("late"))
    deadline = time.monotonic() + 60
    while done != ["soon"] and time.monotonic() < deadline:
        time.sleep(0.01)
    begun = time.monotonic()
    background.end()
    assert time.monotonic() - begun < 100
    background.later(0.0, "too late", lambda: done.append("too late"))
    assert background.begin("too late", lambda: done.append("too late")) is None
    assert (done, background._threads) == (["soon"], set())


def test_its_own_threads_may_end_it_and_slow_ones_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordinator.connectors.iceberg.background._ENDING_SECONDS", 0.05)
    background, goes_on, over = Background(), threading.Event(), threading.Event()

    def end() -> None:
        background.end()
        over.set()

    slow = background.begin("slow", lambda: goes_on.wait(60) and None)
    background.begin("ending", end)
    assert over.wait(60)
    assert slow is not None and slow.is_alive()
    goes_on.set()
    slow.join(60)
    assert background._threads == set()


def failed_write(lake: Any) -> None:
    catalog = lake.connector.tables_of
    write = open_write(str(uuid4()), "db", catalog.open("db", "t"))
    with pytest.raises(ZeroDivisionError), catalog.late_writes.recorded(write, lambda: False):
        raise ZeroDivisionError


def table_that_went(lake: Any) -> None:
    catalog, location = lake.connector.tables_of, f"file://{lake.home}/wh/db/made-{uuid4().hex}"
    (Path(location.removeprefix("file://")) / "data").mkdir(parents=True)
    catalog.unfinished.begin(UnfinishedTable("db", "hidden", "made", location))
    catalog.late_files.remove(catalog.file_io(location), "db", "hidden", location)


def lost_task(lake: Any) -> None:
    def lose(_kernel: str, _number: int) -> None:
        raise ProcessionError(ErrorCode.REMOTE_HOST_GONE, "executor lost")

    lake.workers.before = lose
    with pytest.raises(ProcessionError, match="executor lost"):
        lake.rewrite("t", {"rewrite-all": "true"})


@pytest.mark.parametrize("leave", [failed_write, table_that_went, lost_task])
def test_the_next_start_goes_on(lake: Any, leave: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_rewrite, "_WORKERS_GONE_SECONDS", 300.0)
    monkeypatch.setattr("coordinator.connectors.iceberg.background._ENDING_SECONDS", 60.0)
    lake.create("t", [numbers(0), numbers(50)])
    leave(lake)
    threads = threads_of(lake)
    assert [thread.is_alive() for thread in threads] == [True]
    begun = time.monotonic()
    lake.connector.close()
    assert time.monotonic() - begun < 100
    assert [thread.is_alive() for thread in threads] == [False]
    lake.connector = lake.connect()  # the fixture closes it
    assert len(lake.connector.recover()) == 1
