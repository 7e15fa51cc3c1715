"""DoPut: parameters of prepared statements, and statements that change something."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pyarrow as pa

from coordinator.flight.backend import Backend
from coordinator.flight.call import Call
from coordinator.flight.callers import Caller
from coordinator.flight.commands import (
    Ingest,
    PreparedQuery,
    PreparedUpdate,
    StatementUpdate,
    Unsupported,
    read_command,
)
from coordinator.flight.failures import invalid, unsupported
from coordinator.flight.ingesting import ingest
from coordinator.flight.ipc import read_batch, read_schema
from coordinator.flight.messages import ClientData, command_of, put_result
from coordinator.flight.parameters import literal_rows
from coordinator.flight.prepared import Literals
from coordinator.flight.session_options import after, cookie
from coordinator.flight.wire import message

_OTHER_MESSAGES = 10
"""That one DoPut may bring besides a batch for each row: the command, the schema, and some that are empty."""


class Writing:
    """Raises CallError and WireError."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def put(self, call: Call, caller: Caller) -> None:
        """One DoPut."""
        backend = self._backend
        first = ClientData.read(await call.message())
        match read_command(command_of(first.descriptor)):
            case StatementUpdate(text):
                count = await self._updates(call, caller, [text])
                await call.send(put_result(message((1, count))))
            case PreparedUpdate(handle):
                prepared = backend.prepared.find(caller, handle)
                rows = await self._literals(call, first)
                if rows is None:
                    if prepared.parameters is not None and not prepared.bound:
                        raise invalid("The statement needs parameters")
                    rows = list(prepared.bound) or [()]
                count = await self._updates(call, caller, [prepared.statement(row) for row in rows])
                await call.send(put_result(message((1, count))))
            case PreparedQuery(handle):
                backend.prepared.find(caller, handle)
                rows = await self._literals(call, first)
                backend.prepared.bind(caller, handle, tuple(rows or ()))
                await call.send(put_result(message((1, handle))))
            case Ingest() as asked:
                count = await ingest(backend, call, caller, asked, first)
                await call.send(put_result(message((1, count))))
            case Unsupported(name):
                raise unsupported(name)
            case _:
                raise invalid("The command takes no rows")

    async def _updates(self, call: Call, caller: Caller, texts: Sequence[str]) -> int:
        """How many rows all of them changed; what they change of the session goes into the client's cookie."""
        total, options, said = 0, caller.options, False
        for text in texts:
            count, change = await self._backend.crossing.run(self._backend.statements.update(caller, text))
            total += count
            changed = after(options, change)
            options, said = (options, said) if changed is None else (changed, True)
        if said:
            await call.set_cookie(cookie(options))
        return total

    async def _literals(self, call: Call, first: ClientData) -> list[Literals] | None:
        """The parameters that come after the command; None where no columns of them come.

        Clients send a schema without columns for a statement without parameters.
        """
        most, room = self._backend.settings.parameter_rows, self._backend.settings.message_size
        data: ClientData | None = first
        schema: pa.Schema | None = None
        rows: list[Literals] = []
        count = 0
        while data is not None:
            count += 1
            if count > most + _OTHER_MESSAGES:
                raise invalid("Parameters in too many messages")
            if data.header:
                if schema is None:
                    schema = read_schema(data)
                else:
                    found = await asyncio.to_thread(_read_rows, data, schema, most - len(rows), room)
                    room -= sum(len(value) for row in found for value in row)
                    rows += found
            received = await call.next()
            data = None if received is None else ClientData.read(received)
        return None if schema is None or not schema.names else rows


def _read_rows(data: ClientData, schema: pa.Schema, most_rows: int, most_characters: int) -> list[Literals]:
    """Raises CallError."""
    batch = read_batch(data, schema, most_rows)
    return literal_rows(batch, most_rows=most_rows, most_characters=most_characters)
