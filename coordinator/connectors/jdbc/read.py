"""Rows of the remote database as Arrow batches in the coordinator, for results that are not worth waking Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa
import sqlalchemy as sa

from coordinator.connectors.jdbc.database import Database
from coordinator.engine.arrow_types import arrow_type
from shared.plan.types import parse_type
from shared.spi.relation import ArrowStream, JdbcRelation

_BATCH_ROWS = 4096


def read_arrow(database: Database, relation: JdbcRelation) -> ArrowStream:
    """The result of ``relation`` as a stream, by a server-side cursor. Raises ProcessionError."""
    batches = _batches(database, relation)
    first = next(batches)
    return cast(ArrowStream, pa.RecordBatchReader.from_batches(first.schema, _and_then(first, batches)))


def _and_then(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _batches(database: Database, relation: JdbcRelation) -> Iterator[pa.RecordBatch]:
    with database.connection() as connection:
        # A server-side cursor lives in a transaction.
        streamed = connection.execution_options(
            isolation_level="READ COMMITTED", stream_results=True, max_row_buffer=_BATCH_ROWS
        )
        result = streamed.execute(sa.text(relation.sql.replace(":", r"\:")))
        yield _batch(relation, result.fetchmany(_BATCH_ROWS))
        while rows := result.fetchmany(_BATCH_ROWS):
            yield _batch(relation, rows)


def _batch(relation: JdbcRelation, rows: Any) -> pa.RecordBatch:
    arrays = [_array([row[i] for row in rows], kind) for i, kind in enumerate(relation.types)]
    return pa.RecordBatch.from_arrays(arrays, names=list(relation.columns))


def _array(values: list[Any], kind: str) -> pa.Array:
    match parse_type(kind).base:
        case "timestamp with time zone":
            return pa.array(values, pa.timestamp("us", tz="UTC"))
        case "char":
            # Presto pads when it shows a char; between engines it travels without trailing spaces.
            return pa.array([v if v is None else str(v).rstrip(" ") for v in values], pa.string())
        case "boolean":
            return pa.array([v if v is None else bool(v) for v in values], pa.bool_())
        case "varbinary":
            return pa.array([v if v is None else bytes(v) for v in values], pa.binary())
        case "time":
            return pa.array([v if v is None else datetime.strptime(v[:15], _time(v)).time() for v in values])
        case "decimal":
            return pa.array([v if v is None else Decimal(v) for v in values], arrow_type(kind))
        case _:
            return pa.array(values, arrow_type(kind))


def _time(value: str) -> str:
    return "%H:%M:%S.%f" if "." in value else "%H:%M:%S"
