"""Statements of Presto's grammar that nothing here can do, refused in Presto's words."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator.sql.statements import OtherStatement
from shared.errors import ErrorCode, ProcessionError

_WORDS: Mapping[str, str] = {
    "ALTER TABLE ADD CONSTRAINT": "This connector does not support adding table constraints",
    "ALTER TABLE DROP CONSTRAINT": "This connector does not support dropping table constraints",
}


def refusal(statement: OtherStatement) -> ProcessionError:
    """Why the statement cannot be run."""
    words = _WORDS.get(statement.kind)
    if words is not None:
        return ProcessionError(ErrorCode.NOT_SUPPORTED, words)
    return ProcessionError(ErrorCode.NOT_SUPPORTED, f"{statement.kind} is not supported", location=statement.location)
