"""What is refused before it runs is refused with the line and column of the part of the statement that caused it."""

from __future__ import annotations

import httpx
import pytest

from tests.e2e.service import Service

HEADERS = {
    "X-Presto-User": "tester",
    "X-Presto-Catalog": "tpch",
    "X-Presto-Schema": "tiny",
    "X-Presto-Session": "native_plan_checker_mode=veto",
}

# A @ stands before the part that is refused.
BY_VELOX = {
    "a cast to char": "SELECT name,\n  @CAST(name AS char(3)) FROM nation",
    "char in a condition": "SELECT count(*) FROM nation\nWHERE length(name) > 3 AND @CAST(name AS char(3)) = 'abc'",
    "time as a sort key": "SELECT nationkey FROM nation\nORDER BY @CAST(comment AS time), 1",
    "an aggregate's type": "SELECT regionkey,\n\n   @qdigest_agg(CAST(nationkey AS double))\nFROM nation GROUP BY 1",
    "a window's order": "SELECT regionkey,\n  ntile(3) OVER (ORDER BY @CAST(name AS char(4))) FROM nation",
    "values": "SELECT *\nFROM (VALUES @time '10:00:00') t(x)",
    "an array of it": "SELECT x FROM nation\nCROSS JOIN UNNEST(@ARRAY[CAST(name AS char(3))]) t(x)",
    "in a named query": "WITH c AS (\n SELECT @CAST(name AS char(9)) AS u, regionkey FROM nation)\n"
    "SELECT c.u FROM c WHERE regionkey > 3",
}


@pytest.fixture(scope="module")
def service(quiet_service: Service) -> Service:
    return quiet_service


def run(service: Service, text: str) -> dict[str, object]:
    """The error of a statement."""
    answer = httpx.post(f"{service.url}/v1/statement", content=text, headers=HEADERS, timeout=60).json()
    while "nextUri" in answer:
        answer = httpx.get(answer["nextUri"], timeout=60).json()
    return dict(answer["error"])


@pytest.mark.parametrize("marked", BY_VELOX.values(), ids=BY_VELOX)
def test_the_refused_part_is_located(service: Service, marked: str) -> None:
    before, _, _ = marked.partition("@")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    text = marked.replace("@", "")
    refused = run(service, text)
    assert refused["errorName"] == "NOT_SUPPORTED"
    assert refused["errorLocation"] == {"lineNumber": line, "columnNumber": column}
    assert str(refused["message"]).startswith(f"line {line}:{column}: ")
    checked = httpx.post(f"{service.url}/v1/validate", content=text, headers=HEADERS, timeout=60).json()
    assert checked["verdict"] == "refused"
    assert checked["error"]["errorLocation"] == refused["errorLocation"]
    assert "Error from native plan checker" in str(refused["message"])
