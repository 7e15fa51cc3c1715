"""Groups that every match has, beside what Python's own matcher finds; flags for letters of any language."""

from __future__ import annotations

import re

import pytest

from coordinator.unparser.patterns_on_spark import has_group, with_all_letters

TEXTS = ["", "a", "b", "c", "ab", "abb", "ac", "ba", "abc", "aab", "(b)", "a|b", "bc", "abab"]


@pytest.mark.parametrize(
    ("pattern", "certain"),
    [
        ("a(b*)", True),
        ("(?:a(b*))", True),
        ("(?<n>b*)c", True),
        (r"\((b)\)", True),
        ("[(](b)[)|]", True),
        ("((a)|b)c", True),
        ("a(b)+", True),
        ("a(b)?", False),
        ("(?:a(b))*", False),
        ("a|(b)", False),
        ("(?:a|(b))c", False),
        ("a(?!(b))", False),
        ("a(b){0,2}", False),
        ("a", False),
    ],
)
def test_groups_that_every_match_has(pattern: str, certain: bool) -> None:
    assert has_group(pattern, 1) is certain
    matcher = re.compile(pattern.replace("(?<n>", "(?P<n>"))
    if certain:
        assert all(found[1] is not None for text in TEXTS for found in matcher.finditer(text))


def test_flags_for_letters() -> None:
    assert with_all_letters(r"\d+") == r"(?U)\d+"
    assert with_all_letters("(?si)ä") == "(?U)(?si)ä"
    assert with_all_letters("abc") == "abc"
    assert with_all_letters("^\\w.") == "(?dU)^\\w."
