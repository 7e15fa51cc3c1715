"""Rows of a rewrite that did not keep their order, found again in the new files by what they hold.

Nothing is noted while files are sorted: only when rows were deleted meanwhile are those read from the old files and
looked for in the new ones, on the workers. In format version 3 the ids of rows are enough; else all of their columns,
since nobody can tell apart rows that are equal in all of them. Rows that the rewrite's equality deletes had taken out
are nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.exceptions import ValidationException
from pyiceberg.manifest import DataFile

from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.rewrite.planning.outputs import Slice
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from coordinator.kernels.key_sets import RowSet
from coordinator.kernels.lineage import ROW_ID
from coordinator.kernels.moved_rows import exact
from coordinator.kernels.tasks import FIND_ROWS, TAKE_ROWS, Fields, FindTask, FoundRows, Input, TakeTask
from shared.spi.workers import WorkerRuntime

Positions = npt.NDArray[np.int64]
_MOST_ROWS, _MOST_BYTES = 200_000, 64 << 20
"""Deleted rows of a group that are looked for: every task over a new file gets all of them."""
_MOST_IDS = 1_000_000
"""The same where ids are enough: 8 bytes each, and some 200 in a worker."""


def searched(
    rewrite: Rewrite,
    workers: WorkerRuntime,
    old: Sequence[Candidate],
    new: Sequence[DataFile],
    deleted: Mapping[str, tuple[Positions, Positions]],
    revoked: Set[str],
    taken: Mapping[int, Positions],
) -> Mapping[int, Positions]:
    """By place in ``new``: positions of the rows that were deleted meanwhile, none of which are ``taken``.

    ``deleted`` has for old files the positions to look for and all that are deleted now; rows that ``revoked`` equality
    deletes took out have to be among the latter. Raises ValidationException where a row cannot be found, or would
    return, and KernelError.
    """
    affected = [c for c in old if c.data.key in deleted]
    for fields in _identities(rewrite, affected):
        rows = _taken(rewrite, workers, affected, fields, deleted, revoked)
        if rows.num_rows == 0:
            return {}
        if fields[0]["id"] != ROW_ID or not rows.column(0).null_count:
            return _found(rewrite, workers, new, fields, rows, taken)
    raise AssertionError("all columns are always enough")


def _identities(rewrite: Rewrite, affected: Sequence[Candidate]) -> Iterator[Fields]:
    """Columns that tell rows apart: ids where there are any, then all, those that are sorted by first."""
    fields = rewrite.factory.fields
    if all(c.data.first_row_id is not None for c in affected):
        yield [field for field in fields if field["id"] == ROW_ID]
    first = _probed(rewrite)
    yield sorted(fields, key=lambda field: first.index(field["id"]) if field["id"] in first else len(first))


def _probed(rewrite: Rewrite) -> list[int]:
    """Columns that are read of all rows: those that are sorted by, or else the first."""
    known = [field["id"] for field in rewrite.factory.fields]
    keys = [] if rewrite.ordering is None else [column.id for column in rewrite.ordering.order.columns]
    return [key for key in dict.fromkeys(keys) if key in known] or known[:1]


def _taken(
    rewrite: Rewrite,
    workers: WorkerRuntime,
    affected: Sequence[Candidate],
    fields: Fields,
    deleted: Mapping[str, tuple[Positions, Positions]],
    revoked: Set[str],
) -> pa.Table:
    """The rows to look for."""
    tasks = []
    for number, candidate in enumerate(affected):
        wanted, now = deleted[candidate.data.key]
        task = replace(rewrite.factory.write([Slice(candidate, candidate.data.size)], "", ""), fields=fields)
        tasks.append(TakeTask(task, wanted.astype("<i8").tobytes(), now.astype("<i8").tobytes(), number))
    most = _MOST_IDS if fields[0]["id"] == ROW_ID else _MOST_ROWS
    if sum(len(wanted) for wanted, _ in deleted.values()) > most:
        raise _conflict(affected, "too many to follow")
    tables, size = [], 0
    for answer in TAKE_ROWS.run(workers, tasks, "reading deleted rows"):
        candidate = affected[answer.number]
        if answer.uncovered and any(delete.key in revoked for delete in candidate.deletes):
            path = next(delete.path for delete in candidate.deletes if delete.key in revoked)
            raise ValidationException(f"Cannot commit, applied delete files are not live any more: {path}")
        found = pa.ipc.open_stream(answer.rows).read_all()
        size += found.nbytes
        if size > _MOST_BYTES:
            raise _conflict(affected, "too large to follow")
        tables += [found] if found.num_rows else []
    return pa.concat_tables(tables) if tables else pa.table({})


def _found(
    rewrite: Rewrite,
    workers: WorkerRuntime,
    new: Sequence[DataFile],
    fields: Fields,
    rows: pa.Table,
    taken: Mapping[int, Positions],
) -> Mapping[int, Positions]:
    _, numbers = RowSet.of([exact(column) for column in rows.columns])
    _, firsts, counts = np.unique(numbers, return_index=True, return_counts=True)
    wanted = _stream(rows.take(pa.array(firsts)))
    probed = 1 if len(fields) == 1 else len(_probed(rewrite))
    tasks = [
        FindTask(fields, wanted, Input(f.file_path, f.file_size_in_bytes), probed, rewrite.factory.storage, number)
        for number, f in enumerate(new)
    ]
    found = (_untaken(answer, taken) for answer in FIND_ROWS.run(workers, tasks, "finding moved rows"))
    answers = sorted(found, key=lambda answer: answer.number)
    chosen = _first_of_each(answers, counts)
    ends = list(accumulate((len(_longs(answer.positions)) for answer in answers), initial=0))
    return {
        answer.number: np.sort(_longs(answer.positions)[chosen[start:end]])
        for answer, start, end in zip(answers, ends, ends[1:], strict=False)
        if chosen[start:end].any()
    }


def _untaken(answer: FoundRows, taken: Mapping[int, Positions]) -> FoundRows:
    """Without rows that stand for others already, equal to those that are looked for."""
    if answer.number not in taken:
        return answer
    positions, wanted = _longs(answer.positions), _longs(answer.wanted)
    free = ~np.isin(positions, taken[answer.number])
    return replace(answer, positions=positions[free].tobytes(), wanted=wanted[free].tobytes())


def _first_of_each(answers: Sequence[FoundRows], counts: Positions) -> npt.NDArray[np.bool_]:
    """Of all rows that were found, as many of each wanted one as were deleted; raises ValidationException."""
    numbers = np.concatenate([_longs(answer.wanted) for answer in answers] or [np.zeros(0, np.int64)])
    order = np.argsort(numbers, kind="stable")
    present = np.bincount(numbers, minlength=len(counts))
    if (present < counts).any():
        missing = int(np.maximum(counts - present, 0).sum())
        raise ValidationException(f"Cannot commit, {missing} rows that were deleted meanwhile are not in the new files")
    starts = np.cumsum(present) - present
    chosen = np.zeros(len(numbers), np.bool_)
    chosen[order] = np.arange(len(numbers)) - starts[numbers[order]] < counts[numbers[order]]
    return chosen


def _conflict(affected: Sequence[Candidate], why: str) -> ValidationException:
    path = affected[0].data.path
    return ValidationException(f"Cannot commit, found new position delete for replaced data file: {path} ({why})")


def _longs(raw: bytes) -> Positions:
    return np.frombuffer(raw, "<i8")


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
