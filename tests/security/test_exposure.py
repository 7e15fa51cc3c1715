"""Other users of the machine and of the network: who may connect, read files, and what children are told."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from coordinator.config import CoordinatorSettings
from coordinator.engine.spark.server import _environment, _spark_conf
from coordinator.engine.spark.settings import SparkSettings
from coordinator.exposure import check_exposure
from coordinator.security.child_environment import child_environment
from shared.properties import ConfigurationError
from tests import warm
from tests.e2e.service import start_service, write_etc


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "lake.example", ""])
def test_a_server_for_the_network_needs_to_be_told_so(host: str) -> None:
    with pytest.raises(ConfigurationError, match="allow-unauthenticated=true"):
        check_exposure(CoordinatorSettings.model_validate({"http-server.http.host": host}))
    allowed = {"http-server.http.host": host, "http-server.authentication.allow-unauthenticated": "true"}
    check_exposure(CoordinatorSettings.model_validate(allowed))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1"])
def test_this_machine_needs_no_setting(host: str) -> None:
    check_exposure(CoordinatorSettings.model_validate({"http-server.http.host": host}))


@pytest.mark.slow
def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    etc = write_etc(tmp_path / "etc", spark=False)
    with (etc / "config.properties").open("a") as config:
        config.write("http-server.http.host=0.0.0.0\n")
    for command in ("up", "coordinator"):
        done = warm.run([command, "--etc", str(etc), "--data-dir", str(tmp_path / "d"), "--port", "0"], tmp_path)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1, done.stderr
        assert "does not authenticate" in done.stderr


@pytest.mark.slow
def test_files_of_a_service_are_its_owners_alone_and_its_sidecar_knows_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE_PASSWORD", "hunter2")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    service = start_service(write_etc(tmp_path / "etc", spark=False), data, tmp_path / "log")
    try:
        service.execute("CREATE SCHEMA iceberg.db")
        service.execute("CREATE TABLE iceberg.db.t (id bigint)")
        told = _environments(_descendants(service.process.pid))
    finally:
        assert service.stop() == 0
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    files = [path for path in data.rglob("*") if not path.is_symlink()]
    assert {path.suffix for path in files} >= {".db", ".log", ".json"}
    assert {oct(p.stat().st_mode & 0o077) for p in files} == {"0o0"}
    sidecars = [each for command, each in told.items() if "-m\0sidecar" in command]
    assert sidecars
    assert not [each for each in sidecars if b"hunter2" in each]


def _descendants(parent: int) -> list[int]:
    """Of all threads: planners are children of the one that made them."""
    listed = (task.read_text() for task in Path(f"/proc/{parent}/task").glob("*/children"))
    children = [child for text in listed for child in text.split()]
    return [found for child in children for found in (int(child), *_descendants(int(child)))]


def _environments(processes: list[int]) -> dict[str, bytes]:
    """Of those that have not ended since they were listed; the sidecar has not."""
    found = {}
    for number in processes:
        folder = Path(f"/proc/{number}")
        with suppress(FileNotFoundError, ProcessLookupError):
            found[(folder / "cmdline").read_text()] = (folder / "environ").read_bytes()
    return found


@pytest.mark.parametrize(("given", "told"), [(None, "jemalloc"), ("mimalloc", "mimalloc")])
def test_workers_of_spark_have_the_allocator_of_rewrites_or_the_one_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None, told: str
) -> None:
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    if given is not None:
        monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", given)
    environment = _environment(SparkSettings(work_dir=tmp_path), "token", tmp_path)
    code = "import pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    known = subprocess.run(
        [sys.executable, "-c", "import pyarrow; print(*pyarrow.supported_memory_backends())"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert answer.stdout.strip() == told or told not in known.stdout.split()


def test_spark_is_told_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAKE_PASSWORD", "AWS_SECRET_ACCESS_KEY", "JAVA_TOOL_OPTIONS", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "x")
    settings = SparkSettings(work_dir=tmp_path)
    assert _spark_conf(settings, {}, 1, [])["spark.authenticate"] == "true"
    told = _environment(settings, "token", tmp_path)
    assert {"AWS_SECRET_ACCESS_KEY", "JAVA_TOOL_OPTIONS", "HTTPS_PROXY", "PATH", "HOME"} <= told.keys()
    assert "LAKE_PASSWORD" not in told
    assert not {"AWS_SECRET_ACCESS_KEY", "LAKE_PASSWORD", "HTTPS_PROXY"} & child_environment().keys()
    assert os.environ["PATH"] == told["PATH"]
