"""The refusal of what an engine cannot run."""

from __future__ import annotations

from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.expressions import SourceLocation


def unsupported(what: str, dialect: str) -> ProcessionError:
    """The refusal of what an engine cannot run with Presto's meaning."""
    engine = {"duckdb": "the local engine", "spark": "Spark"}[dialect]
    return ProcessionError(ErrorCode.NOT_SUPPORTED, f"{what} is not supported by {engine}")


def place_refusal(error: ProcessionError, place: SourceLocation | None) -> None:
    """Says where in the statement the refused part stands, unless a part inside it has said so."""
    if error.location is None and place is not None and error.code is ErrorCode.NOT_SUPPORTED:
        error.location = ErrorLocation(place.line, place.column)
