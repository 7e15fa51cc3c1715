"""``procession doctor`` names what is missing and the fix."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli import doctor


def test_a_good_machine(etc: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    # Whether this machine has fetched the jars already, and what other tests take of it, must not decide the test.
    monkeypatch.setattr(doctor, "missing_jars", lambda _packages, _cache: [])
    monkeypatch.setattr(doctor, "available_memory", lambda: 64 << 30)
    code = doctor.doctor(etc, data_dir=tmp_path / "data")
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert printed.endswith("nothing is missing\n")
    for name in ("python", "velox", "configuration", "java", "spark", "exposure", "port", "disk", "memory"):
        assert f"ok      {name}" in printed


def test_a_wrong_line_is_named(etc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (etc / "catalog" / "lake.properties").write_text("connector.name=iceberg\nwarehouse=x\n")
    finding, config = doctor.check_configuration(etc)
    assert config is None
    assert "lake.properties:2: unknown property 'warehouse'" in finding.detail
    assert finding.fix is not None
    assert "correct line 2" in finding.fix


def exposure(etc: Path, text: str) -> doctor.Finding:
    (etc / "config.properties").write_text(text)
    _, config = doctor.check_configuration(etc)
    assert config is not None
    return doctor.check_exposed(config)


def test_who_may_come_in(etc: Path) -> None:
    kept = exposure(etc, "http-server.http.port=0\n")
    assert (kept.detail, kept.fix) == ("127.0.0.1, this machine only", None)
    opened = exposure(etc, "http-server.http.host=0.0.0.0\n")
    assert opened.detail == "0.0.0.0 lets everybody in: this server does not authenticate, so that it does not start"
    assert opened.fix is not None
    allow = "http-server.authentication.allow-unauthenticated=true\n"
    assert "and is allowed to" in exposure(etc, "http-server.http.host=0.0.0.0\n" + allow).detail


def test_files_with_secrets_are_for_their_owner(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_PASSWORD", "x")
    catalog, passwords = etc / "catalog" / "pg.properties", etc / "passwords"
    head = "connector.name=postgresql\nconnection-url=jdbc:postgresql://h/d\nconnection-user=u\nconnection-password"
    catalog.write_text(head + "=${ENV:LAKE_PASSWORD}\n")
    catalog.chmod(0o644)
    passwords.write_text("")
    passwords.chmod(0o640)
    (etc / "password-authenticator.properties").write_text(
        "password-authenticator.name=file\nfile.password-file=passwords\n"
    )
    text = "http-server.authentication.type=PASSWORD\n"
    assert exposure(etc, text).fix == f"chmod 600 {passwords}"
    passwords.chmod(0o600)
    assert exposure(etc, text).detail == "127.0.0.1, authenticated by PASSWORD"
    catalog.write_text(head + "=hunter2\n")
    assert exposure(etc, text).fix == f"chmod 600 {catalog}"


def test_authentication_that_cannot_work_is_named(etc: Path) -> None:
    (etc / "config.properties").write_text("http-server.authentication.type=JWT\n")
    finding, config = doctor.check_configuration(etc)
    assert config is None
    assert "needs http-server.authentication.jwt.key-file" in finding.detail


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
    assert doctor.check_memory(2 << 30, 8 << 30).fix is None
    assert "spark.driver-memory" in (doctor.check_memory(2 << 30, 1 << 30).fix or "")
    monkeypatch.setattr(doctor, "_DISK", 1 << 60)
    assert "node.data-dir" in (doctor.check_disk(tmp_path / "not" / "yet").fix or "")


def test_an_unreachable_remote() -> None:
    finding = doctor.check_remote("Spark Connect", "sc://127.0.0.1:1")
    assert finding.fix is not None
    assert "127.0.0.1:1" in finding.detail
