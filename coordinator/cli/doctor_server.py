"""``procession doctor --server``: what is wrong with a service that runs, each with the fix."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from importlib.metadata import version

import httpx
from prometheus_client.parser import text_string_to_metric_families

from coordinator.cli.client import (
    ClientSession,
    ServerUnreachableError,
    StatementClient,
    StatementError,
)
from coordinator.cli.doctor import Finding
from coordinator.cli.login import Login
from coordinator.cli.tls import StoreError, client_context
from coordinator.engine.spark.named_writes import LEAVES_FILES
from shared.protocol import headers as names
from shared.protocol.headers import header_name

_SECONDS = 10.0
_SLOW = 2.0
_SKEW = 30.0
_MANY_WAIT = 100
Samples = Mapping[str, list[tuple[Mapping[str, str], float]]]


@dataclass(frozen=True, slots=True)
class Asked:
    """How the service is asked."""

    server: str
    user: str
    login: Login


def examine_server(server: str, user: str, login: Login) -> Iterator[Finding]:
    """Every finding; what needs an answer is left out when there is none."""
    asked = Asked(server.rstrip("/") if "://" in server else f"http://{server.rstrip('/')}", user, login)
    if login.is_secret and not asked.server.startswith("https://"):
        yield Finding("server", f"{asked.server} is not https", "passwords and tokens are sent over https only")
        return
    headers = {header_name("Presto", names.USER): user, **login.headers(user)}
    try:
        client = httpx.Client(timeout=_SECONDS, verify=client_context(login.trusted), headers=headers)
    except StoreError as error:
        yield Finding("server", str(error), "name a PEM file with --truststore-path")
        return
    with client:
        try:
            info = client.get(f"{asked.server}/v1/info")
            about = info.raise_for_status().json()
            version = about["nodeVersion"]["version"]
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
            fix = "start it (procession up), or correct --server; see its log if it should run"
            yield Finding("server", f"{asked.server} does not answer as Procession does: {error}", fix)
            return
        yield _version(asked.server, version, about.get("uptime", ""))
        yield from _clock(info)
        yield from _state(client, asked.server)
        yield from _engines(client, asked.server)
        yield from _metrics(client, asked.server)
    yield _statement(asked)


def _version(server: str, node_version: str, uptime: str) -> Finding:
    mine, detail = version("procession"), f"{server}, version {node_version}, up for {uptime}"
    if node_version == mine:
        return Finding("server", detail)
    return Finding("server", f"{detail}; this command is of {mine}", "upgrade the older one, or use its own command")


def _clock(answer: httpx.Response) -> Iterator[Finding]:
    date = answer.headers.get("date")
    if date is not None:
        skew = abs(parsedate_to_datetime(date).timestamp() - time.time())
        fix = None if skew < _SKEW else "set the clocks (NTP): tokens and certificates are refused by wrong ones"
        yield Finding("clock", f"{skew:.0f} s from this machine's", fix)


def _state(client: httpx.Client, server: str) -> Iterator[Finding]:
    try:
        state = client.get(f"{server}/v1/info/state").raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        yield Finding("state", str(error), "see the log of the service")
        return
    fix = None if state == "ACTIVE" else "it takes no statements: wait until it has ended, and start it again"
    yield Finding("state", str(state), fix)


def _engines(client: httpx.Client, server: str) -> Iterator[Finding]:
    try:
        status: dict[str, object] = client.get(f"{server}/v1/status").raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        yield Finding("status", str(error), "see the log of the service")
        return
    spark = status.get("spark")
    if isinstance(spark, dict):
        detail = f"{spark.get('state')}, {spark.get('restarts')} restarts, given up {spark.get('givenUp')} times"
        if spark.get("state") == "DOWN" or (spark.get("problem") and spark.get("state") != "UP"):
            fix = "see spark/logs/spark.log in its data directory; after OutOfMemoryError raise spark.driver-memory"
            yield Finding("spark", f"{detail}: {spark.get('problem')}", fix)
        else:
            yield Finding("spark", detail)
        if spark.get("failedWritesLeaveFiles") is True:
            yield Finding(
                "spark's jar", LEAVES_FILES, "add procession-writes.jar to its class path (docs/operations.md)"
            )


def _metrics(client: httpx.Client, server: str) -> Iterator[Finding]:
    try:
        answer = client.get(f"{server}/metrics")
    except httpx.HTTPError as error:
        yield Finding("metrics", str(error), "see the log of the service")
        return
    if answer.status_code in (401, 403):
        fix = "log in (--user with --password or --access-token) as one who may read system information"
        yield Finding("metrics", f"HTTP {answer.status_code}: {answer.text.strip()[:200]}", fix)
        return
    samples: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    try:
        for family in text_string_to_metric_families(answer.raise_for_status().text):
            for sample in family.samples:
                samples.setdefault(sample.name, []).append((sample.labels, sample.value))
    except (httpx.HTTPError, ValueError) as error:
        yield Finding("metrics", str(error), "see the log of the service")
        return
    yield from judge(samples)


def judge(samples: Samples) -> Iterator[Finding]:
    """What the metrics say."""
    planners = {labels["kind"]: value for labels, value in samples.get("procession_planner_processes", ())}
    alive, size = planners.get("alive", 0.0), planners.get("size", 0.0)
    gone = "they are started again by themselves; if they stay away, the machine is out of memory"
    yield Finding("planners", f"{alive:.0f} of {size:.0f} alive", gone if alive < size else None)
    is_open = any(v and labels["state"] == "open" for labels, v in samples.get("procession_native_check_breaker", ()))
    away = "see logs/sidecar.log, and sidecar.uri; meanwhile native-plan-checker.unavailable decides"
    yield Finding("sidecar", "does not answer" if is_open else "answers, or was not asked", away if is_open else None)
    wrong = [labels["file"] for labels, value in samples.get("procession_rule_file_wrong", ()) if value]
    if wrong:
        yield Finding("rules", f"wrong: {', '.join(sorted(wrong))}", "the log says what is wrong; older rules count")
    lost = [
        f"{value:.0f} {labels['outcome']} for {labels['listener']}"
        for labels, value in samples.get("procession_events_total", ())
        if value and labels["outcome"] != "delivered"
    ]
    slow = "what takes them is slow or away: see the log, and docs/events.md"
    yield Finding("events", ", ".join(lost) or "none lost", slow if lost else None)
    waiting = _one(samples, "presto_QueryManager_QueuedQueries")
    many = "see /v1/resourceGroupState for whose they are, and docs/resource-groups.md"
    yield Finding("queue", f"{waiting:.0f} statements wait", many if waiting >= _MANY_WAIT else None)
    failed = _one(samples, "presto_QueryManager_InternalFailures_FifteenMinute_Count")
    internal = "/v1/history?state=failed lists them with their errors; the log has more"
    yield Finding("failures", f"{failed:.0f} internal ones in 15 minutes", internal if failed else None)


def _one(samples: Samples, name: str) -> float:
    return next((value for _, value in samples.get(name, ())), 0.0)


def _statement(asked: Asked) -> Finding:
    """One statement all the way, as a client sends it."""
    begun = time.monotonic()
    try:
        with StatementClient(
            asked.server, ClientSession(asked.user, source="procession-doctor"), asked.login
        ) as client:
            rows = [row for page in client.execute("SELECT 1") for row in page.rows]
    except (StatementError, ServerUnreachableError) as error:
        return Finding("statement", f"SELECT 1: {error}", "see /v1/history, and the log of the service")
    seconds = time.monotonic() - begun
    if rows != [(1,)]:
        return Finding("statement", f"SELECT 1 gave {rows!r}", "is this address Procession's own?")
    slow = "the machine is busy: see the verbs in /v1/history, and docs/operations.md" if seconds > _SLOW else None
    return Finding("statement", f"SELECT 1 took {seconds:.2f} s", slow)
