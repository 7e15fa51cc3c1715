"""A query's execution as the engine sees it, and the probe kernels in the running server."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coordinator.dispatch.ports import QueryProgress
from coordinator.engine.spark.engine import SparkEngine
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session


class RecordedExecution:
    """Implements ``coordinator.dispatch.ports.Execution`` outside a dispatcher."""

    def __init__(self, query_id: str = "20260101_000000_00000_spark") -> None:
        self.query_id = query_id
        self.session = Session(user="tester", query_id=query_id)
        self.progress: list[QueryProgress] = []
        self.update_count: int | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._cancelled = threading.Event()

    def report_progress(self, progress: QueryProgress) -> None:
        self.progress.append(progress)

    def set_update_count(self, count: int) -> None:
        self.update_count = count

    def check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise ProcessionError(ErrorCode.USER_CANCELED, "Query was canceled")

    def on_cancel(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def cancel(self) -> None:
        self._cancelled.set()
        for callback in self._callbacks:
            threading.Thread(target=callback, daemon=True).start()


@pytest.fixture
def execution() -> RecordedExecution:
    return RecordedExecution()


@pytest.fixture
def executions() -> type[RecordedExecution]:
    return RecordedExecution


def add_probe_kernels(work_dir: Path) -> None:
    """Beside the real kernels, where the workers of this server import from."""
    target = work_dir / "kernels" / "procession_kernels" / "probe.py"
    shutil.copyfile(Path(__file__).with_name("probe_kernels.py"), target)


@pytest.fixture(scope="session")
def probing() -> Callable[[Path], None]:
    return add_probe_kernels


@pytest.fixture(scope="session")
def engine(spark_engine: Any) -> SparkEngine:
    """The session's engine, connected, with the probe kernels."""
    assert isinstance(spark_engine, SparkEngine)
    connection = spark_engine.connect()
    assert connection.server is not None
    add_probe_kernels(connection.server.child.log_file.parents[1])
    return spark_engine
