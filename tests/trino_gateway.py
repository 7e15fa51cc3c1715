"""A real Trino Gateway for tests that have the time: its jar has 100 MB and wants Java 25 or later."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import yaml

from tests.deploy.parts import free_ports
from tests.maven import jar
from tests.nessie_server import java_of

VERSION = "21"
START_SECONDS = 120  # eight on an idle machine
EXAMPLE = Path(__file__).parents[1] / "etc" / "gateway" / "trino-gateway.yaml"


@contextmanager
def trino_gateway(home: Path, database: str, procession: str, backends: Mapping[str, str]) -> Iterator[str]:
    """Its address, configured by the file that we ship; all backends are of the routing group ``lake``."""
    file = jar("io.trino.gateway", "gateway-ha", VERSION, "jar-with-dependencies")
    (port,) = free_ports(1)
    user, _, server = database.removeprefix("postgresql://").partition("@")
    name, _, password = user.partition(":")
    settings = yaml.safe_load(EXAMPLE.read_text().replace("http://procession:8080", procession))
    settings |= {
        "serverConfig": {"node.environment": "test", "http-server.http.port": port},
        "monitor": {"taskDelay": "1s"},
        "dataStore": {
            "jdbcUrl": f"jdbc:postgresql://{server}",
            "user": name,
            "password": password or "none",
            "driver": "org.postgresql.Driver",
        },
    }
    (home / "gateway.yaml").write_text(yaml.safe_dump(settings))
    command = [java_of(25), "-Xmx512m", "-XX:+UseSerialGC", "-jar", str(file), str(home / "gateway.yaml")]
    log = home / "gateway.log"
    with log.open("w") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=sink, cwd=home)
    address = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=address, timeout=60) as client:
            _wait(process, log, lambda: client.get("/trino-gateway/livez").status_code == 200)
            for backend, url in backends.items():
                entity = {"name": backend, "proxyTo": url, "externalUrl": url, "active": True, "routingGroup": "lake"}
                client.post("/entity?entityType=GATEWAY_BACKEND", json=entity).raise_for_status()
            _wait(
                process, log, lambda: all(f"backend {each} isHealthy HEALTHY" in log.read_text() for each in backends)
            )
        yield address
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], log: Path, done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if done():
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"Trino Gateway did not start: {log.read_text()[-2000:]}")
