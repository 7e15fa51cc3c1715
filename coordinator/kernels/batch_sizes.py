"""How much memory batches of one stream take together."""

from __future__ import annotations

import pyarrow as pa


class BatchSizes:
    """Adds up batches; a dictionary that several of them share counts once."""

    def __init__(self) -> None:
        self.total = 0
        self._dictionaries: set[tuple[int | None, ...]] = set()

    def add(self, batch: pa.RecordBatch) -> int:
        """The bytes that a batch adds; it must be kept as long as this object is asked."""
        size = 0
        for column in batch.columns:
            if not pa.types.is_dictionary(column.type):
                size += column.nbytes
                continue
            size += column.indices.nbytes
            # Those who read keep one dictionary for a row group, and the buffers live as long as the batches.
            key = tuple(None if buffer is None else buffer.address for buffer in column.dictionary.buffers())
            if key not in self._dictionaries:
                self._dictionaries.add(key)
                size += column.dictionary.nbytes
        self.total += size
        return size
