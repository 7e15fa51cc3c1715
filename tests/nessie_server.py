"""A real Nessie for tests that have the time: its jar has 245 MB and wants Java 21 or later."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.maven import jar
from tests.ports import free_port

VERSION = "0.99.0"  # the newest whose server is in Maven Central
START_SECONDS = 200  # twelve on an idle machine


@contextmanager
def nessie_server(home: Path, warehouse: str, endpoint: str, key: str, secret: str) -> Iterator[str]:
    """The address of its Iceberg REST catalog, in memory; it signs requests to the store, whose keys it has alone."""
    file = jar("org.projectnessie.nessie", "nessie-quarkus", VERSION, "runner")
    ports = [str(free_port()) for _ in range(2)]
    store = "nessie.catalog.service.s3.default-options"
    settings = {
        "quarkus.http.port": ports[0],
        "quarkus.http.host": "127.0.0.1",
        "quarkus.management.port": ports[1],
        "nessie.version.store.type": "IN_MEMORY",
        "nessie.catalog.default-warehouse": "warehouse",
        "nessie.catalog.warehouses.warehouse.location": warehouse,
        f"{store}.endpoint": f"{endpoint}/",
        f"{store}.region": "us-east-1",
        f"{store}.path-style-access": "true",
        f"{store}.access-key": "urn:nessie-secret:quarkus:store",
        "store.name": key,
        "store.secret": secret,
    }
    given = [f"-D{name}={value}" for name, value in settings.items()]
    command = [java_of(21), "-Xmx512m", "-XX:+UseSerialGC", *given, "-jar", str(file)]
    with (home / "nessie.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=home)
    try:
        address = f"http://127.0.0.1:{ports[0]}/iceberg"
        _wait(process, address, home / "nessie.log")
        yield address
    finally:
        process.kill()
        process.wait()


def java_of(version: int) -> str:
    """A Java of this version or later: the one on PATH is often older."""
    homes = [Path(os.environ.get("JAVA_HOME", "/nowhere")), *Path("/usr/lib/jvm").glob("*")]
    for java in (home / "bin" / "java" for home in homes):
        if java.exists():
            told = subprocess.run([str(java), "-version"], check=False, capture_output=True, text=True, timeout=60)
            if (found := re.search(r'version "(\d+)', told.stderr)) and int(found[1]) >= version:
                return str(java)
    pytest.skip(f"no Java {version} or later")


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(f"{address}/v1/config", timeout=5).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"Nessie did not start: {log.read_text()[-2000:]}")
