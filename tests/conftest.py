"""What tests of several rooms share: one embedded Spark server a session, and a look at who is still running."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest

ProcessesOf = Callable[[Path], list[int]]


def _processes_of(path: Path) -> list[int]:
    """Ids of living processes whose command line or environment names ``path``, without this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if (entry / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z":
                continue
            text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            if str(path).encode() in text:
                found.append(int(entry.name))
    return found


@pytest.fixture(scope="session")
def processes_of() -> ProcessesOf:
    """Living processes that belong to a directory."""
    return _processes_of


@pytest.fixture(scope="session")
def gone_within() -> Callable[[Path, float], list[int]]:
    """Wait until no process belongs to a directory; those that are left after so many seconds."""

    def wait(path: Path, seconds: float) -> list[int]:
        deadline = time.monotonic() + seconds
        while (left := _processes_of(path)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    return wait


@pytest.fixture(scope="session")
def spark_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A SparkEngine over an embedded server without catalogs, stopped at the end of the session."""
    from coordinator.engine.spark.engine import SparkEngine
    from coordinator.engine.spark.settings import SparkSettings

    engine = SparkEngine(SparkSettings(tmp_path_factory.mktemp("spark-engine"), driver_memory="1g"), {})
    yield engine
    engine.stop()


@pytest.fixture(scope="session")
def jdbc_jar() -> Path:
    """presto-jdbc from Maven, resolved by the Ivy that pyspark brings; kept in the user's cache."""
    if shutil.which("javac") is None:
        pytest.skip("no JDK: javac is not on PATH")
    cache = Path.home() / ".cache" / "procession" / "jars"
    jar = cache / "presto-jdbc-0.296.jar"
    if not jar.exists():
        ivy = next(Path(pyspark.__file__).parent.joinpath("jars").glob("ivy-*.jar"))
        command = ["java", "-jar", str(ivy), "-dependency", "com.facebook.presto", "presto-jdbc", "0.296"]
        target = f"{cache}/[artifact]-[revision].[ext]"
        options = ["-notransitive", "-retrieve", target, "-cache", str(cache / "ivy"), "-types", "jar", "-warn"]
        subprocess.run([*command, *options], check=True, timeout=240, capture_output=True)
    return jar
