"""The rows of one bulk ingestion: pulled from the client by the thread that runs the statement.

Nothing is read from the client before the statement runs, and then one message ahead: what it sends beyond that waits
in its own connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager

import pyarrow as pa

from coordinator.dispatch.failures import canceled
from coordinator.dispatch.result_space import ResultSpace
from coordinator.dispatch.staged_rows import staged_rows
from coordinator.engine.execution import Execution, StagedRows
from coordinator.flight.failures import CallError
from coordinator.flight.ipc import check_rows, framed
from coordinator.flight.messages import ClientData
from coordinator.flight.sent_types import SentColumn, stored_batch, stored_schema
from coordinator.flight.wire import WireError
from coordinator.values.complete_offsets import with_offsets
from shared.errors import ErrorCode, ProcessionError

Receive = Callable[[], "Future[bytes | None]"]
"""The next message of the client, None behind the last one; never waits."""
_MOST_ROWS = 10_000_000
"""Of one batch: some types take no bytes at all."""
_MOST_WORDS = 64 << 20
"""Bytes of all dictionaries that are kept at a time."""
_MOST_BYTES = 256 << 20
"""Of a batch without its compression, as of one whose texts stand in each row."""


class SentRows:
    """Implements ``coordinator.engine.execution.SentRows`` over one DoPut, once."""

    def __init__(self, schema: ClientData, columns: Sequence[SentColumn], receive: Receive, space: ResultSpace) -> None:
        """``schema`` is the message with that of the rows."""
        self._columns = tuple(columns)
        self._space = space
        self._messages = _Messages(framed(schema), receive)

    def stop(self) -> None:
        """The call is over: whoever waits for its messages does so no more. In any thread."""
        self._messages.stop()

    def staged(self, execution: Execution, most_bytes: int | None) -> AbstractContextManager[StagedRows]:
        execution.on_cancel(self.stop)
        batches = self._batches(execution)
        return staged_rows(batches, stored_schema(self._columns), self._space, execution, most_bytes)

    def _batches(self, execution: Execution) -> Iterator[pa.RecordBatch]:
        try:
            for batch in pa.ipc.open_stream(self._messages):
                batch.validate(full=True)  # it comes from a client
                yield stored_batch(with_offsets(batch), self._columns)
        except CancelledError as error:
            execution.check_cancelled()
            raise canceled() from error
        except TimeoutError as error:
            raise ProcessionError(ErrorCode.ABANDONED_QUERY, "The client sends no more rows, and no end") from error
        except (CallError, WireError, pa.ArrowException, ValueError, OSError) as error:
            text = error.text if isinstance(error, CallError) else f"The rows cannot be read: {error}"
            raise ProcessionError(ErrorCode.GENERIC_USER_ERROR, text) from error


class _Messages:
    """Messages as the file that Arrow reads a stream from. ``read`` is one thread's, ``stop`` any's."""

    closed = False

    def __init__(self, schema: bytes, receive: Receive) -> None:
        self._left = memoryview(schema)
        self._receive = receive
        self._ahead: Future[bytes | None] | None = None
        self._words: dict[int, int] = {}
        self._stopped = self._over = False

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """Arrow's, when it has read all."""

    def stop(self) -> None:
        """Whoever reads does not wait any more."""
        self._stopped = True
        if self._ahead is not None:
            self._ahead.cancel()

    def read(self, size: int = -1) -> bytes:
        """Raises what receiving raises, CancelledError after ``stop``, CallError and WireError."""
        while not self._left and not self._over:
            self._next()
        found = self._left[: size if size >= 0 else len(self._left)]
        self._left = self._left[len(found) :]
        return bytes(found)

    def _next(self) -> None:
        received = self._ask().result()
        if received is None:
            self._over = True
            return
        self._ahead = None
        self._ask()
        data = ClientData.read(received)
        if not data.header:
            return
        message = check_rows(data, _MOST_ROWS, _MOST_BYTES)
        if message.dictionary is not None:
            self._words[message.dictionary] = max(message.size, len(message.data))
            if sum(self._words.values()) > _MOST_WORDS:
                raise ValueError(f"dictionaries of more than {_MOST_WORDS >> 20} MB")
        self._left = memoryview(message.data)

    def _ask(self) -> Future[bytes | None]:
        if self._ahead is None:
            self._ahead = self._receive()
        if self._stopped:
            self._ahead.cancel()
        return self._ahead
