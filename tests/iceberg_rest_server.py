"""Iceberg's own REST catalog server for tests: the one that Iceberg's project tests clients with, over SQLite."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pyspark

from coordinator.engine.spark.java import find_java
from tests.maven import Artifact, jars
from tests.ports import free_port

ICEBERG, JETTY = "1.11.0", "12.1.8"
_ICEBERG = "org.apache.iceberg"
_JETTY = ("http", "io", "security", "server", "session", "util")
NEEDED = (
    Artifact(_ICEBERG, "iceberg-open-api", ICEBERG, "test-fixtures"),
    Artifact(_ICEBERG, "iceberg-core", ICEBERG, "tests"),
    *(Artifact(_ICEBERG, f"iceberg-{n}", ICEBERG) for n in ("core", "api", "common", "bundled-guava", "aws")),
    Artifact(_ICEBERG, "iceberg-aws-bundle", ICEBERG),
    *(Artifact("org.eclipse.jetty", f"jetty-{name}", JETTY) for name in _JETTY),
    *(Artifact("org.eclipse.jetty.compression", f"jetty-compression-{n}", JETTY) for n in ("common", "gzip", "server")),
    Artifact("org.eclipse.jetty.ee10", "jetty-ee10-servlet", JETTY),
    Artifact("org.apache.httpcomponents.core5", "httpcore5", "5.4"),
    Artifact("org.apache.httpcomponents.client5", "httpclient5", "5.6.1"),
    Artifact("dev.failsafe", "failsafe", "3.3.2"),
    Artifact("jakarta.servlet", "jakarta.servlet-api", "6.0.0"),
    Artifact("com.github.ben-manes.caffeine", "caffeine", "2.9.3"),
    Artifact("org.xerial", "sqlite-jdbc", "3.50.3.0"),
)
OF_SPARK = ("jackson-annotations-2", "jackson-core-2", "jackson-databind-2", "avro-1", "hadoop-client-api",
            "hadoop-client-runtime", "slf4j-api", "jcl-over-slf4j")  # fmt: skip
"""How the names begin of what pyspark brings already."""
JVM = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
START_SECONDS = 120  # two on an idle machine


@contextmanager
def iceberg_rest_server(home: Path, warehouse: str, properties: Mapping[str, str]) -> Iterator[str]:
    """Its address, once it answers; ended by its process id. ``properties`` are of its own catalog and FileIO.

    With ``include-credentials`` it lends the keys among them with every table.
    """
    own = Path(pyspark.__file__).parent / "jars"
    brought = [next(own.glob(f"{name}*.jar")) for name in OF_SPARK]
    path = os.pathsep.join(str(file) for file in [*jars(NEEDED), *brought])
    port = free_port()
    # One connection: SQLite has one writer, and says so to the others by an error that this server passes on as 500.
    given = {"uri": f"jdbc:sqlite:{home}/catalog.db", "clients": "1", "warehouse": warehouse, **properties}
    environment = {_variable(k): v for k, v in {**given, "rest.port": str(port)}.items()}
    command = [str(find_java(os.environ).executable), *JVM, "-cp", path, f"{_ICEBERG}.rest.RESTCatalogServer"]
    with (home / "server.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | environment)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(process, address, home / "server.log")
        yield address
    finally:
        process.kill()
        process.wait()


def _variable(name: str) -> str:
    """The server reads its properties from the environment: ``io-impl`` is CATALOG_IO__IMPL."""
    return "CATALOG_" + name.replace("-", "__").replace(".", "_").upper()


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(f"{address}/v1/config", timeout=5).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"Iceberg's REST server did not start: {log.read_text()[-2000:]}")
