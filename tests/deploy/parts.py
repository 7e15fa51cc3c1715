"""The parts of docker-compose.yml as processes of this machine: same commands, same files, other addresses."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg2
import yaml

from coordinator.engine.spark.java import find_java
from coordinator.engine.spark.settings import default_jar_cache
from tests.ports import free_port
from tests.postgres import postgres_server

ROOT = Path(__file__).parents[2]
START_SECONDS = 240
PASSWORD = "p@ss:w/rd%2F?#"  # what an address must not be cut at


@dataclass(frozen=True)
class Deployment:
    """Addresses of the running parts; ``environment`` is what docker/demo.env gives the coordinator."""

    coordinator: str
    s3: str
    catalog: str
    environment: Mapping[str, str]

    def log(self, part: str) -> str:
        return (Path(self.environment["LOGS"]) / f"{part}.log").read_text()


@contextmanager
def deployment(home: Path) -> Iterator[Deployment]:
    """All five parts, each once it answers; all are gone afterwards."""
    ports = dict(zip(("s3", "spark", "sidecar", "coordinator"), free_ports(4), strict=True))
    environment = demo_environment() | {"S3_ENDPOINT": f"http://127.0.0.1:{ports['s3']}", "LOGS": str(home)}
    environment |= {"CATALOG_PASSWORD": PASSWORD, "POSTGRES_PASSWORD": PASSWORD}
    with ExitStack() as stack:
        database = stack.enter_context(postgres_server())
        catalog = make_catalog_database(database, environment)

        def part(name: str, command: Sequence[str | Path], extra: Mapping[str, str] | None = None) -> None:
            child = stack.enter_context(process(name, command, environment | (extra or {}), home))
            wait_for(ports[name], child, home / f"{name}.log")

        part("s3", [sys.executable, ROOT / "docker/s3_store.py", *s3_arguments(ports["s3"])])
        part("spark", ["bash", ROOT / "docker/start-spark-connect.sh", *spark_arguments(home, ports["spark"])], spark())
        part("sidecar", [sys.executable, "-m", "sidecar", "--host", "127.0.0.1", "--port", str(ports["sidecar"])])
        etc = write_etc(home / "etc", ports, catalog, home / "data")
        part("coordinator", [sys.executable, "-m", "coordinator", "coordinator", "--etc", etc])
        url = f"http://127.0.0.1:{ports['coordinator']}"
        httpx.get(f"{url}/v1/info", timeout=START_SECONDS).raise_for_status()
        yield Deployment(url, environment["S3_ENDPOINT"], catalog, environment)


def free_ports(count: int) -> list[int]:
    return [free_port() for _ in range(count)]


def demo_environment() -> dict[str, str]:
    lines = (ROOT / "docker/demo.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def make_catalog_database(server: str, environment: Mapping[str, str]) -> str:
    """The role and database that the postgres image makes; returns ``host:port/database``."""
    connection = psycopg2.connect(server)
    connection.autocommit = True
    user, password, name = (environment[f"POSTGRES_{part}"] for part in ("USER", "PASSWORD", "DB"))
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{password}'")
        cursor.execute(f"CREATE DATABASE {name} OWNER {user}")
    connection.close()
    return f"{server.split('@')[1].rpartition('/')[0]}/{name}"


def s3_arguments(port: int) -> list[str]:
    text = (ROOT / "docker/s3.Dockerfile").read_text()
    command = yaml.safe_load(next(line for line in text.splitlines() if line.startswith("CMD "))[4:])
    command[command.index("--port") + 1] = str(port)
    return [*command, "--host", "127.0.0.1"]


def spark_arguments(home: Path, port: int) -> list[str]:
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.jars.ivy": str(default_jar_cache() / "ivy-compose"),
        "spark.local.dir": str(home / "spark"),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    return [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]


def spark() -> dict[str, str]:
    java = find_java(os.environ)
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "JAVA_HOME": str(java.executable.resolve().parents[1]),
        "SPARK_DRIVER_MEMORY": "1g",
        "PYSPARK_PYTHON": sys.executable,
    }


def write_etc(etc: Path, ports: Mapping[str, int], catalog: str, data: Path) -> Path:
    """docker/etc with the addresses of this machine."""
    shutil.copytree(ROOT / "docker/etc", etc)
    changes = {
        "config.properties": {
            "http-server.http.host=0.0.0.0": "http-server.http.host=127.0.0.1",
            "http-server.http.port=8080": f"http-server.http.port={ports['coordinator']}",
            "http://sidecar:7778": f"http://127.0.0.1:{ports['sidecar']}",
            "sc://spark:15002": f"sc://127.0.0.1:{ports['spark']}",
        },
        "node.properties": {"/var/lib/procession": str(data)},
        "catalog/iceberg.properties": {"postgres:5432/catalog": catalog},
    }
    for name, words in changes.items():
        text = (etc / name).read_text()
        for old, new in words.items():
            assert old in text, f"{name} no longer says {old}"
            text = text.replace(old, new)
        (etc / name).write_text(text)
    # The store answers as Glue too.
    (etc / "catalog" / "glued.properties").write_text(
        "connector.name=iceberg\niceberg.catalog.type=glue\niceberg.catalog.warehouse=s3://warehouse/glued\n"
        "glue.endpoint=${ENV:S3_ENDPOINT}\ns3.endpoint=${ENV:S3_ENDPOINT}\nclient.region=us-east-1\n"
    )
    return etc


@contextmanager
def process(
    name: str, command: Sequence[str | Path], environment: Mapping[str, str], home: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A child in a process group of its own, which gets SIGTERM and, a while later, SIGKILL."""
    with (home / f"{name}.log").open("wb") as log:
        child = subprocess.Popen(
            command, stdout=log, stderr=log, cwd=ROOT, env=os.environ | environment, start_new_session=True
        )
    try:
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def wait_for(port: int, child: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and child.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 2).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError(log.read_text())
