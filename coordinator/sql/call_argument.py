"""What CALL and ``ALTER TABLE … EXECUTE`` are given."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.expressions import Expression
from sqlglot.tokens import Token

from shared.errors import ErrorLocation


@dataclass(frozen=True, slots=True)
class CallArgument:
    """An argument as written; ``name`` is None for a positional one.

    ``tokens`` are those of the value, which ``tree`` shows parsed; ``location`` is where the argument begins.
    """

    name: str | None
    tree: Expression
    tokens: tuple[Token, ...]
    location: ErrorLocation
