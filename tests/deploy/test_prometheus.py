"""A real Prometheus reads a real service: rules load, and queries of the dashboard and of the alerts are answered."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.debian import need
from tests.deploy.parts import free_ports
from tests.e2e.service import Service
from tests.telemetry.test_dashboards import dashboard_queries, rules

pytestmark = [pytest.mark.slow, pytest.mark.full("names and labels of metrics: tests/telemetry/test_dashboards.py")]
DEPLOY = Path(__file__).parents[2] / "deploy"
MAY_BE_EMPTY = {
    "procession_spark": "no Spark runs",
    "procession_fetch": "nothing was read late",
    "procession_maintenance": "the maintenance service is off",
    "procession_rule_file_wrong": "no files of rules",
    "procession_data_cache": "nothing was cached",
    "procession_native_check_breaker": "no breaker is open",
}
"""Beginnings of metrics whose queries may have no answer over this service, and why."""


class Server:
    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=60)

    def close(self) -> None:
        self._client.close()

    def get(self, path: str, **parameters: str) -> dict[str, Any]:
        answer = self._client.get(path, params=parameters)
        told: dict[str, Any] = answer.json()
        assert told["status"] == "success", (parameters, told)
        return dict(told["data"])

    def query(self, expression: str) -> list[dict[str, Any]]:
        return list(self.get("/api/v1/query", query=expression)["result"])


@pytest.fixture(scope="module")
def prometheus(quiet_service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    need("Prometheus", lambda: shutil.which("prometheus") is not None, "prometheus")
    home = tmp_path_factory.mktemp("prometheus")
    config = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    config = config.replace("127.0.0.1:8080", quiet_service.url.removeprefix("http://"))
    (home / "prometheus.yml").write_text(config.replace("scrape_interval: 15s", "scrape_interval: 1s"))
    shutil.copy(DEPLOY / "prometheus" / "alerts.yml", home)
    (port,) = free_ports(1)
    options = [f"--config.file={home}/prometheus.yml", f"--storage.tsdb.path={home}/data"]
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            ["prometheus", *options, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log
        )
    server = Server(f"http://127.0.0.1:{port}")
    try:
        quiet_service.execute("SELECT 1")
        with pytest.raises(Exception, match="mismatched"):
            quiet_service.execute("SELEC 1")
        _wait_for_samples(server, home / "log")
        yield server
    finally:
        server.close()
        process.terminate()
        process.wait(60)


def _wait_for_samples(server: Server, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if server.query("count_over_time(up[1m]) >= 4"):
                return
        except httpx.TransportError:
            pass
        time.sleep(0.3)
    raise AssertionError(log.read_text())


def test_the_files_pass_its_own_checks() -> None:
    need("promtool", lambda: shutil.which("promtool") is not None, "prometheus")
    folder = DEPLOY / "prometheus"
    for command in (["check", "rules", "alerts.yml"], ["check", "config", "prometheus.yml"]):
        done = subprocess.run(
            ["promtool", *command], cwd=folder, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_metrics_pass_its_own_checks(quiet_service: Service) -> None:
    """Of names that are ours; those that others chose end in `_Count` and the like, which its linter does not like."""
    need("promtool", lambda: shutil.which("promtool") is not None, "prometheus")
    text = httpx.get(f"{quiet_service.url}/metrics", timeout=60).content
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=60, check=False)
    problems = [line for line in done.stderr.decode().splitlines() if line.startswith("procession_") or "error" in line]
    assert problems == []


def test_the_service_is_scraped_and_rules_are_evaluated(prometheus: Server) -> None:
    (target,) = prometheus.get("/api/v1/targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")
    deadline = time.monotonic() + 90
    while any(rule["health"] == "unknown" for rule in evaluated(prometheus)) and time.monotonic() < deadline:
        time.sleep(1)
    found = evaluated(prometheus)
    assert {rule["name"]: rule["health"] for rule in found} == {rule["alert"]: "ok" for rule in rules()}
    assert [rule["name"] for rule in found if rule["state"] == "firing"] == []


def evaluated(prometheus: Server) -> list[dict[str, Any]]:
    return [rule for group in prometheus.get("/api/v1/rules")["groups"] for rule in group["rules"]]


def test_queries_of_the_dashboard_have_answers(prometheus: Server) -> None:
    empty = []
    for query in dashboard_queries():
        asked = query.replace("$__rate_interval", "30s").replace("$job", "procession")
        asked = re.sub(r"\$\w+", ".*", asked)
        if not prometheus.query(asked) and not any(name in query for name in MAY_BE_EMPTY):
            empty.append(asked)
    assert empty == [], json.dumps(empty, indent=1)
