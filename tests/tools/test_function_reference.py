"""docs/functions.md is what the tables say."""

from __future__ import annotations

from tools.function_reference import PAGE, function_reference


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == function_reference(), "run `make bless`"
