"""Start, death and end of the embedded server, and servers that others run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession

from coordinator.engine.spark import sessions
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.our_classes import OUR_JAR
from coordinator.engine.spark.settings import SparkSettings
from shared.errors import ErrorCode, ProcessionError
from tests.spark_packages import PACKAGES

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def own_engine(tmp_path: Path) -> Iterator[SparkEngine]:
    """A second engine, which a test may harm."""
    engine = SparkEngine(SparkSettings(work_dir=tmp_path / "spark", driver_memory="512m", packages=PACKAGES), {})
    yield engine
    engine.stop()


def jvm_of(engine: SparkEngine) -> int:
    server = engine.connect().server
    assert server is not None
    children = Path(f"/proc/{server.child.pid}/task/{server.child.pid}/children").read_text().split()
    return int(children[0])


@pytest.mark.full("catalogs by statements in test_managed_catalogs, over the Spark that runs")
def test_catalogs_that_need_jars_get_a_server_with_them_and_statements_keep_theirs(
    own_engine: SparkEngine, executions: Any, probing: Callable[[Path], None], tmp_path: Path
) -> None:
    first = own_engine.connect().server
    assert first is not None
    probing(tmp_path / "spark")
    answers: list[bytes] = []
    running = threading.Thread(
        target=lambda: answers.extend(own_engine.workers(executions("long")).run_tasks("probes:where", [b"15"]))
    )
    running.start()
    time.sleep(4)
    jar = shutil.copy(OUR_JAR, tmp_path / "more.jar")
    more = SparkSettings(
        work_dir=tmp_path / "spark", driver_memory="512m", packages=PACKAGES, jars=(jar,), class_archive=False
    )
    own_engine.change_catalogs(more, {"spark.sql.catalog.x.y": "z"})
    rows = pa.Table.from_batches(own_engine.run("SET spark.sql.catalog.x.y", executions("next"))).to_pylist()
    assert [row["value"] for row in rows] == ["z"]
    second = own_engine.connect().server
    assert second is not None
    assert second is not first
    running.join(60)
    assert len(answers) == 1
    deadline = time.monotonic() + 60
    while not first.gone and time.monotonic() < deadline:
        time.sleep(0.2)
    assert first.gone
    assert second.alive


@pytest.mark.full("the end of a whole service by a signal in test_up, of its guard in test_guard")
def test_stop_leaves_no_process_and_refuses_what_comes_later(
    tmp_path: Path, executions: Any, gone_within: Callable[[Path, float], list[int]]
) -> None:
    engine = SparkEngine(SparkSettings(work_dir=tmp_path, driver_memory="512m", packages=PACKAGES), {})
    assert next(engine.workers(executions()).run_tasks("cache:clear", [b""])) == b'{"entries": 0, "bytes": 0}'
    engine.stop()
    assert gone_within(tmp_path, 0) == []
    with pytest.raises(ProcessionError) as refused:
        next(engine.run("SELECT 1", executions()))
    assert refused.value.code is ErrorCode.SERVER_SHUTTING_DOWN


@pytest.mark.full("a killed coordinator in test_faults, whose children have to be gone; its guard in test_guard")
def test_killing_the_owner_leaves_neither_jvm_nor_python_worker(
    tmp_path: Path, processes_of: Callable[[Path], list[int]], gone_within: Callable[[Path, float], list[int]]
) -> None:
    command = [sys.executable, str(Path(__file__).with_name("owner.py")), str(tmp_path / "spark")]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        # Guard, JVM, Python daemon and at least one worker.
        assert len(set(processes_of(tmp_path / "spark")) - {owner.pid}) >= 4
        owner.send_signal(signal.SIGKILL)
    assert gone_within(tmp_path / "spark", 60) == []


def test_the_token_is_needed(engine: SparkEngine) -> None:
    server = engine.connect().server
    assert server is not None
    session = SparkSession.builder.remote(f"sc://localhost:{server.port}").create()
    session.release_session_on_close = False
    with pytest.raises(Exception, match=r"UNAUTHENTICATED|authentication token"):
        session.sql("SELECT 1").toArrow()
    session.stop()


def test_a_remote_server_runs_statements_and_kernels(engine: SparkEngine, executions: Any, tmp_path: Path) -> None:
    server = engine.connect().server
    assert server is not None
    remote = SparkEngine(SparkSettings(work_dir=tmp_path, remote=server.url), {"spark.sql.shuffle.partitions": "3"})
    try:
        # The catalogs' settings reach the session of a server that others configured.
        rows = pa.Table.from_batches(remote.run("SET spark.sql.shuffle.partitions", executions())).to_pylist()
        assert rows == [{"key": "spark.sql.shuffle.partitions", "value": "3"}]
        assert list(remote.workers(executions()).run_tasks("cache:clear", [b""])) == [b'{"entries": 0, "bytes": 0}']
        assert (tmp_path / "logs").exists() is False, "nothing was started"
    finally:
        remote.stop()
    assert engine.connect().alive


def test_an_unreachable_remote_server_is_a_retriable_error(
    executions: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked as often as ever, with short pauses."""
    soon = lambda **given: DefaultPolicy(**given | {"max_backoff": 50, "jitter": 1})  # noqa: E731
    monkeypatch.setattr(sessions, "DefaultPolicy", soon)
    remote = SparkEngine(SparkSettings(work_dir=tmp_path, remote="sc://localhost:1"), {})
    with pytest.raises(ProcessionError) as failed:
        list(remote.run("SELECT 1", executions()))
    assert (failed.value.code, failed.value.retriable) == (ErrorCode.REMOTE_HOST_GONE, True)
    remote.stop()


def test_a_java_that_is_missing_is_told_with_the_fix(
    executions: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("coordinator.engine.spark.java.find_spec", lambda _name: None)
    engine = SparkEngine(SparkSettings(work_dir=tmp_path / "spark"), {})
    with pytest.raises(
        ProcessionError, match=r"Spark needs Java 17 or newer; tried: JAVA_HOME .* Fix: install"
    ) as failed:
        list(engine.run("SELECT 1", executions()))
    assert failed.value.code is ErrorCode.NO_NODES_AVAILABLE
    engine.stop()


def test_a_broken_spark_setting_is_told_with_its_last_words(executions: Any, tmp_path: Path) -> None:
    engine = SparkEngine(SparkSettings(work_dir=tmp_path, packages=PACKAGES, conf={"spark.master": "nonsense"}), {})
    with pytest.raises(ProcessionError, match=r"Spark ended while starting: .*nonsense") as failed:
        list(engine.run("SELECT 1", executions()))
    assert failed.value.code is ErrorCode.NO_NODES_AVAILABLE
    engine.stop()
