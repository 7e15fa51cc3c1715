"""The calls of Flight as gRPC brings them: who calls is settled before anything that they send is read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import grpc
import structlog

from coordinator.dispatch.failures import internal_error
from coordinator.flight.actions import ACTIONS, Actions
from coordinator.flight.backend import Backend
from coordinator.flight.call import Call
from coordinator.flight.callers import Arrival, Caller, metadata_of
from coordinator.flight.failures import CallError, invalid, unsupported
from coordinator.flight.reading import Reading
from coordinator.flight.tls import client_subject
from coordinator.flight.wire import WireError, message
from coordinator.flight.writing import Writing
from coordinator.security.authentication.authentication import UNAUTHORIZED

_SERVICE = "/arrow.flight.protocol.FlightService/"
_log = structlog.get_logger(__name__)
Answer = Callable[[Call, Caller], Awaitable[None]]


class FlightService(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Every call is taken as a stream in both directions, which on the wire is the same as one message."""

    def __init__(self, backend: Backend, *, secure: bool) -> None:
        self._backend, self._secure = backend, secure
        reading = Reading(backend)
        self._answers: Mapping[str, Answer] = {
            "GetFlightInfo": reading.flight_info,
            "GetSchema": reading.schema,
            "DoGet": reading.rows,
            "DoPut": Writing(backend).put,
            "DoAction": Actions(backend).act,
            "ListActions": _list_actions,
            "ListFlights": _list_flights,
        }

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """The handler of a call; None for what is no call of Flight."""
        name = details.method.removeprefix(_SERVICE)
        if name == details.method:
            return None
        if name == "Handshake":
            return grpc.stream_stream_rpc_method_handler(self._handshake)
        answer = self._answers.get(name, _unsupported)

        async def handle(_: object, context: grpc.aio.ServicerContext) -> None:
            await self._ending(context, lambda: self._called(context, answer))

        return grpc.stream_stream_rpc_method_handler(handle)

    async def _called(self, context: grpc.aio.ServicerContext, answer: Answer) -> None:
        backend = self._backend
        caller = await backend.crossing.run(backend.callers.caller(self._arrival(context)))
        await answer(self._call(context), caller)

    async def _handshake(self, _: object, context: grpc.aio.ServicerContext) -> None:
        """Who brings a user and a password gets a token, which is shorter to look at."""

        async def answer() -> None:
            backend = self._backend
            token = await backend.crossing.run(backend.callers.token(self._arrival(context)))
            await context.send_initial_metadata((("authorization", f"Bearer {token}"),))
            await self._call(context).next()

        await self._ending(context, answer)

    def _call(self, context: grpc.aio.ServicerContext) -> Call:
        settings = self._backend.settings
        return Call(context, settings.receive_timeout, self._backend.statements.patience, settings.message_size)

    def _arrival(self, context: grpc.aio.ServicerContext) -> Arrival:
        metadata, subject = metadata_of(context.invocation_metadata() or ()), client_subject(context.auth_context())
        return Arrival(metadata, _address(context.peer()), self._secure, subject)

    async def _ending(self, context: grpc.aio.ServicerContext, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except CallError as error:
            failure = error
        except WireError as error:
            failure = invalid(f"The message cannot be read: {error}")
        except TimeoutError:
            failure = CallError(grpc.StatusCode.DEADLINE_EXCEEDED, "The client neither sends nor takes anything")
        except Exception as error:
            failure = CallError(grpc.StatusCode.INTERNAL, internal_error(error).message)
        else:
            return
        if failure.status is grpc.StatusCode.UNAUTHENTICATED and failure.text != UNAUTHORIZED:
            _log.info("call refused", address=_address(context.peer()), reason=failure.text)
        trailers = () if failure.error_name is None else (("x-presto-error-name", failure.error_name),)
        await context.abort(failure.status, failure.text, trailers)


async def _list_actions(call: Call, _: Caller) -> None:
    for name, description in ACTIONS.items():
        await call.send(message((1, name), (2, description)))


async def _list_flights(_call: Call, _: Caller) -> None:
    """None: what is there, GetTables tells."""


async def _unsupported(_call: Call, _: Caller) -> None:
    raise unsupported("the call")


def _address(peer: str) -> str | None:
    """``ipv4:127.0.0.1:5000`` or ``ipv6:%5B::1%5D:5000``."""
    kind, _, rest = peer.partition(":")
    host = rest.rpartition(":")[0]
    return host.replace("%5B", "").replace("%5D", "").strip("[]") if kind in ("ipv4", "ipv6") else None
