"""Rows of the remote database by a server-side cursor, as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from coordinator.values.arrow_types import source_type
from shared.plan.types import parse_type
from shared.spi.relation import JdbcRelation

_BATCH_ROWS = 4096


def read_batches(
    connection: Connection, relation: JdbcRelation, sql: str, *, keep: bool = False
) -> Iterator[pa.RecordBatch]:
    """The rows of ``sql`` as they arrive, at least one batch; raises SQLAlchemy's and Arrow's errors.

    ``keep`` says that other cursors of ``connection`` are read at the same time: where the driver cannot do that, the
    rows are fetched whole.
    """
    streams = connection.dialect.name == "postgresql" or not keep
    options = {"stream_results": True, "max_row_buffer": _BATCH_ROWS} if streams else {}
    result = connection.execute(sa.text(sql.replace(":", r"\:")), execution_options=options)
    yield _batch(relation, result.fetchmany(_BATCH_ROWS))
    while rows := result.fetchmany(_BATCH_ROWS):
        yield _batch(relation, rows)


def _batch(relation: JdbcRelation, rows: Any) -> pa.RecordBatch:
    arrays = [_array([row[i] for row in rows], type_) for i, type_ in enumerate(relation.types)]
    return pa.RecordBatch.from_arrays(arrays, names=list(relation.columns))


def _array(values: list[Any], type_: str) -> pa.Array:
    match parse_type(type_).base:
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
            return pa.array([v if v is None else Decimal(v) for v in values], source_type(type_))
        case _:
            return pa.array(values, source_type(type_))


def _time(value: str) -> str:
    return "%H:%M:%S.%f" if "." in value else "%H:%M:%S"
