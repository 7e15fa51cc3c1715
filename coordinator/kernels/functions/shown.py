"""Values as Java's ``toString`` shows them inside messages."""

from __future__ import annotations

from datetime import datetime, time

from .date_texts import shown_time, shown_timestamp
from .numbers import java_double


def shown(value: object) -> str:
    """``true``, ``1.0``, ``[1, null]``, ``{a=1}``."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float():
            return java_double(value)
        case datetime():
            return shown_timestamp(value)
        case time():
            return shown_time(value)
        case tuple() | list():
            return f"[{', '.join(map(shown, value))}]"
        case dict():
            return "{" + ", ".join(f"{shown(k)}={shown(v)}" for k, v in value.items()) + "}"
        case _:
            return str(value)
