"""DoAction: prepared statements made and closed, statements cancelled."""

from __future__ import annotations

from functools import partial

from coordinator.flight.backend import Backend
from coordinator.flight.call import Call
from coordinator.flight.callers import Caller
from coordinator.flight.commands import StatementTicket, read_command
from coordinator.flight.failures import unsupported
from coordinator.flight.messages import (
    CANCELLED,
    NOT_CANCELLABLE,
    Action,
    packed,
    result,
    schema_bytes,
    tickets_of,
    unpacked,
)
from coordinator.flight.session_options import CLOSED, GONE, changed, cookie, shown
from coordinator.flight.wire import Fields, message

ACTIONS = {
    "CreatePreparedStatement": "Prepare a statement: ActionCreatePreparedStatementRequest",
    "ClosePreparedStatement": "Forget a prepared statement: ActionClosePreparedStatementRequest",
    "CancelFlightInfo": "End a statement: CancelFlightInfoRequest",
    "SetSessionOptions": "Set catalog, schema or session properties: SetSessionOptionsRequest",
    "GetSessionOptions": "What the session sets: GetSessionOptionsRequest",
    "CloseSession": "Forget what the session sets: CloseSessionRequest",
    "CancelQuery": "End a statement, in the older way: ActionCancelQueryRequest",
}


class Actions:
    """Raises CallError and WireError."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def act(self, call: Call, caller: Caller) -> None:
        """One DoAction."""
        action = Action.read(await call.message())
        match action.name:
            case "CreatePreparedStatement":
                await self._prepare(call, caller, unpacked(action.body)[1])
            case "ClosePreparedStatement":
                self._backend.prepared.close(caller, unpacked(action.body)[1].data(1))
            case "CancelFlightInfo":
                status = await self._cancel(caller, Fields(action.body).data(1))
                await call.send(result(message((1, status))))
            case "CancelQuery":
                status = await self._cancel(caller, unpacked(action.body)[1].data(1))
                await call.send(result(packed("ActionCancelQueryResult", message((1, status)))))
            case "SetSessionOptions":
                options, answer = changed(caller.options, action.body)
                await call.set_cookie(cookie(options))
                await call.send(result(answer))
            case "GetSessionOptions":
                await call.send(result(shown(caller.session, caller.options)))
            case "CloseSession":
                await call.set_cookie(GONE)
                await call.send(result(message((1, CLOSED))))
            case name:
                raise unsupported(f"action {name[:100]!r}")

    async def _prepare(self, call: Call, caller: Caller, asked: Fields) -> None:
        if asked.data(2):
            raise unsupported("transactions")
        backend = self._backend
        prepared = await backend.crossing.run(backend.statements.prepared(caller, asked.text(1)))
        handle = backend.prepared.keep(caller, prepared)
        schemas = (prepared.columns, prepared.parameters)
        shown = [None if schema is None else schema_bytes(schema) for schema in schemas]
        body = message((1, handle), (2, shown[0]), (3, shown[1]))
        await call.send(result(packed("ActionCreatePreparedStatementResult", body)))

    async def _cancel(self, caller: Caller, info: bytes) -> int:
        backend, ended = self._backend, False
        for ticket in tickets_of(info):
            asked = read_command(ticket)
            if isinstance(asked, StatementTicket):
                ended = await backend.crossing.call(partial(backend.statements.cancel, caller, asked.handle)) or ended
        return CANCELLED if ended else NOT_CANCELLABLE
