"""A planner process: reads statements from its socket, plans them one by one, writes back plans or errors.

Started by ``coordinator.validation.planner_process`` as ``python -c``, with the number of the socket's descriptor as
its argument. Frames are an 8-byte little-endian length and a pickle; the two sides trust each other.
"""

from __future__ import annotations

import copyreg
import ctypes
import gc
import io
import logging
import os
import pickle
import signal
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, BinaryIO, Protocol, cast, get_args

import msgspec

from coordinator.vocabulary.nesting import RECURSION_LIMIT, too_deep
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, Work
from coordinator.vocabulary.table_versions import TableVersion
from shared.errors import ErrorCode, ProcessionError
from shared.plan.fragment import SubPlan, decode_fragment
from shared.spi.accesses import Access, AskedAccess, TableName
from shared.spi.session import Session

LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class Change:
    """Told to a planner between two statements, by its method ``change``."""

    value: object


class ChangeablePlanner(Protocol):
    """A planner that is told of changes."""

    def change(self, value: object) -> None: ...


Planner = Callable[[str, Session], PlannedStatement]
"""``plan(text, session)``: the pure line from parse to fragment."""
PlannerFactory = Callable[[], Planner]
"""Picklable; called once in each planner process."""

_LOG = logging.getLogger(__name__)
_PR_SET_PDEATHSIG = 1


_NICENESS = 2
"""Below the server's process: where cores are short, planning waits for its event loop."""


_MOST_BYTES = 64 << 20
"""Of an answer, which the coordinator reads in one piece while others wait: a second, on a slow machine."""
_LARGE = 100_000
"""Bytes of a fragment; what is as deep as can be is ten times larger."""
_GARBAGE_AFTER = 50_000
"""Objects; a plan has thousands, hardly any in circles, and looking for those after every 700 takes 6 % of planning."""


def main(arguments: list[str]) -> None:
    """Serve until the coordinator closes the socket. ``arguments``: descriptor, process id of the coordinator."""
    _die_with_parent(int(arguments[1]))
    sys.setrecursionlimit(RECURSION_LIMIT)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # these reach the whole group; the coordinator closes us in its order
    with socket.socket(fileno=int(arguments[0])) as connection:
        _serve(connection.makefile("rb"), connection.makefile("wb"))
    os._exit(0)  # native libraries need no second chance to fail


def _die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when the coordinator's dies, even by SIGKILL and amid a long plan."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _serve(reader: BinaryIO, writer: BinaryIO) -> None:
    start = _read(reader)
    if start is None:
        return
    gc.disable()  # what is imported stays
    path, factory_pickle, warm_up = pickle.loads(start)  # noqa: S301 - from our own parent
    sys.path[:] = path
    try:
        planner: Planner = pickle.loads(factory_pickle)()  # noqa: S301
    except Exception as error:
        _write(writer, _portable(error))
        return
    if warm_up is not None:
        _answer(planner, warm_up, Session(user="procession"))
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE_AFTER)
    gc.enable()
    os.nice(_NICENESS)  # not before: a busy machine would keep it from starting
    _write(writer, None)
    while (request := _read(reader)) is not None:
        asked = pickle.loads(request)  # noqa: S301
        if isinstance(asked, Change):
            cast(ChangeablePlanner, planner).change(asked.value)
            _write(writer, None)
            continue
        text, session = asked
        _write(writer, _without_logical_plans(_answer(planner, text, session)))


def _answer(planner: Planner, text: str, session: Session) -> PlannedStatement | ProcessionError:
    try:
        return planner(text, session)
    except ProcessionError as error:
        return error
    except RecursionError:
        return too_deep()
    except MemoryError:
        return ProcessionError(ErrorCode.GENERIC_INSUFFICIENT_RESOURCES, "Not enough memory to plan the statement")
    except Exception as error:
        _LOG.exception("Query %s: planning failed", session.query_id)
        return _portable(error)


def _without_logical_plans(answer: PlannedStatement | ProcessionError) -> PlannedStatement | ProcessionError:
    """Nobody looks at them behind planning, and reading them takes the coordinator as long as all the rest."""
    if isinstance(answer, PlannedStatement):
        return replace(answer, initial_plan=None, logical_plan=None)
    return answer


def _portable(error: Exception) -> ProcessionError:
    """Any exception as one that surely pickles and means something to a user."""
    if isinstance(error, ProcessionError):
        return error
    return ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, f"Planning failed: {type(error).__name__}: {error}")


def pickled(answer: object) -> bytes:
    """The answer's pickle. An absent field by itself costs pickle more than a whole plan: it searches all modules."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, protocol=5)
    # A plain dictionary, which pickle asks without a call for each object; others' reducers may come at any time.
    pickler.dispatch_table = {**copyreg.dispatch_table, **_REDUCERS}
    pickler.dump(answer)
    return buffer.getvalue()


def _unset() -> msgspec.UnsetType:
    return msgspec.UNSET


def _subplan(fragments: Sequence[bytes], counts: Sequence[int]) -> SubPlan:
    """Of what ``_reduced`` gives. Large fragments are read at once: they may be too deep, which is told here."""
    made: list[SubPlan] = []
    for encoded, count in zip(reversed(fragments), reversed(counts), strict=True):
        children = tuple(made.pop() for _ in range(count))
        is_large = len(encoded) >= _LARGE
        made.append(SubPlan(decode_fragment(encoded), children) if is_large else SubPlan.received(encoded, children))
    return made.pop()


def _reduced(subplan: SubPlan) -> tuple[object, ...]:
    """Fragments are Structs throughout and need no identity: msgspec writes them in a tenth of pickle's time.

    In a row, with the number of each one's children: the tree may be deep.
    """
    parts = list(subplan.walk())
    return _subplan, (tuple(part.encoded for part in parts), tuple(len(part.children) for part in parts))


def _by_fields(type_: type) -> Callable[[object], tuple[type, tuple[object, ...]]]:
    """Made of its fields, by position."""
    names = tuple(field.name for field in fields(type_))
    return lambda record: (type_, tuple(getattr(record, name) for name in names))


_REDUCERS: dict[Any, Any] = {
    msgspec.UnsetType: lambda _: (_unset, ()),
    # A frozen dataclass with slots is restored field by field: wide results have hundreds of columns.
    **{type_: _by_fields(type_) for type_ in (Column, TableVersion, AskedAccess, TableName, PlannedStatement)},
    **{type_: _by_fields(type_) for type_ in (*get_args(Access), *get_args(Work))},
    SubPlan: _reduced,
}


def _read(stream: BinaryIO) -> bytes | None:
    """The next frame; None when the coordinator has gone."""
    try:
        header = stream.read(LENGTH.size)
        if len(header) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack(header)
        body = stream.read(length)
    except OSError:
        return None
    return body if len(body) == length else None


def _write(stream: BinaryIO, answer: object) -> None:
    try:
        body = pickled(answer)
    except Exception as error:  # pickling runs code of whoever made the plan
        _LOG.exception("A plan cannot be sent to the coordinator")
        body = pickled(_portable(error))
    if len(body) > _MOST_BYTES:
        message = f"The plan of the statement takes {len(body)} bytes, and {_MOST_BYTES} are possible"
        body = pickled(ProcessionError(ErrorCode.EXCEEDED_PLAN_NODE_LIMIT, message))
    try:
        stream.write(LENGTH.pack(len(body)) + body)
        stream.flush()
    except OSError:
        os._exit(0)
