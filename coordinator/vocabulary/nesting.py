"""How deep plans may nest: some steps walk them by recursion, and what is too deep for those has a clear error."""

from __future__ import annotations

from shared.errors import ErrorCode, ProcessionError

RECURSION_LIMIT = 6000
"""Frames of Python in processes that plan or read plans: more than a thousand nodes, or calls, within one another."""

DUCKDB_DEPTH = 3000
"""Expressions within one another in DuckDB: its threads' stacks of 8 MiB hold some 4,600; its own limit is 1,000."""


def too_deep() -> ProcessionError:
    """Presto's error for a statement whose plan nests too deeply."""
    return ProcessionError(ErrorCode.NOT_SUPPORTED, "statement is too large (stack overflow during analysis)")
