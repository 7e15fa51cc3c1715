"""Which versions of which tables a statement was planned from, so that a plan that waited can be told to be stale."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from shared.spi.connector import TableMetadata, ViewMetadata


@dataclass(frozen=True, slots=True)
class TableVersion:
    """One look at a table: what was asked for, and a digest of what the connector said (of nothing, for no table)."""

    catalog: str
    schema: str
    name: str
    version: object
    digest: str
    view: bool = False


_RECORDER: ContextVar[list[TableVersion] | None] = ContextVar("table_versions", default=None)


@contextmanager
def recording() -> Iterator[list[TableVersion]]:
    """Meanwhile, on this thread, ``note`` adds to the list."""
    seen: list[TableVersion] = []
    token = _RECORDER.set(seen)
    try:
        yield seen
    finally:
        _RECORDER.reset(token)


def note(catalog: str, schema: str, name: str, version: object, table: TableMetadata | None) -> None:
    """A table was looked at."""
    seen = _RECORDER.get()
    if seen is not None:
        seen.append(TableVersion(catalog, schema, name, version, digest(table)))


def note_view(catalog: str, schema: str, name: str, view: ViewMetadata | None) -> None:
    """A view was looked at."""
    seen = _RECORDER.get()
    if seen is not None:
        seen.append(TableVersion(catalog, schema, name, None, view_digest(view), view=True))


def view_digest(view: ViewMetadata | None) -> str:
    """Equal for equal views, in every process."""
    return hashlib.blake2b(repr(view).encode(), digest_size=16).hexdigest()


def digest(table: TableMetadata | None) -> str:
    """Equal for equal metadata, in every process; transactions are new each time and do not count."""
    if table is not None and table.digest is not None:
        return table.digest
    said = table and (table.handle.connectorId, table.handle.connectorHandle, table.columns, table.snapshot_id)
    return hashlib.blake2b(repr(said).encode(), digest_size=16).hexdigest()
