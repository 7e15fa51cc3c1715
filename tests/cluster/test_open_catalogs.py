"""A start reaches every catalog: what was left open in it is settled, now or once the catalog answers; then it ends."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from coordinator.recovering import close_catalogs, open_catalogs
from shared.errors import ErrorCode, ProcessionError


class Lake:
    """``answers``: whether its catalog can be reached."""

    def __init__(self, name: str, told: list[str], *, answers: bool) -> None:
        self.name, self.told, self.answers = name, told, answers

    def schemas(self) -> list[str]:
        if not self.answers:
            raise ProcessionError(ErrorCode.ICEBERG_FILESYSTEM_ERROR, "connection refused")
        return []

    def recover(self, end_write: Callable[[str], bool]) -> list[str]:
        self.told.append(f"{self.name} recovers, {end_write('w')}")
        return ["one"]

    def recover_later(self, end_write: Callable[[str], bool]) -> None:
        self.told.append(f"{self.name} recovers later, {end_write('w')}")

    def close(self) -> None:
        self.told.append(f"{self.name} ends")


def test_one_that_does_not_answer_keeps_no_other_from_its_recovery() -> None:
    told: list[str] = []
    made: dict[str, Any] = {
        "away": Lake("away", told, answers=False),
        "database": SimpleNamespace(schemas=list),
        "there": Lake("there", told, answers=True),
    }
    catalogs: Any = SimpleNamespace(names=lambda: made, connector=made.__getitem__, made=made.values)
    spark: Any = SimpleNamespace(end_earlier_write=lambda catalog, write: f"{write} of {catalog}")
    open_catalogs(catalogs, spark)
    assert told == ["away recovers later, w of away", "there recovers, w of there"]
    close_catalogs(catalogs)
    assert told[2:] == ["away ends", "there ends"]
