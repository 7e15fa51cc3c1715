"""docs/configuration.md is what the settings models say, in a form that can be pasted into a file."""

from __future__ import annotations

import pytest

from tools.configuration_reference import PAGE, configuration_reference


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == configuration_reference(), "run `make bless`"


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("precheck.max-requests-per-second", "200"),
        ("query.max-replay-size", "64MB"),
        ("embedded-engine.max-program-rows", "100000"),
        ("http-server.authentication.oauth2.challenge-timeout", "15m"),
        ("query.max-run-time", "100d"),
        ("http-server.http.enabled", "true"),
    ],
)
def test_defaults_stand_as_they_are_written(name: str, default: str) -> None:
    assert f"| `{name}` | `{default}` |" in configuration_reference()
