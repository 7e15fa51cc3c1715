"""Rows of a statement's inputs on their way to the process that runs it, which asks for them as it needs them.

Databases and system tables are read in the coordinator: the process has neither network nor secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import BinaryIO

import pyarrow as pa

from coordinator.engine.local_inputs import ArrowInput, FilesInput, LocalInput
from coordinator.engine.processes.messages import BATCH, BROKEN, END, KIND, WANTED
from coordinator.engine.processes.process import Buffer, EngineProcess, ProcessEndedError
from coordinator.engine.processes.worker import received, send
from coordinator.engine.streams import reader_of
from shared.errors import ErrorCode, ProcessionError
from shared.units import format_data_size


class SentRows:
    """The coordinator's end, for one statement. ``broken``: what a source failed with."""

    def __init__(self, inputs: Sequence[LocalInput], most_bytes: int | None = None) -> None:
        """More than ``most_bytes`` in all are not sent: the statement fails, as beyond this engine."""
        streams = {made.name: reader_of(made.rows) for made in inputs if isinstance(made, ArrowInput)}
        self.files: Mapping[str, tuple[str, ...]] = {m.name: m.paths for m in inputs if isinstance(m, FilesInput)}
        self.schemas = {name: reader.schema.serialize().to_pybytes() for name, reader in streams.items()}
        self.broken: Exception | None = None
        self._readers = list(streams.values())
        self._most, self._sent = most_bytes, 0

    def send_next(self, process: EngineProcess, wanted: bytes) -> None:
        """The next rows of the input of this number. Raises ProcessEndedError."""
        try:
            process.send(*self._next(self._readers[int(wanted)]))
        except ProcessEndedError:
            raise
        except Exception as error:
            self.broken = error
            process.send(BROKEN)

    def _next(self, reader: pa.RecordBatchReader) -> tuple[Buffer, ...]:
        """A frame. Raises whatever the source raises."""
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return (END,)
        self._sent += batch.nbytes
        if self._most is not None and self._sent > self._most:
            message = f"It reads more than {format_data_size(self._most)} of databases whose sizes are not known"
            raise ProcessionError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)
        return BATCH, batch.serialize()


class PulledRows:
    """The process's end: the coordinator makes the next rows of an input when it is asked for them."""

    def __init__(self, requests: BinaryIO, answers: BinaryIO) -> None:
        self._requests, self._answers = requests, answers
        self._lock = Lock()

    def streams(self, schemas: Mapping[str, bytes]) -> dict[str, pa.RecordBatchReader]:
        """The inputs by name, in the order in which they were told."""
        return {
            name: self._stream(number, pa.ipc.read_schema(pa.py_buffer(schema)))
            for number, (name, schema) in enumerate(schemas.items())
        }

    def _stream(self, number: int, schema: pa.Schema) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(schema, self._batches(number, schema))

    def _batches(self, number: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        while True:
            with self._lock:
                send(self._answers, WANTED, str(number).encode())
                frame = received(self._requests)
            kind = BROKEN if frame is None else frame[:KIND]
            if kind == END:
                return
            if frame is None or kind != BATCH:
                raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, "The stream of an input broke")
            yield pa.ipc.read_record_batch(pa.py_buffer(frame).slice(KIND), schema)
