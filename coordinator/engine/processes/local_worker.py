"""A process of the local engine: one statement after the other in one database without files or network.

Forked by ``coordinator.engine.processes.nursery``. What it may take of the machine's memory is limited from outside of
the database, which does not count the values that it computes at the moment.
"""

from __future__ import annotations

import json
import logging
import pickle
import time
from collections.abc import Callable, Sequence
from typing import BinaryIO

import pyarrow as pa

from coordinator.engine.local import LocalEngine
from coordinator.engine.local_inputs import ArrowInput, FilesInput, LocalInput
from coordinator.engine.processes.memory import limit_memory
from coordinator.engine.processes.messages import (
    BATCH,
    END,
    SCHEMA,
    LocalProcessSettings,
    LocalStatement,
    pieces,
)
from coordinator.engine.processes.profile import MOST_BYTES
from coordinator.engine.processes.sent_rows import PulledRows
from coordinator.engine.processes.worker import received, send, serve
from coordinator.engine.uncancelled import Uncancelled
from shared.errors import ProcessionError

_LOG = logging.getLogger(__name__)


def main(descriptors: Sequence[int]) -> None:
    """Serve until the coordinator closes the socket; never returns."""
    serve("sql-local", descriptors, _serve)


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    settings = pickle.loads(received(requests) or b"")  # noqa: S301 - from the coordinator that forked us
    assert isinstance(settings, LocalProcessSettings)
    pa.set_memory_pool(pa.system_memory_pool())  # others take address space ahead, which the limit counts
    limit_memory(settings.memory_bytes)
    engine = LocalEngine(f"{settings.memory_bytes * 2 // 3}B", settings.threads)
    engine.open()
    send(answers, b"")
    while (frame := received(requests)) is not None:
        statement = pickle.loads(frame)  # noqa: S301 - as above
        began = time.process_time()
        ended = _answered(engine, statement, requests, answers)
        figures = {"cpu_seconds": time.process_time() - began} | ended
        send(answers, END, json.dumps(figures).encode())


def _answered(
    engine: LocalEngine, statement: LocalStatement, requests: BinaryIO, answers: BinaryIO
) -> dict[str, object]:
    profiles: list[str] = []
    try:
        _send_rows(engine, statement, requests, answers, profiles.append)
    except ProcessionError as error:
        return {"code": error.code.name, "message": error.message, "retriable": error.retriable}
    except MemoryError:
        return {"code": "EXCEEDED_LOCAL_MEMORY_LIMIT", "message": "Query exceeded the local engine's memory limit"}
    except Exception:
        _LOG.exception("a statement failed on the local engine")
        return {"code": "GENERIC_INTERNAL_ERROR", "message": "The local engine failed"}
    return {"profile": profiles[0]} if profiles and len(profiles[0]) <= MOST_BYTES else {}


def _send_rows(
    engine: LocalEngine,
    statement: LocalStatement,
    requests: BinaryIO,
    answers: BinaryIO,
    profile: Callable[[str], None],
) -> None:
    inputs: list[LocalInput] = [FilesInput(name, paths) for name, paths in statement.files.items()]
    streams = PulledRows(requests, answers).streams(statement.streams)
    inputs += [ArrowInput(name, stream) for name, stream in streams.items()]
    first = True
    for batch in engine.rows(statement.sql, Uncancelled(), inputs, profile if statement.profiled else None):
        if first:
            send(answers, SCHEMA, batch.schema.serialize())
            first = False
        for piece in pieces(batch):
            send(answers, BATCH, piece.serialize())
