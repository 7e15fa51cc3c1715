"""A write that another commit was faster than is made again; one that fails for another reason is not."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.connectors.iceberg.tables import writing
from coordinator.connectors.iceberg.tables.writing import LostRaceError, write
from shared.errors import ErrorCode, ProcessionError

LOST = LostRaceError(ErrorCode.TRANSACTION_CONFLICT, "another commit won")
BROKEN = ProcessionError(ErrorCode.GENERIC_USER_ERROR, "broken")


def asked(outcomes: list[Any], monkeypatch: pytest.MonkeyPatch, *, retries: int = 2, by_position: bool = False) -> Any:
    """What becomes of an UPDATE whose attempts end so."""

    def attempt(*_: Any) -> Any:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(writing, "write_rows", attempt)
    monkeypatch.setattr(writing, "_PAUSE_SECONDS", 0.001)
    catalog: Any = SimpleNamespace(settings=SimpleNamespace(write_conflict_retries=retries))
    update: Any = SimpleNamespace(creation=None, kind="UPDATE", by_position=by_position, reads_target=False)
    context: Any = SimpleNamespace(query_id="q", rows=None)
    return write(catalog, update, context)


def test_it_is_made_again_and_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert asked([LOST, LOST, 7], monkeypatch) == 7
    assert caplog.text.count("Query q writes again: another commit won") == 2


@pytest.mark.parametrize(
    ("outcomes", "by_position"),
    [([LOST, LOST, LOST], False), ([LOST], True), ([BROKEN], False), ([LOST, BROKEN], False)],
)
def test_not_for_ever(outcomes: list[Any], by_position: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions are those of files that are gone then."""
    last = outcomes[-1]
    with pytest.raises(ProcessionError) as failure:
        asked(outcomes, monkeypatch, by_position=by_position)
    assert failure.value is last
    assert outcomes == []
