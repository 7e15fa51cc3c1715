"""Numbers, moments and statements as people read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec

from coordinator.sql.blanks import BLANKS

_SKIPPED = re.compile(BLANKS)
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")
_LOOKED_AT = 20_000
_NUMERIC = frozenset({"tinyint", "smallint", "integer", "bigint", "real", "double", "decimal"})


def first_line(text: str, limit: int = 160) -> str:
    """The first line of a statement that is not a comment, cut off.

    >>> first_line("-- a report\\n\\n/* of\\nmine */ SELECT 1\\nFROM t")
    'SELECT 1 FROM t'
    """
    head = text[:_LOOKED_AT]
    found = _SKIPPED.match(head)
    start = 0 if found is None else found.end()
    line = " ".join(head[start : start + 3 * limit].split())
    line = line or " ".join(head[: 3 * limit].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def duration(seconds: float | None) -> str:
    """Three figures at most.

    >>> duration(0.0123), duration(75), duration(7322)
    ('12 ms', '1 min 15 s', '2 h 2 min')
    """
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 or not seconds else f"{seconds * 1000:.1f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    if seconds < 172_800:
        return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"
    return f"{seconds / 86_400:.1f} d"


def size(value: float | None) -> str:
    """
    >>> size(1536), size(12), size(None)
    ('1.5 kB', '12 B', '')
    """
    if value is None:
        return ""
    found, unit = float(value), 0
    while abs(found) >= 1024 and unit < len(_SIZES) - 1:
        found, unit = found / 1024, unit + 1
    return f"{found:.0f} {_SIZES[unit]}" if not unit or found >= 100 else f"{found:.1f} {_SIZES[unit]}"


def count(value: float | None) -> str:
    """Thousands apart by thin spaces."""
    return "" if value is None else f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def moment(value: datetime | None) -> str:
    """In UTC, to the second."""
    return "" if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def ago(value: datetime | None, now: datetime | None = None) -> str:
    """How long it is past."""
    if value is None:
        return ""
    return duration(max(0.0, ((now or datetime.now(UTC)) - value).total_seconds())) + " ago"


def shown(value: object) -> str:
    """A value of a result as SQL writes it, arrays and maps as JSON.

    >>> shown(True), shown(["a", None, 1.5]), shown("x")
    ('true', '["a",null,1.5]', 'x')
    """
    if isinstance(value, bool | list | dict):
        return msgspec.json.encode(value).decode()
    return str(value)


def is_numeric(type_text: str) -> bool:
    """Whether values of a Presto type stand at the right of their column.

    >>> is_numeric("decimal(10,2)"), is_numeric("map(integer,integer)")
    (True, False)
    """
    return type_text.partition("(")[0] in _NUMERIC
