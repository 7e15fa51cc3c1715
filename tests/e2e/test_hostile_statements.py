"""Statements of somebody who means no good: each ends with a clear answer, and others are served meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.e2e.service import Service

pytestmark = pytest.mark.slow
GAPS = "/**/" * 500
HOSTILE = {
    "comments before and behind a name": (f"CALL{GAPS}a{GAPS}", "SYNTAX_ERROR"),
    "comments that nothing closes": ("SELECT 1 " + "/* a" * 50_000, "SYNTAX_ERROR"),
    "arrays in arrays": ("SELECT " + "ARRAY[" * 90 + "1" + "]" * 90, None),
    "arrays that lambdas make": (
        "SELECT " + "transform(ARRAY[1], x -> " * 45 + "1" + ")" * 45,
        None,
    ),
    "rows in rows": ("SELECT " + "ROW(" * 90 + "1" + ")" * 90, None),
    "maps in maps": ("SELECT " + "MAP(ARRAY[1], ARRAY[" * 45 + "1" + "])" * 45, None),
    "columns without end": ("SELECT " + ", ".join(["1"] * 50_000), "NOT_SUPPORTED"),
    "fields without end": ("SELECT ROW(" + ", ".join(["1"] * 60_000) + ")", "NOT_SUPPORTED"),
    "all grouping sets": ("SELECT count(*) FROM tpch.tiny.nation GROUP BY CUBE(" + "1," * 29 + "1)", "SYNTAX_ERROR"),
    "doubling views": (
        "WITH a0 AS (SELECT 1 x)"
        + "".join(f", a{i} AS (SELECT x FROM a{i - 1} UNION ALL SELECT x FROM a{i - 1})" for i in range(1, 40))
        + " SELECT count(*) FROM a39",
        "EXCEEDED_PLAN_NODE_LIMIT",
    ),
    "a pattern that goes back": ("SELECT regexp_like('" + "a" * 5_000 + "', '(a+)+$b')", None),
    "a literal of many digits": ("SELECT CAST('" + "1" * 100_000 + "x' AS double)", "INVALID_CAST_ARGUMENT"),
    "signs": ("SELECT " + "- " * 100_000 + "1", "SYNTAX_ERROR"),
    "parentheses": ("(" * 200_000, "SYNTAX_ERROR"),
}


def outcome(url: str, sql: str, user: str) -> str | None:
    """The name of the statement's error, None for success; raises what HTTP does."""
    with httpx.Client(timeout=120) as client:
        answer = client.post(f"{url}/v1/statement", content=sql, headers={"X-Presto-User": user})
        while True:
            assert answer.status_code == 200, answer.text[:200]
            page = answer.json()
            if "nextUri" not in page:
                return page["error"]["errorName"] if "error" in page else None
            answer = client.get(page["nextUri"])


@contextmanager
def somebody_else(url: str) -> Iterator[list[float]]:
    """The seconds that small statements of another user took meanwhile."""
    taken: list[float] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            begun = time.monotonic()
            assert outcome(url, "SELECT 1", "somebody") is None
            taken.append(time.monotonic() - begun)
            time.sleep(0.05)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield taken
    finally:
        over.set()
        asking.join(120)


@pytest.mark.parametrize("name", HOSTILE)
def test_others_are_served(whole_service: Service, name: str) -> None:
    """Some of these held the event loop for minutes, or took all memory of the machine."""
    sql, error = HOSTILE[name]
    with somebody_else(whole_service.url) as taken:
        found = outcome(whole_service.url, sql, "mallory")
    assert taken
    assert max(taken) < 60  # under a second on a quiet machine; before, for ever
    assert found == error
