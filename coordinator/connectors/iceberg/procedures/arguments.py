"""Records of arguments that several procedures share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from shared.spi.procedure_arguments import Declared


@dataclass(frozen=True, slots=True, kw_only=True)
class TableArguments:
    """The table that is meant; what lets callers also write ``table => 'schema.table'``."""

    schema: Annotated[str, Declared("varchar", "Schema of the table.")]
    table_name: Annotated[str, Declared("varchar", "Name of the table.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotArguments(TableArguments):
    """A snapshot of the table."""

    snapshot_id: Annotated[int | None, Declared("bigint", "The snapshot; default: the current one.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitArguments(TableArguments):
    """How many rows are wanted."""

    limit: Annotated[int, Declared("integer", "Most rows to return, the newest first.")] = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointArguments(TableArguments):
    """A savepoint of the table."""

    instant_time: Annotated[str, Declared("varchar", "The savepoint's commit: a snapshot id or its time.")]
