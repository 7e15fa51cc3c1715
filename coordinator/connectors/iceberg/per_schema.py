"""What is known of a schema alone, found once: statements ask the same tables again and again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from pyiceberg.schema import Schema

R = TypeVar("R")
_MOST = 256
"""Schemas whose answers are kept; beyond them all are forgotten."""


def per_schema(function: Callable[[Schema], R]) -> Callable[[Schema], R]:
    """``function``, asked once for each schema of a table that is loaded; whoever asks must not change the answer.

    Schemas are told apart by identity: comparing them takes as long as asking. They hold nothing of their tables.
    """
    answers: dict[int, tuple[Schema, R]] = {}

    @wraps(function)
    def asked(schema: Schema) -> R:
        known = answers.get(id(schema))
        if known is not None and known[0] is schema:
            return known[1]
        answer = function(schema)
        if len(answers) >= _MOST:
            answers.clear()
        answers[id(schema)] = (schema, answer)
        return answer

    return asked
