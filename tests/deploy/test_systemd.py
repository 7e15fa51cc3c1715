"""The units for systemd: systemd takes them, they let nothing be had that they do not need, their commands run."""

from __future__ import annotations

import configparser
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.deploy.parts import free_ports

DEPLOY = Path(__file__).parents[2] / "deploy" / "systemd"
UNITS = ("procession-coordinator.service", "procession-sidecar.service")
PROGRAM = Path(sys.executable).with_name("procession")


def commands(unit: str) -> list[str]:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(DEPLOY / unit)
    return shlex.split(parser["Service"]["ExecStart"])


def as_installed_here(folder: Path) -> None:
    """The units with the program of this environment and a user that is there."""
    for unit in UNITS:
        text = (DEPLOY / unit).read_text()
        text = text.replace("/opt/procession/bin/procession", str(PROGRAM)).replace("User=procession", "User=daemon")
        (folder / unit).write_text(text)


def systemd(folder: Path, *arguments: str) -> str:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze")
    done = subprocess.run(
        ["systemd-analyze", *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    return told


def test_systemd_takes_the_units_without_a_word(tmp_path: Path) -> None:
    as_installed_here(tmp_path)
    assert systemd(tmp_path, "verify", "--man=no", *(f"./{unit}" for unit in UNITS)) == ""


@pytest.mark.parametrize("unit", UNITS)
def test_exposure_is_low(tmp_path: Path, unit: str) -> None:
    """By systemd's own measure, where 10 is a program that may do everything; 4 is the most that passes."""
    as_installed_here(tmp_path)
    assert "exposure level" in systemd(
        tmp_path, "security", "--offline=yes", "--no-pager", "--threshold=40", f"./{unit}"
    )


def test_the_coordinator_finds_the_sidecar_where_it_listens() -> None:
    asking, serving = (commands(unit) for unit in UNITS)
    address = f"http://{serving[serving.index('--host') + 1]}:{serving[serving.index('--port') + 1]}"
    assert asking[asking.index("--sidecar") + 1] == address


@pytest.mark.slow
@pytest.mark.full("the commands' options: tests/cli")
def test_the_commands_run_and_end_by_the_signal_of_systemd(tmp_path: Path) -> None:
    """With the few variables that systemd gives, and nothing of this shell."""
    sidecar, coordinator = free_ports(2)
    changed = {"7778": str(sidecar), "http://127.0.0.1:7778": f"http://127.0.0.1:{sidecar}"}
    changed |= {"/etc/procession": str(tmp_path / "etc"), "/var/lib/procession": str(tmp_path / "data")}
    changed |= {"/opt/procession/bin/procession": str(PROGRAM)}
    shutil.copytree(Path(__file__).parents[2] / "etc", tmp_path / "etc")
    config = tmp_path / "etc" / "config.properties"
    settings = config.read_text().replace("port=8080", f"port={coordinator}").replace("warm-up=true", "warm-up=false")
    config.write_text(settings + "\nshutdown.drain-on-sigterm=true\nshutdown.grace-period=1s\n")
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    log = (tmp_path / "log").open("w")
    running = []
    try:
        for unit, port in ((UNITS[1], sidecar), (UNITS[0], coordinator)):
            command = [changed.get(word, word) for word in commands(unit)]
            running.append(subprocess.Popen(command, env=environment, cwd="/", stdout=log, stderr=log))
            wait_until_it_answers(port, tmp_path / "log")
        said = httpx.post(
            f"http://127.0.0.1:{coordinator}/v1/validate",
            content="SELECT 1",
            headers={"X-Presto-User": "unit"},
            timeout=60,
        )
        assert said.json()["ok"], (tmp_path / "log").read_text()
    finally:
        for process in reversed(running):
            process.terminate()
        log.close()
        codes = [ended(process) for process in running]
    assert set(codes) <= {0, -15, 143}, (codes, (tmp_path / "log").read_text())


def ended(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def wait_until_it_answers(port: int, log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/v1/info", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
