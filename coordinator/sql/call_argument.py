"""What CALL and ``ALTER TABLE … EXECUTE`` are given."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.sql.tree.expressions import Expression
from shared.errors import ErrorLocation


@dataclass(frozen=True, slots=True)
class CallArgument:
    """An argument; ``name`` is None for a positional one.

    ``text`` is the value as written; ``location`` is where the argument begins.
    """

    name: str | None
    value: Expression
    text: str
    location: ErrorLocation
