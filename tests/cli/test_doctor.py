"""``procession doctor`` names what is missing and the fix."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli import doctor


def test_a_good_machine(etc: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    # Whether this machine has fetched the jars already must not decide the test.
    monkeypatch.setattr(doctor, "missing_jars", lambda _packages, _cache: [])
    code = doctor.doctor(etc, data_dir=tmp_path / "data")
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert printed.endswith("nothing is missing\n")
    for name in ("python", "velox", "configuration", "java", "spark", "port", "disk", "memory"):
        assert f"ok      {name}" in printed


def test_a_wrong_line_is_named(etc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (etc / "catalog" / "lake.properties").write_text("connector.name=iceberg\nwarehouse=x\n")
    finding, config = doctor.check_configuration(etc)
    assert config is None
    assert "lake.properties:2: unknown property 'warehouse'" in finding.detail
    assert finding.fix is not None
    assert "correct line 2" in finding.fix


@pytest.mark.parametrize("version", [(3, 10), (3, 13)])
def test_a_python_without_velox_wheels(version: tuple[int, int]) -> None:
    assert "3.11 or 3.12" in (doctor.check_python(version).fix or "")


def test_a_platform_without_velox_wheels() -> None:
    fix = doctor.check_velox("Darwin", "arm64").fix
    assert fix is not None
    named = next(word for word in fix.split() if word.startswith("docker/"))
    assert (Path(__file__).parents[2] / named).is_file()


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("coordinator.engine.spark.java.find_spec", lambda _name: None)
    finding = doctor.check_java()
    assert "no java on PATH" in finding.detail
    assert "openjdk-17-jre-headless" in (finding.fix or "")


def test_missing_jars_are_listed(tmp_path: Path) -> None:
    finding = doctor.check_jars(["org.example:thing:1.0"], tmp_path, fetch=False)
    assert "org.example:thing:1.0" in finding.detail
    assert "doctor --fix" in (finding.fix or "")
    (tmp_path / "thing-1.0.jar").touch()
    assert doctor.check_jars(["org.example:thing:1.0"], tmp_path, fetch=False).fix is None


def test_a_busy_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        taken.close()
        assert doctor.check_port("127.0.0.1", port).fix is None
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor, "_CONNECT_SECONDS", 0.2)
        finding = doctor.check_port("127.0.0.1", taken.getsockname()[1])
    assert "another program listens on" in finding.detail
    assert "--port" in (finding.fix or "")


def test_little_memory_and_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.check_memory("2g", 8 << 30).fix is None
    assert "spark.driver-memory" in (doctor.check_memory("2g", 1 << 30).fix or "")
    monkeypatch.setattr(doctor, "_DISK", 1 << 60)
    assert "node.data-dir" in (doctor.check_disk(tmp_path / "not" / "yet").fix or "")


def test_an_unreachable_remote() -> None:
    finding = doctor.check_remote("Spark Connect", "sc://127.0.0.1:1")
    assert finding.fix is not None
    assert "127.0.0.1:1" in finding.detail
