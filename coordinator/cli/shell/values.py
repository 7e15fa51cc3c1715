"""Values of a result as text: what presto-cli and trino-cli show for each type."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence

from coordinator.cli.answers import Column, Signature

Render = Callable[[object], str]
NUMERIC = frozenset({"tinyint", "smallint", "integer", "bigint", "real", "double", "decimal"})
_BYTES_A_LINE = 16
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Also what begins a line, or turns the direction of what follows, so that a row shows another's order."""


def is_numeric(column: Column) -> bool:
    """Printed at the right of its column."""
    return column.typeSignature.rawType in NUMERIC


def renderer(signature: Signature, null: str = "NULL", bytes_a_line: int = _BYTES_A_LINE) -> Render:
    """The text of a value of this type; inside of other values NULL is always ``NULL``, as in Java's clients."""
    inner = _not_null(signature, bytes_a_line)
    return lambda value: null if value is None else inner(value)


def _not_null(signature: Signature, width: int) -> Render:
    parts = signature.parts() if signature.rawType in ("array", "map", "row") else []
    within = [renderer(part, bytes_a_line=width) for _, part in parts]
    match signature.rawType:
        case "varbinary":
            return lambda value: _hex(value, width)
        case "array" if within:
            return lambda value: f"[{', '.join(map(within[0], _items(value)))}]"
        case "map" if len(within) == 2:
            return lambda value: f"{{{', '.join(f'{k}={within[1](v)}' for k, v in _entries(value))}}}"
        case "row":
            names = [name for name, _ in parts]
            return lambda value: f"{{{', '.join(_fields(names, within, _items(value)))}}}"
        case _:
            return _plain


def _fields(names: Sequence[str | None], within: Sequence[Render], values: Sequence[object]) -> list[str]:
    texts = [render(value) for render, value in zip(within, values, strict=True)]
    return [text if name is None else f"{name}={text}" for name, text in zip(names, texts, strict=True)]


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _entries(value: object) -> Sequence[tuple[object, object]]:
    return list(value.items()) if isinstance(value, dict) else ()


def _hex(value: object, width: int) -> str:
    pairs = b64decode(str(value)).hex(" ").split(" ")
    step = width or max(1, len(pairs))
    return "\n".join(" ".join(pairs[i : i + step]) for i in range(0, len(pairs), step))


def _plain(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case list():
            return f"[{', '.join(map(_plain, value))}]"
        case Mapping():
            return f"{{{', '.join(f'{k}={_plain(v)}' for k, v in value.items())}}}"
        case _:
            return str(value)


def visible(text: str) -> str:
    """Text that may go to a terminal: a value must not move the cursor, or change what stands there."""
    return _CONTROL.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
