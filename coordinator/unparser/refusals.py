"""The refusal of what an engine cannot run."""

from __future__ import annotations

from shared.errors import ErrorCode, ProcessionError


def unsupported(what: str, dialect: str) -> ProcessionError:
    """The refusal of what an engine cannot run with Presto's meaning."""
    engine = {"duckdb": "the local engine", "spark": "Spark"}[dialect]
    return ProcessionError(ErrorCode.NOT_SUPPORTED, f"{what} is not supported by {engine}")
