"""What a worker leaves out is what passed beside a test, and nothing that failed or was skipped."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fewer_events import _sparing


@pytest.mark.parametrize(
    ("when", "outcome", "sent"),
    [
        ("setup", "passed", False),
        ("setup", "failed", True),
        ("setup", "skipped", True),
        ("call", "passed", True),
        ("call", "failed", True),
        ("teardown", "passed", False),
        ("teardown", "failed", True),
    ],
)
def test_reports(when: str, outcome: str, sent: bool) -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    send = _sparing(lambda name, **what: told.append((name, what)))
    report = {"when": when, "outcome": outcome}
    send("testreport", data=report)
    assert told == ([("testreport", {"data": report})] if sent else [])


def test_other_messages() -> None:
    told: list[str] = []
    send = _sparing(lambda name, **_: told.append(name))
    for name in ("logstart", "logfinish", "runtest_protocol_complete", "workerfinished", "collectionfinish"):
        send(name)
    assert told == ["runtest_protocol_complete", "workerfinished", "collectionfinish"]
