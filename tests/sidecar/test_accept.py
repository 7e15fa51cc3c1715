"""Content negotiation."""

from __future__ import annotations

import pytest

from sidecar.accept import choose
from sidecar.messages import Format

JSON, TEXT = "application/json", "text/plain"
DOT, DOT_ALIAS = "text/vnd.graphviz", "application/graphviz"


@pytest.mark.parametrize(
    ("accept", "media", "form"),
    [
        (None, JSON, Format.NONE),
        ("", JSON, Format.NONE),
        ("*/*", JSON, Format.JSON),
        ("application/json", JSON, Format.JSON),
        ("APPLICATION/JSON; charset=UTF-8", JSON, Format.JSON),
        ("text/plain", TEXT, Format.TEXT),
        ("text/plain;charset=utf-8", TEXT, Format.TEXT),
        ("text/*", TEXT, Format.TEXT),
        ("application/*", JSON, Format.JSON),
        ("text/vnd.graphviz", DOT, Format.GRAPHVIZ),
        ("application/graphviz", DOT_ALIAS, Format.GRAPHVIZ),
        ("text/plain;q=0.5, text/vnd.graphviz;q=0.9", DOT, Format.GRAPHVIZ),
        ("text/plain;q=0.5, */*;q=0.1", TEXT, Format.TEXT),
        ("application/json;q=0, */*", TEXT, Format.TEXT),
        ("text/*;q=0.9, text/plain;q=0.1", DOT, Format.GRAPHVIZ),
        ("image/png, application/json;q=0.001", JSON, Format.JSON),
        ("nonsense, text/plain", TEXT, Format.TEXT),
        ("text/plain;q=x, application/json", JSON, Format.JSON),
        ("application/json, text/plain", JSON, Format.JSON),
    ],
)
def test_choice(accept: str | None, media: str, form: Format) -> None:
    assert choose(accept) == (media, form)


@pytest.mark.parametrize(
    "accept", ["image/png", "application/xml, text/html", "*/*;q=0", "text/plain;charset=utf-16", "x"]
)
def test_nothing_acceptable(accept: str) -> None:
    assert choose(accept) is None
