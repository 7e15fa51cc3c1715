"""A piece of SQL in Presto's words, and in DuckDB's where both mean the same by it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SAME = ""
"""Instead of a text of DuckDB's: it is Presto's."""


@dataclass(frozen=True)
class Both:
    """``duck`` is None where DuckDB means something else, or has no word for it."""

    presto: str
    duck: str | None


def same(text: str) -> Both:
    return Both(text, text)


def fill(template: str, *parts: Both, duck: str | None = SAME) -> Both:
    """``{0}``, ``{1}``, … replaced in both texts."""
    presto = template.format(*(part.presto for part in parts))
    ducks = [part.duck for part in parts]
    if duck is None or None in ducks:
        return Both(presto, None)
    return Both(presto, (duck or template).format(*ducks))


def join(separator: str, parts: Iterable[Both]) -> Both:
    """As ``str.join``."""
    given = list(parts)
    ducks = [part.duck for part in given if part.duck is not None]
    text = separator.join(part.presto for part in given)
    return Both(text, separator.join(ducks) if len(ducks) == len(given) else None)
