"""Rows of PostgreSQL by its ADBC driver: as Arrow, through COPY in binary, with no Python object a value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import time
from typing import Any

import adbc_driver_postgresql.dbapi as driver
import pyarrow as pa
import pyarrow.compute as pc
from psycopg2.extensions import make_dsn

from coordinator.connectors.jdbc.database import Database
from coordinator.values.arrow_types import source_type
from shared.plan.types import parse_type
from shared.spi.relation import JdbcRelation

_BATCH_BYTES = 4 << 20


def read_batches(
    database: Database, relation: JdbcRelation, name: str, snapshot: str | None, opened: ExitStack
) -> Iterator[pa.RecordBatch]:
    """The rows of ``relation`` in a session called ``name``, in ``snapshot`` when one is given, at least one batch.

    The connection lives until ``opened`` is closed. Raises the driver's and Arrow's errors.
    """
    connection = opened.enter_context(driver.connect(_address(database, name)))
    cursor = opened.enter_context(connection.cursor())
    if snapshot is not None and database.dialect.import_snapshot is not None:
        cursor.executescript(database.dialect.import_snapshot(snapshot))
    cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(_BATCH_BYTES)})
    cursor.execute(f"/* {name} */ {relation.sql}")
    some = False
    for batch in cursor.fetch_record_batch():
        some = True
        yield _typed(batch, relation)
    if not some:
        yield _empty(relation)


def _address(database: Database, name: str) -> str:
    """libpq's keywords and values, the password among them."""
    url = database.settings.url
    arguments = database.connect_arguments()
    named = {"host": url.host, "port": url.port, "dbname": url.database, "user": url.username, "password": url.password}
    return str(make_dsn(**{k: v for k, v in named.items() if v is not None}, application_name=name, **arguments))


def _typed(batch: pa.RecordBatch, relation: JdbcRelation) -> pa.RecordBatch:
    arrays = [_column(column, type_) for column, type_ in zip(batch.columns, relation.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(relation.columns))


def _empty(relation: JdbcRelation) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([], source_type(type_)) for type_ in relation.types], names=list(relation.columns)
    )


def _column(column: Any, type_: str) -> pa.Array:
    """A column in the type that engines expect; numeric arrives as text."""
    values = column.storage if isinstance(column, pa.ExtensionArray) else column
    match parse_type(type_).base:
        case "char":
            # Presto pads when it shows a char; between engines it travels without trailing spaces.
            return pc.utf8_rtrim(values, characters=" ")
        case "time":
            return pa.array([v if v is None else time.fromisoformat(v) for v in values.to_pylist()], pa.time64("us"))
        case _:
            return values.cast(source_type(type_))
