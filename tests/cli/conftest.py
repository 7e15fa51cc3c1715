"""``procession`` as a child process, with its own configuration and data directory."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import warm
from tests.e2e.service import Service

ROOT = Path(__file__).parents[2]


def run_procession(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """One finished command; ``input`` and ``env`` as in subprocess.run."""
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "coordinator", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        check=False,
        **options,
    )


@pytest.fixture
def warm_procession(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same without the two seconds of imports, for commands that read no standard input."""
    return lambda *arguments: warm.run(arguments, tmp_path)


@pytest.fixture(scope="session")
def procession() -> Callable[..., subprocess.CompletedProcess[str]]:
    return run_procession


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    return write_etc(tmp_path / "etc")


def write_etc(directory: Path) -> Path:
    """A configuration that starts no Spark."""
    (directory / "catalog").mkdir(parents=True)
    (directory / "config.properties").write_text("spark.warm-up=false\nhttp-server.http.port=0\n")
    with (directory / "config.properties").open("a") as config:
        config.write("eager-plan-validation-thread-pool-size=1\n")  # each costs two seconds of a core
    (directory / "catalog" / "iceberg.properties").write_text("connector.name=iceberg\n")
    return directory


class Running:
    """A child that printed its address."""

    def __init__(self, *arguments: str, log: Path, cold: bool = False) -> None:
        self.process: subprocess.Popen[str] | warm.WarmProcess
        with log.open("w") as errors:
            self.process = warm.start_cold(arguments, errors) if cold else warm.start(arguments, errors.fileno())
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.url = line.split()[-1] if "listening on " in line else ""

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture
def running() -> Iterator[Callable[..., Running]]:
    """Starts children; those that the test has not ended, since it failed, end with it."""
    started: list[Running] = []

    def start(*arguments: str, log: Path, cold: bool = False) -> Running:
        started.append(Running(*arguments, log=log, cold=cold))
        assert started[-1].url, log.read_text()
        return started[-1]

    yield start
    for child in started:
        if child.process.poll() is None:
            child.end(signal.SIGTERM)


@pytest.fixture
def server(quiet_service: Service) -> str:
    """Address of a coordinator without Spark, with the catalogs ``iceberg`` and ``tpch``."""
    return quiet_service.url
