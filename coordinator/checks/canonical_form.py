"""The key under which verdicts are remembered: a fragment without what cannot change its verdict.

Left out: ids of nodes and fragments, source locations, transactions, snapshot ids. Values of non-null literals count
only by equality where nothing but their type can matter: compared or added to something that is not a literal, in IN
lists, and as bounds of a scan's domains. Everything else, such as a LIKE pattern, stays as it is.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from shared.plan.blocks import decode_physical
from shared.plan.fragment import SimplePlanFragment

_DROPPED = frozenset(
    {
        "sourceLocation",
        "transaction",
        "transactionHandle",
        "snapshotId",
        "tableScanSchedulingOrder",
        "groupedExecutionScanNodes",
    }
)
_PLAIN = frozenset(
    {"columnIdentity", "dataColumns", "partitionColumns", "predicateColumns", "storageProperties", "functionHandle"}
)
"""Parts of handles with nothing in them that could be left out: most of a fragment's JSON, kept as it is."""
_PLAIN_OF_SCAN = _PLAIN | {"assignments"}
_PREFIX = "presto.default.$operator$"
_TYPE_ONLY = frozenset(
    _PREFIX + name
    for name in (
        "equal",
        "not_equal",
        "less_than",
        "less_than_or_equal",
        "greater_than",
        "greater_than_or_equal",
        "between",
        "is_distinct_from",
        "add",
        "subtract",
        "multiply",
    )
)


def canonical_key(fragment: SimplePlanFragment) -> bytes:
    """16 bytes, equal for fragments that a converter must answer alike."""
    plain = _Canonical().form(msgspec.to_builtins(fragment))
    plain.pop("id", None)
    return hashlib.blake2b(msgspec.json.encode(plain, order="deterministic"), digest_size=16).digest()


class _Canonical:
    """One pass over the plain JSON of a fragment; numbers the literals that count only by equality."""

    def __init__(self) -> None:
        self._literals: dict[tuple[str, str], int] = {}

    def form(self, value: Any) -> Any:
        type_ = type(value)  # exact: these come from a decoder, and half of the key's time was spent on asking more
        if type_ is dict:
            return self._object(value)
        if type_ is list or type_ is tuple:
            return [self.form(item) for item in value]
        return value

    def _object(self, value: dict[str, Any]) -> dict[str, object]:
        tag = value.get("@type")
        if tag == "variable":
            return {"name": value["name"], "type": value["type"]}
        if tag == "call" or tag == "special":
            return self._call(value)
        if "bound" in value and "valueBlock" in value:
            return {**value, "valueBlock": self._number(value["type"], value["valueBlock"])}
        plain = _PLAIN_OF_SCAN if tag == ".TableScanNode" else _PLAIN
        kept = {
            key: inner if type(inner) is str or key in plain else self.form(inner)
            for key, inner in value.items()
            if key not in _DROPPED
        }
        if isinstance(tag, str) and isinstance(value.get("id"), str):
            del kept["id"]
        if "sourceFragmentIds" in kept:
            kept["sourceFragmentIds"] = len(value["sourceFragmentIds"])
        return kept

    def _call(self, value: dict[str, Any]) -> dict[str, object]:
        # Names, types and the function's handle hold nothing that could be left out.
        kept = {key: inner for key, inner in value.items() if key != "sourceLocation"}
        arguments = value["arguments"]
        literals = [argument.get("@type") == "constant" for argument in arguments]
        if _only_types_matter(value) and not all(literals):
            kept["arguments"] = [
                self._literal(argument) if literal else self.form(argument)
                for argument, literal in zip(arguments, literals, strict=True)
            ]
        else:
            kept["arguments"] = self.form(arguments)
        return kept

    def _literal(self, constant: dict[str, Any]) -> dict[str, object]:
        type_text, block = constant["type"], constant["valueBlock"]
        if _is_null(block, type_text):
            return {"@type": "constant", "type": type_text, "valueBlock": block}
        return {"@type": "constant", "type": type_text, "valueBlock": self._number(type_text, block)}

    def _number(self, type_text: str, block: str) -> int:
        return self._literals.setdefault((type_text, block), len(self._literals))


def _only_types_matter(value: dict[str, Any]) -> bool:
    if value["@type"] == "special":
        return bool(value["form"] == "IN")
    signature = value["functionHandle"].get("signature") or {}
    return signature.get("name") in _TYPE_ONLY


def _is_null(block: str, type_text: str) -> bool:
    try:
        return decode_physical(block, type_text) is None
    except ValueError:
        return True  # a damaged block stays in the key as it is
