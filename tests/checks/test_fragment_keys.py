"""What no fragment of ours says must not make two of them look alike, and what is remembered is bounded."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from coordinator.checks.fragment_keys import FragmentKeys, fresh_key
from coordinator.checks.worker_form import why_not_checked
from shared.plan.blocks import encode_constant
from shared.plan.fragment import SimplePlanFragment, encode_fragment

ONE, TWO = (encode_constant(value, "bigint") for value in (1, 2))
HANDLES = {
    "a literal among a table's properties": lambda text: {"storageProperties": {"a": "b", "valueBlock": text}},
    "a literal first of all": lambda text: {"storageProperties": {"valueBlock": text}},
    "a literal in a part of no known shape": lambda text: {"other": {"a": "b", "valueBlock": text}},
    "a text that ends a literal": lambda text: {"other": f'a","valueBlock":"{text}"'},
    "a key that ends as a literal's does": lambda text: {"other": {"a": "b", 'a,"valueBlock': text}},
    "a column called sourceLocation": lambda text: {"predicateColumns": {"a": {}, "sourceLocation": {"name": text}}},
    "a column called snapshotId": lambda text: {"predicateColumns": {"a": {}, "snapshotId": {"name": text}}},
    "a column called transaction": lambda text: {
        "predicateColumns": {"a": {}, "transaction": {"@type": "x", "columnIdentity": {"name": text}}}
    },
}
VALUES = {
    "blocks": (ONE, TWO),
    "markers": ("#0", "#1"),
    "quotes": ('"a', '"b'),
    "backslashes": ("a\\", "b\\"),
    "numbers": ("#" + "9" * 5000, "#" + "8" * 5000),
}


def scanning(captured: list[dict[str, Any]], change: dict[str, Any]) -> SimplePlanFragment:
    """A scan whose table's handle says ``change`` as well."""
    body = next(e["body"] for e in captured if e["fragment"].root.__class__.__name__ == "TableScanNode")
    copied = json.loads(json.dumps(body))
    copied["root"]["table"]["connectorHandle"] |= change
    return msgspec.convert(copied, SimplePlanFragment)


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("handle", HANDLES.values(), ids=HANDLES)
def test_what_is_none_of_a_plans_literals_counts(
    captured: list[dict[str, Any]], handle: Callable[[str], dict[str, Any]], values: tuple[str, str]
) -> None:
    keys = FragmentKeys()
    encoded = [encode_fragment(scanning(captured, handle(value))) for value in values]
    first, second = (keys.key(each).key for each in encoded)
    assert first != second
    assert [keys.known_key(each) for each in encoded] == [keys.key(each) for each in encoded]


def test_a_key_says_what_the_fragment_does(captured: list[dict[str, Any]]) -> None:
    keys = FragmentKeys()
    for entry in captured[::5]:
        fragment = entry["fragment"]
        found = keys.key(encode_fragment(fragment))
        assert (found.fragment_id, found.not_checked) == (fragment.id, why_not_checked(fragment))
        assert found == fresh_key(fragment)


def test_outlines_are_bounded_and_forgotten_all_at_once(captured: list[dict[str, Any]]) -> None:
    keys = FragmentKeys(most_weight=100)
    encoded = [encode_fragment(entry["fragment"]) for entry in captured[:100:10]]
    for each in encoded:
        keys.key(each)
        assert keys.known_key(each) is not None
    assert keys.known_key(encoded[0]) is None
    assert sum(keys.known_key(each) is not None for each in encoded) < 100 // 16
