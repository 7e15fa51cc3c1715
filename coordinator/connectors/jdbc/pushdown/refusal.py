"""Why something stays with the engine; for EXPLAIN."""

from __future__ import annotations


class NotPushable(Exception):  # noqa: N818 - a reason, not an error
    """An expression that the remote database does not compute with Presto's meaning; the text says which part."""
