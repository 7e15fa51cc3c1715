"""docs/configuration.md is what the settings models say."""

from pathlib import Path

from coordinator.configuration_reference import configuration_reference

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_page_is_current() -> None:
    assert PAGE.read_text() == configuration_reference(), "run `make bless`"
