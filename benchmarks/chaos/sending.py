"""Rows in bulk over Flight SQL, as an operation that harm meets."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import adbc_driver_flightsql.dbapi
import pyarrow as pa

from benchmarks.chaos.tables import FILES, part
from benchmarks.fuzz.client import Answer
from tests.e2e.service import Service

BULK = "rows in bulk"
FIRST_SENT = 3_000_000
"""From which id on rows are sent, as many as there were in the table at first."""
_BATCHES = 20


def send(service: Service, name: Sequence[str], catalog: str, rows: int) -> Answer:
    """Appends them to a table in one stream that takes a second; what it said as a statement's answer."""
    started = time.monotonic()
    uri, user = f"grpc://127.0.0.1:{service.flight_port}", {"username": "chaos", "password": ""}
    first = part(FIRST_SENT, 1)
    stream = pa.RecordBatchReader.from_batches(first.schema, _batches(FILES * rows))
    try:
        with (
            adbc_driver_flightsql.dbapi.connect(uri, db_kwargs=user, autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            cursor.adbc_ingest(name[-1], stream, "append", catalog_name=catalog, db_schema_name=name[0])
    except adbc_driver_flightsql.dbapi.Error as error:
        told = (type(error).__name__, "FLIGHT", str(error))
        return Answer(200, error=told, seconds=time.monotonic() - started)
    return Answer(200, seconds=time.monotonic() - started)


def _batches(rows: int) -> Iterator[pa.RecordBatch]:
    each = rows // _BATCHES
    for number in range(_BATCHES):
        time.sleep(1 / _BATCHES)
        yield from part(FIRST_SENT + number * each, each).to_batches()
