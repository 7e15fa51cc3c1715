"""DoPut: parameters of prepared statements, and statements that change something."""

from __future__ import annotations

import pyarrow as pa

from coordinator.flight.backend import Backend
from coordinator.flight.call import Call
from coordinator.flight.callers import Caller
from coordinator.flight.commands import PreparedQuery, PreparedUpdate, StatementUpdate, Unsupported, read_command
from coordinator.flight.failures import invalid, unsupported
from coordinator.flight.messages import ClientData, command_of, put_result
from coordinator.flight.parameters import literal_rows
from coordinator.flight.prepared import Literals
from coordinator.flight.wire import message

_CONTINUES = b"\xff\xff\xff\xff"


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
                count = await self._update(caller, text)
                await call.send(put_result(message((1, count))))
            case PreparedUpdate(handle):
                prepared = backend.prepared.find(caller, handle)
                rows = await self._literals(call, first) or list(prepared.bound)
                if prepared.parameters is not None and not rows:
                    raise invalid("The statement needs parameters")
                counts = [await self._update(caller, prepared.statement(row)) for row in rows or [()]]
                await call.send(put_result(message((1, sum(counts)))))
            case PreparedQuery(handle):
                backend.prepared.find(caller, handle)
                rows = await self._literals(call, first)
                backend.prepared.bind(caller, handle, tuple(rows))
                await call.send(put_result(message((1, handle))))
            case Unsupported(name):
                raise unsupported(name)
            case _:
                raise invalid("The command takes no rows")

    async def _update(self, caller: Caller, text: str) -> int:
        return await self._backend.crossing.run(self._backend.statements.update(caller, text))

    async def _literals(self, call: Call, first: ClientData) -> list[Literals]:
        """The parameters that come after the command."""
        most, room = self._backend.settings.parameter_rows, self._backend.settings.message_size
        data: ClientData | None = first
        schema: pa.Schema | None = None
        rows: list[Literals] = []
        while data is not None:
            if data.header:
                if schema is None:
                    schema = _schema(data)
                else:
                    found = literal_rows(_batch(data, schema), most_rows=most - len(rows), most_characters=room)
                    room -= sum(len(value) for row in found for value in row)
                    rows += found
            received = await call.next()
            data = None if received is None else ClientData.read(received)
        return [row for row in rows if row]


def _ipc(data: ClientData) -> pa.Buffer:
    padding = -len(data.header) % 8
    size = (len(data.header) + padding).to_bytes(4, "little")
    return pa.py_buffer(b"".join([_CONTINUES, size, data.header, bytes(padding), data.body]))


def _schema(data: ClientData) -> pa.Schema:
    """Raises CallError."""
    try:
        return pa.ipc.read_schema(_ipc(data))
    except (pa.ArrowException, OSError) as error:
        raise invalid(f"Parameters cannot be read: {error}") from error


def _batch(data: ClientData, schema: pa.Schema) -> pa.RecordBatch:
    """Raises CallError."""
    try:
        return pa.ipc.read_record_batch(_ipc(data), schema)
    except (pa.ArrowException, OSError) as error:
        raise invalid(f"Parameters cannot be read: {error}") from error
