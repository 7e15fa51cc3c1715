"""How SQL is written for a database, where the standard leaves a choice or the database does not follow it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal


def standard_text(value: str) -> str:
    """A string literal of a database in which a backslash is a letter."""
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def standard_date(value: date) -> str:
    """``DATE '2024-02-29'``."""
    return f"DATE '{value.isoformat()}'"


def standard_timestamp(value: datetime) -> str:
    """``TIMESTAMP '2024-02-29 10:00:00'``."""
    return f"TIMESTAMP '{value.isoformat(sep=' ')}'"


def standard_double(value: float) -> str:
    """A finite number of type double."""
    return f"CAST({value!r} AS double precision)"


@dataclass(frozen=True, slots=True)
class Syntax:
    """``types`` are the remote names of Presto's types in CAST; what is not there is never cast to.

    ``text``, ``double``, ``date``, ``timestamp`` and ``instant`` write literals; ``instant`` is None where a timestamp
    with time zone has no literal that every session setting reads alike.
    """

    types: Mapping[str, str]
    quotes: tuple[str, str] = ('"', '"')
    text: Callable[[str], str] = standard_text
    double: Callable[[float], str] = standard_double
    date: Callable[[date], str] = standard_date
    timestamp: Callable[[datetime], str] = standard_timestamp
    instant: Callable[[datetime], str] | None = None
    limit: Literal["LIMIT", "FETCH", "TOP"] = "LIMIT"
    nulls_first_and_last: bool = True
    """Whether ORDER BY takes NULLS FIRST and NULLS LAST."""
    truths: tuple[str, str] = ("TRUE", "FALSE")
    """The literals of boolean values."""
    conditions_are_values: bool = True
    """Whether a condition can be a column, and a boolean column a condition."""
    like: str | None = " ESCAPE ''"
    """What LIKE needs so that no letter escapes another; None where LIKE does not compare as Presto's."""
    distinct: Callable[[str, str], str] | None = None
    """``a IS DISTINCT FROM b``, true or false and never NULL."""
    count: str = "count"
    sum_argument: Callable[[str, str], str] = field(default=lambda sql, _base: sql)
    """The argument of a sum of that Presto type, made wide enough for Presto's result."""

    def quote(self, name: str) -> str:
        """``name`` as a delimited identifier."""
        opening, closing = self.quotes
        return f"{opening}{name.replace(closing, closing * 2)}{closing}"

    def type_name(self, base: str, numbers: tuple[int, ...] = ()) -> str | None:
        """The remote name of a Presto type in CAST, None when there is none."""
        name = self.types.get(base)
        if name is None or not numbers:
            return name
        return f"{name}({','.join(str(number) for number in numbers)})"
