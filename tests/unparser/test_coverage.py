"""docs/functions.md is what the tables say."""

from __future__ import annotations

from pathlib import Path

from coordinator.unparser.coverage import coverage


def test_the_page_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "functions.md"
    assert page.read_text(encoding="utf-8") == coverage()
