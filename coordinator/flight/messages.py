"""Messages of Arrow Flight and of Flight SQL, between bytes and records. Source: Flight.proto and FlightSql.proto."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from coordinator.dispatch.arrow_chunks import split_message
from coordinator.flight.wire import Fields, WireError, message

_TYPE_URL = "type.googleapis.com/"
_PACKAGE = "arrow.flight.protocol.sql."
_COMMAND = 2
"""The type of a descriptor that holds a command; others name paths."""
CANCELLED, NOT_CANCELLABLE = 1, 3


def packed(name: str, body: bytes) -> bytes:
    """A message of Flight SQL wrapped with its name."""
    return message((1, f"{_TYPE_URL}{_PACKAGE}{name}"), (2, body))


def unpacked(data: bytes) -> tuple[str, Fields]:
    """The name and the fields of a wrapped message. Raises WireError."""
    wrapped = Fields(data)
    name = wrapped.text(1).rpartition("/")[2]
    if not name.startswith(_PACKAGE):
        raise WireError("no message of Flight SQL")
    return name.removeprefix(_PACKAGE), Fields(wrapped.data(2))


def command_of(descriptor: bytes) -> bytes:
    """The command in a descriptor. Raises WireError."""
    fields = Fields(descriptor)
    if fields.integer(1) != _COMMAND:
        raise WireError("the descriptor names a path and holds no command")
    return fields.data(2)


def schema_bytes(schema: pa.Schema) -> bytes:
    """As an encapsulated IPC message."""
    return schema.serialize().to_pybytes()


def flight_info(schema: pa.Schema | None, descriptor: bytes, ticket: bytes, metadata: bytes | None = None) -> bytes:
    """One endpoint, without a location: the ticket is good where it was given. ``metadata`` is ours."""
    shown = None if schema is None else schema_bytes(schema)
    endpoint = message((1, message((1, ticket))))
    return message((1, shown), (2, descriptor), (3, endpoint), (4, -1), (5, -1), (6, 1), (7, metadata))


def tickets_of(info: bytes) -> tuple[bytes, ...]:
    """The tickets of a FlightInfo. Raises WireError."""
    return tuple(ticket_of(Fields(endpoint).data(1)) for endpoint in Fields(info).messages(3))


def ticket_of(data: bytes) -> bytes:
    """What is in a Ticket. Raises WireError."""
    return Fields(data).data(1)


def flight_data(ipc_message: bytes | memoryview) -> bytes:
    """FlightData with one message of an IPC stream."""
    header, body = split_message(ipc_message)
    return message((2, header), (1000, body))


@dataclass(frozen=True, slots=True)
class ClientData:
    """FlightData that a client sends."""

    descriptor: bytes
    header: bytes
    body: bytes

    @classmethod
    def read(cls, data: bytes) -> ClientData:
        """Raises WireError."""
        fields = Fields(data)
        return cls(fields.data(1), fields.data(2), fields.data(1000))


@dataclass(frozen=True, slots=True)
class Action:
    """What DoAction asks for."""

    name: str
    body: bytes

    @classmethod
    def read(cls, data: bytes) -> Action:
        """Raises WireError."""
        fields = Fields(data)
        return cls(fields.text(1), fields.data(2))


def result(body: bytes) -> bytes:
    """A Result of DoAction."""
    return message((1, body))


def put_result(body: bytes) -> bytes:
    """A PutResult of DoPut, whose metadata is ``body``."""
    return message((1, body))
