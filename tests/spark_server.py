"""The embedded Spark server of all tests that need one and no service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.settings import SparkSettings
from tests.execution import FakeExecution
from tests.kept_secrets import holding
from tests.mariadb import PASSWORD
from tests.spark_packages import PACKAGES


@contextmanager
def shared_engine(home: Path) -> Iterator[SparkEngine]:
    """Without catalogs; when tests read databases through it, no password stands in what it wrote."""
    (home / "events").mkdir()
    shown = {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false"}
    # Figures of tasks are most of it, and no secrets.
    shown["spark.eventLog.includeTaskMetricsAccumulators"] = "false"
    conf = shown | {"spark.eventLog.dir": (home / "events").as_uri()}
    engine = SparkEngine(SparkSettings(work_dir=home / "spark", driver_memory="1g", conf=conf, packages=PACKAGES), {})
    with pytest.MonkeyPatch.context() as patch:
        # A machine's zone must not be seen in what a driver reads.
        patch.setenv("TZ", "America/New_York")
        # Not while a test waits for what runs in a database.
        list(engine.run("SELECT 1", FakeExecution()))  # type: ignore[arg-type]
    yield engine
    engine.stop()
    written = [file for file in home.rglob("*") if file.is_file()]
    assert holding(written, ("open-sesame", PASSWORD)) == []
