# ruff: noqa: E501
# A table: one entry beside the other reads better than one below the other.
"""What dashboards ask of events, on both engines: days of a time zone, percentiles, counts of values, JSON and URLs.

The answers are worked out by Python from the same rows.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import prestodb
import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
EVENTS = 3000
STEP = timedelta(minutes=61, seconds=7, milliseconds=250)
START = datetime(2024, 1, 1, tzinfo=UTC)
ZONE = ZoneInfo("America/New_York")


def event(n: int) -> dict[str, Any]:
    at = START + STEP * n
    return {
        "n": n, "at": at, "seconds": at.timestamp(), "took": (n * 7919 % 1009) / 4, "kind": ("view", "click", "buy")[n % 3],
        "payload": json.dumps({"user": {"id": n % 17, "tags": ["a", f"t{n % 5}"]}, "ok": n % 4 > 0}),
        "url": f"https://shop{n % 3}.example.com:8443/p%20q/{n}?utm=x{n % 7}&n={n}#top",
        "day": f"{at:%d/%b/%Y:%H:%M:%S}",
    }  # fmt: skip


@pytest.fixture(scope="module")
def table(service: Service) -> str:
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.dashboards")
    service.execute(
        "CREATE TABLE iceberg.dashboards.events AS SELECT n, at, to_unixtime(at) AS seconds, (n * 7919 % 1009) / 4e0 AS took,"
        " element_at(ARRAY['view', 'click', 'buy'], CAST(n % 3 + 1 AS bigint)) AS kind,"
        ' \'{"user": {"id": \' || CAST(n % 17 AS varchar) || \', "tags": ["a", "t\' || CAST(n % 5 AS varchar) ||'
        " '\"]}, \"ok\": ' || CAST(n % 4 > 0 AS varchar) || '}' AS payload,"
        " 'https://shop' || CAST(n % 3 AS varchar) || '.example.com:8443/p%20q/' || CAST(n AS varchar) || '?utm=x' ||"
        " CAST(n % 7 AS varchar) || '&n=' || CAST(n AS varchar) || '#top' AS url,"
        " date_format(at, '%d/%b/%Y:%H:%i:%s') AS day, format_datetime(at, 'yyyy-MM-dd''T''HH:mm:ss.SSS') || 'Z' AS stamp"
        " FROM (SELECT n, TIMESTAMP '2024-01-01 00:00:00 UTC' + n * INTERVAL '61' MINUTE + n * INTERVAL '7.250' SECOND AS at"
        f" FROM UNNEST(sequence(0, {EVENTS - 1})) AS s(n))"
    )
    return "iceberg.dashboards.events"


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    return [event(n) for n in range(EVENTS)]


def ask(service: Service, engine: str, sql: str, **properties: str) -> list[list[Any]]:
    found: list[list[Any]] = service.execute(sql, session_properties={"engine": engine, **properties})
    return found


ENGINES = pytest.mark.parametrize("engine", ["EMBEDDED", "SPARK"])


@ENGINES
def test_days_and_hours_of_a_zone(service: Service, table: str, events: list[dict[str, Any]], engine: str) -> None:
    there = [e["at"].astimezone(ZONE) for e in events]
    for part, expected in (
        ("CAST(at AT TIME ZONE 'America/New_York' AS date)", Counter(f"{t:%Y-%m-%d}" for t in there)),
        ("hour(at AT TIME ZONE 'America/New_York')", Counter(t.hour for t in there)),
        ("day_of_week(at AT TIME ZONE 'America/New_York')", Counter(t.isoweekday() for t in there)),
        ("week(from_unixtime(seconds, 'America/New_York'))", Counter(t.isocalendar().week for t in there)),
        ("to_unixtime(date_trunc('month', at AT TIME ZONE 'America/New_York'))",
         Counter(datetime(t.year, t.month, 1, tzinfo=ZONE).timestamp() for t in there)),
    ):  # fmt: skip
        found = ask(service, engine, f"SELECT {part} AS k, count(*) FROM {table} GROUP BY 1")
        assert Counter(dict(map(tuple, found))) == expected, part
    [[shown]] = ask(service, engine, f"SELECT min(date_trunc('day', at AT TIME ZONE 'America/New_York')) FROM {table}")
    assert shown in ("2023-12-31 00:00:00.000 America/New_York", "2023-12-31 05:00:00.000 UTC")


@ENGINES
def test_texts_of_iso_8601(service: Service, table: str, events: list[dict[str, Any]], engine: str) -> None:
    there = [e["at"].astimezone(ZONE) for e in events]
    read = "from_iso8601_timestamp(stamp)"
    local = f"{read} AT TIME ZONE 'America/New_York'"
    for part, expected in (
        (f"date_format({local}, '%Y-%m-%d')", Counter(f"{t:%Y-%m-%d}" for t in there)),
        (f"format_datetime({local}, 'HH:mm')", Counter(f"{t:%H:%M}" for t in there)),
        (f"date({read})", Counter(f"{e['at']:%Y-%m-%d}" for e in events)),
        (f"TRY(hour({read}))", Counter(e["at"].hour for e in events)),
        (f"date_diff('hour', {read}, at + INTERVAL '90' MINUTE)", Counter({1: EVENTS})),
        (f"date_diff('day', TIMESTAMP '2024-01-01 00:00:00 America/New_York', {local})",
         Counter(int((t.replace(tzinfo=None) - datetime(2024, 1, 1)) / timedelta(days=1)) for t in there)),
        (f"to_unixtime(date_trunc('month', date_add('month', 1, {local})))",
         Counter(datetime(t.year + t.month // 12, t.month % 12 + 1, 1, tzinfo=ZONE).timestamp() for t in there)),
    ):  # fmt: skip
        found = ask(service, engine, f"SELECT {part} AS k, count(*) FROM {table} GROUP BY 1")
        assert Counter(dict(map(tuple, found))) == expected, part


@ENGINES
def test_percentiles_and_counts(service: Service, table: str, events: list[dict[str, Any]], engine: str) -> None:
    kinds = defaultdict(list)
    for e in events:
        kinds[e["kind"]].append(e["took"])
    found = ask(
        service, engine,
        f"SELECT kind, approx_percentile(took, 0.5), approx_percentile(took, ARRAY[0.9, 0.99]), histogram(n % 3)"
        f" FROM {table} GROUP BY 1",
    )  # fmt: skip
    assert {row[0] for row in found} == set(kinds)
    for kind, median, [high, higher], counts in found:
        ordered = sorted(kinds[kind])
        for share, value in ((0.5, median), (0.9, high), (0.99, higher)):
            place = share * len(ordered)
            assert ordered[math.ceil(place) - 1] <= value <= ordered[math.floor(place)], (kind, share)
        assert counts == {str(("view", "click", "buy").index(kind)): len(ordered)}


@ENGINES
def test_payloads_and_urls(service: Service, table: str, events: list[dict[str, Any]], engine: str) -> None:
    found = ask(
        service, engine,
        "SELECT n, CAST(json_extract(payload, '$.user.id') AS bigint), json_extract_scalar(payload, '$.user.tags[1]'),"
        " json_extract_scalar(payload, '$.ok'), json_format(json_extract(payload, '$.user')), url_extract_host(url),"
        " url_extract_path(url), url_extract_parameter(url, 'utm'), url_extract_port(url), json_size(payload, '$.user'),"
        " to_unixtime(date_parse(day, '%d/%b/%Y:%H:%i:%s')), format_datetime(at, 'yyyy-MM-dd''T''HH:mm:ss.SSS')"
        f" FROM {table} WHERE json_extract_scalar(payload, '$.user.tags[1]') <> 't4' ORDER BY n",
    )  # fmt: skip
    expected = []
    for e in events:
        payload, parts = json.loads(e["payload"]), urlsplit(e["url"])
        user = payload["user"]
        if user["tags"][1] != "t4":
            expected.append([
                e["n"], user["id"], user["tags"][1], str(payload["ok"]).lower(), json.dumps(user, separators=(",", ":")),
                parts.hostname, f"/p q/{e['n']}", f"x{e['n'] % 7}", 8443, 2, float(int(e["seconds"])),
                f"{e['at']:%Y-%m-%dT%H:%M:%S}.{e['at'].microsecond // 1000:03d}",
            ])  # fmt: skip
    assert found == expected


@ENGINES
def test_failures_name_the_value(service: Service, table: str, engine: str) -> None:
    for expression, said in (
        ("date_parse(day, '%Y-%m-%d')", 'Invalid format: "01/Jan/2024:00:00:00" is malformed at "/Jan/2024:00:00:00"'),
        ("json_parse(url)", "to JSON"),
    ):
        with pytest.raises(prestodb.exceptions.PrestoUserError) as failed:
            ask(
                service,
                engine,
                f"SELECT max({expression.replace('json_parse(url)', 'json_format(json_parse(url))')}) FROM {table}",
            )
        assert said in str(failed.value)
    assert ask(
        service, engine, f"SELECT count(TRY(date_parse(day, '%Y-%m-%d'))), count(TRY(json_parse(url))) FROM {table}"
    ) == [[0, 0]]
