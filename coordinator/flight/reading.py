"""GetFlightInfo, GetSchema and DoGet: from a command to its rows."""

from __future__ import annotations

import asyncio

import pyarrow as pa

from coordinator.dispatch.arrow_stream import ArrowStream
from coordinator.flight.backend import Backend
from coordinator.flight.call import Call
from coordinator.flight.callers import Caller
from coordinator.flight.commands import (
    GetSqlInfo,
    GetTables,
    Ingest,
    Metadata,
    PreparedQuery,
    PreparedUpdate,
    StatementQuery,
    StatementTicket,
    StatementUpdate,
    Unsupported,
    read_command,
)
from coordinator.flight.failures import invalid, unsupported
from coordinator.flight.messages import command_of, flight_data, flight_info, packed, schema_bytes, ticket_of
from coordinator.flight.metadata import columns_sql, metadata_schema, metadata_sql, with_schemas
from coordinator.flight.prepared import Prepared
from coordinator.flight.session_options import after, cookie
from coordinator.flight.sql_info import sql_info_batch
from coordinator.flight.wire import message


class Reading:
    """Raises CallError and WireError."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def flight_info(self, call: Call, caller: Caller) -> None:
        """Start what is asked for, and say by which ticket its rows are had."""
        descriptor = await call.message()
        command = command_of(descriptor)
        match read_command(command):
            case StatementQuery(text):
                await self._started(call, caller, descriptor, text)
            case PreparedQuery(handle):
                text = prepared_text(self._backend.prepared.find(caller, handle))
                await self._started(call, caller, descriptor, text)
            case StatementUpdate() | PreparedUpdate() | Ingest() | StatementTicket():
                raise invalid("The command has no rows")
            case Unsupported(name):
                raise unsupported(name)
            case asked:
                # Run with DoGet, by whoever brings it then.
                await call.send(flight_info(metadata_schema(asked), descriptor, command))

    async def _started(self, call: Call, caller: Caller, descriptor: bytes, text: str) -> None:
        backend = self._backend
        started = await backend.crossing.run(backend.statements.started(caller, text))
        options = after(caller.options, started.change)
        if options is not None:
            await call.set_cookie(cookie(options))
        ticket = packed("TicketStatementQuery", message((1, started.handle)))
        await call.send(flight_info(started.schema, descriptor, ticket, started.metadata()))

    async def schema(self, call: Call, caller: Caller) -> None:
        """The schema of what is asked for; nothing runs."""
        backend = self._backend
        match read_command(command_of(await call.message())):
            case StatementQuery(text):
                found: pa.Schema | None = await backend.crossing.run(backend.statements.schema_of(caller, text))
            case PreparedQuery(handle):
                found = backend.prepared.find(caller, handle).columns
            case StatementUpdate() | PreparedUpdate() | Ingest() | StatementTicket():
                found = None
            case Unsupported(name):
                raise unsupported(name)
            case asked:
                found = metadata_schema(asked)
        if found is None:
            raise invalid("The command has no rows")
        await call.send(message((1, schema_bytes(found))))

    async def rows(self, call: Call, caller: Caller) -> None:
        """The rows behind a ticket."""
        backend = self._backend
        match read_command(ticket_of(await call.message())):
            case StatementTicket(handle):
                stream = await backend.crossing.call(lambda: backend.statements.stream_of(caller, handle))
                await self._stream(call, stream, None)
            case Unsupported(name):
                raise unsupported(name)
            case StatementQuery() | StatementUpdate() | PreparedQuery() | PreparedUpdate() | Ingest():
                raise invalid("A ticket is what GetFlightInfo gives")
            case asked:
                await self._metadata(call, caller, asked)

    async def _metadata(self, call: Call, caller: Caller, asked: Metadata) -> None:
        backend, schema = self._backend, metadata_schema(asked)
        sql = metadata_sql(asked)
        match asked:
            case GetSqlInfo(codes):
                await self._batch(call, sql_info_batch(backend.info, codes))
            case GetTables(include_schema=True) if sql is not None:
                tables = await backend.crossing.run(backend.statements.rows(caller, sql))
                columns = await backend.crossing.run(backend.statements.rows(caller, columns_sql(asked)))
                await self._batch(call, await asyncio.to_thread(with_schemas, tables, columns))
            case _ if sql is not None:
                stream = await backend.crossing.call(lambda: backend.statements.submit(caller, sql))
                await self._stream(call, stream, schema)
            case _:
                await call.send(flight_data(schema_bytes(schema)))

    async def _batch(self, call: Call, batch: pa.RecordBatch) -> None:
        await call.send(flight_data(schema_bytes(batch.schema)))
        await call.send(flight_data(batch.serialize().to_pybytes()))

    async def _stream(self, call: Call, stream: ArrowStream, schema: pa.Schema | None) -> None:
        """``schema`` in place of the statement's own, whose columns have the same types."""
        backend = self._backend
        try:
            own = await backend.crossing.run(backend.statements.first(stream))
            await call.send(flight_data(schema_bytes(own if schema is None else schema)))
            async for chunks in backend.crossing.each(backend.statements.chunks(stream)):
                for chunk in chunks:
                    await call.send(flight_data(chunk.data))
        finally:
            backend.crossing.soon(stream.leave)


def prepared_text(prepared: Prepared) -> str:
    """The statement with its parameters. Raises CallError unless there is one row of them, or none is wanted."""
    if prepared.parameters is None:
        return prepared.text
    if len(prepared.bound) != 1:
        raise invalid(f"The statement needs one row of parameters; {len(prepared.bound)} are set")
    return prepared.statement(prepared.bound[0])
