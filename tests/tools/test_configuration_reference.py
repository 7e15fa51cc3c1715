"""docs/configuration.md is what the settings models say."""

from __future__ import annotations

from tools.configuration_reference import PAGE, configuration_reference


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == configuration_reference(), "run `make bless`"
