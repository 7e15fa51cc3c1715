"""Bulk ingestion: a statement of ours over the rows that a client sends, by whatever ways INSERT and CTAS go."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from coordinator.flight.backend import Backend
from coordinator.flight.call import Call
from coordinator.flight.callers import Caller
from coordinator.flight.commands import Ingest
from coordinator.flight.failures import invalid
from coordinator.flight.ingest_texts import ingest_texts
from coordinator.flight.ipc import read_schema
from coordinator.flight.messages import ClientData
from coordinator.flight.sent_rows import SentRows
from coordinator.flight.sent_types import sent_columns


async def ingest(backend: Backend, call: Call, caller: Caller, asked: Ingest, first: ClientData) -> int:
    """How many rows came into the table. Raises CallError; then none did."""
    schema = await _schema(call, first)
    columns = sent_columns(read_schema(schema))
    texts = ingest_texts(asked, columns)
    loop = asyncio.get_running_loop()

    def receive() -> Future[bytes | None]:
        return asyncio.run_coroutine_threadsafe(call.next_of_many(), loop)

    statements = backend.statements
    rows = SentRows(schema, columns, receive, statements.space)
    try:
        return await backend.crossing.run(statements.ingest(caller, texts, columns, rows))
    finally:
        rows.stop()


async def _schema(call: Call, first: ClientData) -> ClientData:
    """The message with the schema: some clients send the command in one of its own."""
    data: ClientData | None = first
    for _ in range(10):
        if data is None or data.header:
            break
        received = await call.next()
        data = None if received is None else ClientData.read(received)
    if data is None or not data.header:
        raise invalid("The rows have no schema")
    return data
