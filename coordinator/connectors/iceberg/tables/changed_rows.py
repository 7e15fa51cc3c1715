"""Rows that a statement changes, by what becomes of them, out of the query that tells their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coordinator.connectors.iceberg.paths import normalize
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import LeftToEngineError

Positions = npt.NDArray[np.int64]
_DELETED = 2
"""The number of DELETE among the operations of a merge row; 1 is INSERT, 3 UPDATE."""
_MOST_ROWS = 50_000_000
"""That one statement takes out: 8 bytes each in this process."""
_FEW_ROWS = 1_000_000
"""That go: beyond these Spark's workers are faster, where it can do it."""


@dataclass(slots=True)
class ChangedRows:
    """Rows by what becomes of them: those that go by file and position, and how many come."""

    kind: str
    few: bool
    """Whether Spark changes them where they are many."""
    of_file: Callable[[str], None] = lambda _key: None
    """Is told of each data file that loses rows, once; what it raises ends the statement."""
    positions: dict[str, list[Positions]] = field(default_factory=dict)
    gone: int = 0
    rows: int = 0

    def new_rows(self, batches: Iterator[pa.RecordBatch], width: int) -> Iterator[pa.RecordBatch]:
        """What is to be written of each batch, its last ``width`` columns; the others are taken note of."""
        for batch in batches:
            self.rows += batch.num_rows
            self._note(batch)
            if self.kind == "DELETE":
                continue
            kept = batch.filter(pc.not_equal(batch.column(2), _DELETED)) if self.kind == "MERGE" else batch
            yield kept.select(list(range(batch.num_columns - width, batch.num_columns)))

    def _note(self, batch: pa.RecordBatch) -> None:
        there = batch.select([0, 1]).filter(pc.is_valid(batch.column(0)))
        self.gone += there.num_rows
        if self.few and self.gone > _FEW_ROWS:
            message = f"{self.gone} rows and more go, of at most {_FEW_ROWS}"
            raise LeftToEngineError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)
        if self.gone > _MOST_ROWS:
            message = f"More than {_MOST_ROWS} rows of one statement go, which the coordinator would keep in memory"
            raise ProcessionError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)
        files = pc.cast(there.column(0), pa.string()).dictionary_encode()
        numbers = files.indices.to_numpy(zero_copy_only=False)
        places = pc.cast(there.column(1), pa.int64()).to_numpy(zero_copy_only=False)
        for number, path in enumerate(files.dictionary.to_pylist()):
            key = normalize(path)
            if key not in self.positions:
                self.of_file(key)
            self.positions.setdefault(key, []).append(places[numbers == number])

    def by_file(self) -> dict[str, Positions]:
        """Sorted positions. Raises MERGE_TARGET_ROW_MULTIPLE_MATCHES for a row of which two things are to become."""
        found = {}
        while self.positions:  # which is done with: there may be 8 bytes for each of millions of rows
            path, parts = self.positions.popitem()
            found[path] = np.unique(np.concatenate(parts))
        if self.kind != "DELETE" and sum(map(len, found.values())) != self.gone:
            message = "One MERGE target table row matched more than one source row"
            raise ProcessionError(ErrorCode.MERGE_TARGET_ROW_MULTIPLE_MATCHES, message)
        return found
