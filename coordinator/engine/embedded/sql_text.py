"""Names and literals in DuckDB's SQL."""

from __future__ import annotations


def text(value: str) -> str:
    """A literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def identifier(value: str) -> str:
    """A quoted name of SQL."""
    return '"' + value.replace('"', '""') + '"'
