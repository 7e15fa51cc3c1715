"""Which call in a fragment Velox's compiler complains about; its errors name functions, not nodes."""

from __future__ import annotations

import re

import msgspec

from shared.plan.expressions import SourceLocation
from sidecar.velox.functions import velox_name

_NAMES = (
    re.compile(r"^Scalar function name not registered: ([^\s,]+)"),
    re.compile(r"^Scalar function (\S+) not registered with arguments"),
    re.compile(r"^Found incompatible return types for '([^']+)'"),
    re.compile(r"(?:Aggregate|Window) function not registered: ([^\s,]+)"),
    re.compile(r"(?:Aggregate|Window) function signature is not supported: ([^\s(]+)\("),
)


def function_of(message: str) -> str | None:
    """The function that a message of Velox's compiler names."""
    for pattern in _NAMES:
        if match := pattern.search(message):
            return match[1]
    return None


def call_of(name: str, body: bytes) -> tuple[SourceLocation | None, str | None]:
    """Where the first call of a Velox function in a fragment stands, and the id of its plan node."""
    try:
        plan = msgspec.json.decode(body)
    except UnicodeDecodeError:  # in what no fragment has, which was not read before
        return None, None
    pending: list[tuple[object, str | None]] = [(plan.get("root"), None)]
    while pending:
        value, node_id = pending.pop()
        if isinstance(value, list):
            pending.extend((v, node_id) for v in reversed(value))
        if not isinstance(value, dict):
            continue
        if "@type" in value and isinstance(value.get("id"), str):
            node_id = value["id"]
        if value.get("@type") == "call" and _called(value) == name:
            return _location(value.get("sourceLocation")), node_id
        pending.extend((v, node_id) for k, v in reversed(value.items()) if k != "functionHandle")
    return None, None


def _called(call: dict[str, object]) -> str | None:
    handle = call.get("functionHandle")
    if not isinstance(handle, dict):
        return None
    signature = handle.get("signature")
    text = signature.get("name") if isinstance(signature, dict) else handle.get("functionId")
    return velox_name(str(text).split(";", 1)[0].split(".", 2)[-1].lower())


def _location(value: object) -> SourceLocation | None:
    if not isinstance(value, dict):
        return None
    try:
        return msgspec.convert(value, SourceLocation)
    except msgspec.ValidationError:
        return None
