"""A query's execution as the engine sees it, and the probe kernels in the running server."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coordinator.engine.spark.engine import SparkEngine
from tests.execution import FakeExecution


@pytest.fixture
def execution() -> FakeExecution:
    return FakeExecution()


@pytest.fixture
def executions() -> type[FakeExecution]:
    return FakeExecution


def add_probe_kernels(work_dir: Path) -> None:
    """Beside the real kernels, where the workers of this server import from."""
    target = work_dir / "kernels" / "procession_kernels" / "probes.py"
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
