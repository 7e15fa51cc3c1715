"""Records of the kernels' contract as bytes and back: JSON, one object a record, and a kernel by its name.

What a record holds is said by its dataclass; fields that are left out of the bytes have their defaults.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Generic, Protocol, TypeVar, get_args, get_origin, get_type_hints

from .storage import VendedStorage
from .vended import dispatch, vended_storage

Task = TypeVar("Task")
Answer = TypeVar("Answer")
Record = TypeVar("Record")
_Reader = Callable[[Any], Any]


class Workers(Protocol):
    """What runs kernels: the SPI's WorkerRuntime."""

    def run_tasks(self, kernel: str, payloads: Sequence[bytes], *, description: str = "") -> Iterator[bytes]: ...


@dataclass(frozen=True, slots=True)
class Kernel(Generic[Task, Answer]):
    """A kernel: its name as ``module:function``, the record it takes and what it answers: a record, or plain bytes."""

    name: str
    task: type[Task]
    answer: type[Answer]

    def run(self, workers: Workers, tasks: Sequence[Task], description: str = "") -> Iterator[Answer]:
        """The answers of all tasks as they come, in no order."""
        if any(vended_storage(task) is not None for task in tasks):
            answers = dispatch(self.name, workers, tasks, encode, description)
        else:
            payloads = [encode(task) for task in tasks]
            answers = workers.run_tasks(self.name, payloads, description=description) if payloads else iter(())
        for raw in answers:
            yield decode(self.answer, raw)


def encode(record: object) -> bytes:
    """A record as bytes."""
    return json.dumps(record, default=_plain).encode()


def decode(type_: type[Record], raw: bytes) -> Record:
    """The record of some bytes; bytes themselves when those are asked for."""
    found: Record = raw if type_ is bytes else _record(type_, json.loads(raw))  # type: ignore[assignment]
    return found


def _plain(value: Any) -> Any:
    """What JSON has no word for: records and bytes."""
    if isinstance(value, VendedStorage):
        return value.current()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    type_: Any = type(value)
    return {name: getattr(value, name) for name in _names(type_)}


@cache
def _names(type_: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(type_))


def _record(type_: Any, raw: dict[str, Any]) -> Any:
    readers = _readers(type_)
    return type_(**{name: readers[name](value) if name in readers else value for name, value in raw.items()})


@cache
def _readers(type_: Any) -> dict[str, _Reader]:
    """How the fields of a record are read that are not what JSON gives."""
    found = {name: _reader(hint) for name, hint in get_type_hints(type_).items()}
    return {name: reader for name, reader in found.items() if reader is not None}


def _reader(hint: Any) -> _Reader | None:
    """How a value of a type is made of JSON's; None where it is JSON's own."""
    if is_dataclass(hint):
        return lambda raw: _record(hint, raw)
    if hint is bytes:
        return base64.b64decode
    origin, inner = get_origin(hint), [_reader(argument) for argument in get_args(hint)]
    if origin is tuple:
        return lambda raw: tuple(v if r is None else r(v) for r, v in zip(inner, raw, strict=True))
    each = next((reader for reader in inner if reader is not None), None)
    if each is None:
        return None
    if origin is list:
        return lambda raw: [each(value) for value in raw]
    if origin is dict:
        return lambda raw: {key: each(value) for key, value in raw.items()}
    return lambda raw: None if raw is None else each(raw)
