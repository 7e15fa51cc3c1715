"""A standalone Spark cluster on this machine: a master and workers from pyspark's own jars."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from coordinator.engine.spark.java import find_java
from coordinator.engine.spark.server import pyspark_home
from tests.deploy.parts import free_ports, wait_for

_OPENS = ("java.lang", "java.nio", "java.util", "java.net", "java.lang.invoke", "java.util.concurrent")
_SMALL = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


@dataclass
class Cluster:
    """A running master with its workers; ``secret`` is what Spark's own connections are authenticated with."""

    home: Path
    master: str
    secret: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def processes(self, worker: int) -> list[int]:
        """Of the executors of a worker, with their Python processes."""
        return _inside(self.home / f"work{worker}")

    def kill(self, worker: int) -> None:
        """The machine of a worker is lost: the worker, its executors and their Python processes, all at once."""
        self.workers[worker].kill()
        for process in self.processes(worker):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.workers[worker].wait()

    def start_worker(self, number: int) -> None:
        arguments = ["--cores", "1", "--memory", "600M", "--work-dir", str(self.home / f"work{number}")]
        self.workers[number:] = [self._started(f"worker{number}", "worker.Worker", [*arguments, self.master])]

    def start_master(self, port: int) -> subprocess.Popen[bytes]:
        return self._started("master", "master.Master", ["--port", str(port)])

    def _started(self, name: str, main: str, arguments: list[str]) -> subprocess.Popen[bytes]:
        java, home = find_java(os.environ), pyspark_home()
        opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENS]
        common = ["--host", "127.0.0.1", "--webui-port", "0", "--properties-file", str(self.home / "cluster.conf")]
        command = [str(java.executable), *_SMALL, *opens, "-cp", f"{home}/jars/*"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
        with (self.home / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*command, f"org.apache.spark.deploy.{main}", *common, *arguments],
                stdout=log,
                stderr=log,
                cwd=self.home,
                env=environment
                | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"},
                start_new_session=True,
            )


@contextmanager
def standalone_cluster(home: Path, secret: str, workers: int = 2) -> Iterator[Cluster]:
    """A cluster whose workers are registered; nothing of it is left afterwards."""
    (port,) = free_ports(1)
    conf = home / "cluster.conf"
    conf.touch(mode=0o600)
    conf.write_text(
        f"spark.authenticate true\nspark.authenticate.secret {secret}\nspark.worker.timeout 5\nspark.ui.enabled false\n"
    )
    cluster = Cluster(home, f"spark://127.0.0.1:{port}", secret)
    master = cluster.start_master(port)
    try:
        wait_for(port, master, home / "master.log")
        for number in range(workers):
            cluster.start_worker(number)
        _await_workers(cluster, workers)
        yield cluster
    finally:
        for process in [*cluster.workers, master]:
            process.terminate()
        for process in [*cluster.workers, master]:
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _await_workers(cluster: Cluster, workers: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        log = (cluster.home / "master.log").read_text()
        if len(re.findall("Registering worker", log)) >= workers:
            return
        time.sleep(0.1)
    raise AssertionError((cluster.home / "master.log").read_text())


def _inside(place: Path) -> list[int]:
    """Processes whose working directory is below ``place``."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - asked a hundred times a second
        with suppress(OSError):
            if os.readlink(f"/proc/{name}/cwd").startswith(f"{place}/"):  # noqa: PTH115
                found.append(int(name))
    return found
