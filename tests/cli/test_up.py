"""Start and end of ``procession up``: clear lines when it cannot start, no process left when it ends."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("command", ["up", "coordinator"])
def test_a_busy_port_is_one_line(warm_procession: Any, etc: Path, tmp_path: Path, command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        data = tmp_path / "data"
        done = warm_procession(command, "--etc", str(etc), "--port", str(port), "--data-dir", str(data))
    assert done.returncode == 2
    assert done.stderr == f"procession: cannot listen on 127.0.0.1:{port}: the port is in use\n"
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("config.properties", "# x\nquery.max-lenght=3\n", "config.properties:2: unknown property 'query.max-lenght'"),
        ("config.properties", "query.max-length=many\n", "config.properties:1: invalid value 'many'"),
        ("config.properties", "no entry\x00\n", "config.properties:1:"),
        ("catalog/lake.properties", "connector.name=nope\n", "lake.properties:1: no connector is named 'nope'"),
        ("catalog/lake.properties", "connector.name=iceberg\nx.y=1\n", "lake.properties:2: unknown property 'x.y'"),
        ("plan-checker-providers/a.properties", "plan-checker-provider.name=nope\n", "a.properties:1:"),
    ],
)
def test_a_wrong_file_is_one_line_with_its_place(
    warm_procession: Any, etc: Path, tmp_path: Path, file: str, text: str, message: str
) -> None:
    (etc / file).parent.mkdir(exist_ok=True)
    (etc / file).write_text(text)
    done = warm_procession("coordinator", "--etc", str(etc), "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_a_missing_directory_is_one_line(warm_procession: Any, tmp_path: Path) -> None:
    done = warm_procession("up", "--etc", str(tmp_path / "nope"))
    told = f"procession: {tmp_path / 'nope'}: no such configuration directory; name another with --etc DIR\n"
    assert (done.returncode, done.stderr) == (2, told)


@pytest.mark.full("tests/services.py ends its services by SIGINT and asks the same; SIGTERM ends the last one below")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(
    running: Any,
    etc: Path,
    tmp_path: Path,
    number: int,
    processes_of: Callable[[Path], list[int]],
    gone_within: Callable[[Path, float], list[int]],
) -> None:
    (etc / "plan-checker-providers").mkdir()
    (etc / "plan-checker-providers" / "native.properties").write_text("plan-checker-provider.name=native\n")
    log = tmp_path / "log"
    child = running("up", "--etc", str(etc), "--data-dir", str(tmp_path / "data"), log=log, cold=True)
    assert httpx.get(f"{child.url}/v1/info", timeout=60).json()["coordinator"] is True
    assert processes_of(tmp_path)
    family = descendants(child.process.pid)
    assert len(family) >= 4, "planners, sidecar guard, sidecar, its workers"
    assert child.end(number) == 0, log.read_text()
    assert gone_within(tmp_path, 60) == []
    assert not [pid for pid in family if Path(f"/proc/{pid}").exists()]
    assert "Traceback" not in log.read_text()


def test_a_running_statement_does_not_spoil_a_clean_end(running: Any, etc: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = running("coordinator", "--etc", str(etc), "--data-dir", str(tmp_path / "data"), log=log)
    numbers = "UNNEST(sequence(1, 10000))"
    sql = f"SELECT count(*) FROM {numbers} AS a (x), {numbers} AS b (y), {numbers} AS c (z) WHERE x * y * z = 7"
    answer = httpx.post(
        f"{child.url}/v1/statement", content=sql, headers={"X-Presto-User": "tester"}, timeout=60
    ).json()
    deadline = time.monotonic() + 60
    while answer["stats"]["state"] not in ("STARTING", "RUNNING"):
        assert time.monotonic() < deadline and "nextUri" in answer, answer
        answer = httpx.get(answer["nextUri"], timeout=60).json()
    assert child.end(signal.SIGINT) == 0, log.read_text()


def test_sigkill_leaves_nothing(running: Any, etc: Path, tmp_path: Path, gone_within: Any) -> None:
    child = running("up", "--etc", str(etc), "--data-dir", str(tmp_path / "data"), log=tmp_path / "log")
    family = descendants(child.process.pid)
    assert child.end(signal.SIGKILL) == -signal.SIGKILL
    assert gone_within(tmp_path, 60) == []
    deadline = time.monotonic() + 60
    while (left := [pid for pid in family if alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []


def test_a_given_sidecar_is_used_and_left_running(running: Any, etc: Path, tmp_path: Path) -> None:
    (etc / "plan-checker-providers").mkdir()
    (etc / "plan-checker-providers" / "native.properties").write_text("plan-checker-provider.name=native\n")
    sidecar = running("sidecar", "--port", "0", log=tmp_path / "sidecar.log")
    child = running(
        "up", "--etc", str(etc), "--data-dir", str(tmp_path / "data"), "--sidecar", sidecar.url, log=tmp_path / "log"
    )
    assert not (tmp_path / "data" / "logs" / "sidecar.log").exists(), "none of its own"
    assert child.end(signal.SIGTERM) == 0
    assert httpx.get(f"{sidecar.url}/v1/info", timeout=60).is_success
    sidecar.end(signal.SIGTERM)


def descendants(pid: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
            except OSError:
                continue
    family = {pid}
    while new := {child for child, parent in parents.items() if parent in family} - family:
        family |= new
    return sorted(family - {pid})


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False
