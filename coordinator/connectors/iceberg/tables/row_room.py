"""Memory for rows that pass through this process on their way into files."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from shared.errors import ErrorCode
from shared.spi.table_writes import LeftToEngineError


class RowRoom:
    """Of all statements of a catalog, and of each; thread-safe. What an engine can write as well has to fit."""

    def __init__(self, most_bytes: int = 256 << 20, most_of_one: int = 64 << 20) -> None:
        self._most, self._most_of_one = most_bytes, most_of_one
        self._lock = threading.Lock()
        self._taken = 0

    @contextmanager
    def limited(
        self, batches: Iterable[pa.RecordBatch], *, has_limits: bool = True
    ) -> Iterator[Iterator[pa.RecordBatch]]:
        """The same rows, which raise LeftToEngineError where they become too many.

        Their room is free when the context ends, and not before: until files are written their rows are in memory.
        Without limits, where no engine would write them, all of them pass and take none.
        """
        if not has_limits:
            yield iter(batches)
            return
        own = 0

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal own
            for batch in batches:
                own += batch.nbytes
                self._take(batch.nbytes)
                if own > self._most_of_one:
                    message = f"{own} bytes of rows and more, of at most {self._most_of_one}"
                    raise LeftToEngineError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)
                yield batch

        try:
            yield counted()
        finally:
            self._take(-own)

    def _take(self, size: int) -> None:
        with self._lock:
            self._taken += size
            taken = self._taken
        if size > 0 and taken > self._most:
            message = f"{taken} bytes of rows of all statements, of at most {self._most}"
            raise LeftToEngineError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)
