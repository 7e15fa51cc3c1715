"""docs/configuration.md is what the settings models say, in a form that can be pasted into a file."""

from pathlib import Path

import pytest

from coordinator.configuration_reference import configuration_reference

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_page_is_current() -> None:
    assert PAGE.read_text() == configuration_reference(), "run `make bless`"


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("precheck.max-requests-per-second", "200"),
        ("query.max-replay-size", "64MB"),
        ("embedded-engine.max-scan-rows", "50000000"),
        ("http-server.authentication.oauth2.challenge-timeout", "15m"),
        ("query.max-run-time", "100d"),
        ("http-server.http.enabled", "true"),
    ],
)
def test_defaults_stand_as_they_are_written(name: str, default: str) -> None:
    assert f"| `{name}` | `{default}` |" in configuration_reference()
