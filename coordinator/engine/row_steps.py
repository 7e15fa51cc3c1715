"""Rows that the coordinator makes, filtered, ordered and cut where they are made: system tables, mostly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from coordinator.engine.execution import Execution
from coordinator.engine.streams import reader_of, unreadable
from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.patience import interruptible
from coordinator.kernels.functions.program import compiled
from coordinator.vocabulary.planned_statement import CutRows, KeepRows, NameRows, OrderRows, RowStep
from shared.errors import ErrorCode, ProcessionError
from shared.spi.relation import ArrowStream

_BATCH_ROWS = 8192


def select_rows(rows: ArrowStream, steps: Sequence[RowStep], execution: Execution) -> Iterator[pa.RecordBatch]:
    """The rows of the result; those before the first order or cut are never all in memory. Raises ProcessionError."""
    whole = next((i for i, step in enumerate(steps) if isinstance(step, OrderRows | CutRows)), len(steps))
    streamed = _streamed(rows, steps[:whole], execution)
    if whole == len(steps):
        yield from streamed
        return
    batches = list(streamed)
    if not batches:
        return
    table = pa.Table.from_batches(batches)
    for step in steps[whole:]:
        table = _applied(table, step)
    yield from table.to_batches(max_chunksize=_BATCH_ROWS)


def _streamed(rows: ArrowStream, steps: Sequence[RowStep], execution: Execution) -> Iterator[pa.RecordBatch]:
    try:
        for batch in reader_of(rows):
            execution.check_cancelled()
            with interruptible(execution.check_cancelled):
                kept = reduce(_applied, steps, batch)
            yield kept
    except (pa.ArrowException, OSError) as error:
        raise unreadable(error) from error


def _applied(rows: Any, step: RowStep) -> Any:
    """A batch or a table through one step."""
    match step:
        case NameRows(names):
            return type(rows).from_arrays([rows.column(source) for _, source in names], names=[n for n, _ in names])
        case KeepRows(program, columns):
            try:
                mask = compiled(program).run([rows.column(name) for name in columns], rows.num_rows)
            except KernelError as error:
                raise ProcessionError(ErrorCode[error.name], error.message) from error
            return rows.filter(mask)
        case OrderRows(keys):
            sort_keys = [
                (name, "descending" if descends else "ascending", "at_start" if nulls_first else "at_end")
                for name, descends, nulls_first in keys
            ]
            return rows.take(pc.sort_indices(rows, sort_keys))
        case CutRows(count):
            return rows.slice(0, count)
        case _:
            assert_never(step)
