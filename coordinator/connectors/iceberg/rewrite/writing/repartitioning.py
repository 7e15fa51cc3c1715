"""Files of older partition specs on their way to another one: rows are spread over partitions, then written anew.

Which partitions come out is known when the rows have been read: outputs and their directories are added to the call
then, in the journal before any file. Memory is bounded as in ``spreading``, whose scratch files are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from coordinator.connectors.iceberg.rewrite.asked.output_specs import (
    data_directory,
    partition_columns,
    partition_record,
)
from coordinator.connectors.iceberg.rewrite.asked.sorted_runs import order_mark, output_name
from coordinator.connectors.iceberg.rewrite.planning.groups import output_file_count
from coordinator.connectors.iceberg.rewrite.planning.outputs import OutputPlan
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from coordinator.connectors.iceberg.rewrite.writing.kernel_calls import run_kernel
from coordinator.connectors.iceberg.rewrite.writing.spreading import Spreading, gather_task, sample_keys, spread_tasks
from coordinator.connectors.iceberg.storage import delete_files
from coordinator.kernels.sort_tasks import GATHER, SPREAD_BY_PARTITION, Piece, SortedRange
from coordinator.kernels.tasks import Fragment, Tag
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ProcedureContext


@dataclass(slots=True)
class _Moving:
    """A group whose rows are spread over ``partitions`` by the numbers of its pieces."""

    rows: Spreading
    partitions: dict[tuple[Any, ...], int] = field(default_factory=dict)

    @property
    def output(self) -> int:
        return self.rows.outputs[0]


def write_repartitioned(rewrite: Rewrite, context: ProcedureContext, numbers: Sequence[int]) -> list[Fragment]:
    """The final fragments of the outputs ``numbers``, and of those that are added for further partitions."""
    moving = [_Moving(Spreading(o.group, rewrite.groups[o.group], [n])) for n in numbers for o in [rewrite.outputs[n]]]
    if not moving:
        return []
    if rewrite.ordering is not None and rewrite.ordering.order.curve:
        sample_keys(rewrite, context, [m.rows for m in moving])
    try:
        _spread(rewrite, context, moving)
        return _gather(rewrite, context, moving)
    finally:
        delete_files(rewrite.table.io, [path for m in moving for path in m.rows.scratch])


def _spread(rewrite: Rewrite, context: ProcedureContext, moving: Sequence[_Moving]) -> None:
    tasks = spread_tasks(rewrite, context, [m.rows for m in moving], partition_columns(rewrite.spec))
    for spread in run_kernel(context, SPREAD_BY_PARTITION, tasks, "spreading rows over partitions"):
        found = moving[spread.group]
        numbers = [found.partitions.setdefault(tuple(values), len(found.partitions)) for values in spread.values]
        found.rows.take(spread, numbers)


def _gather(rewrite: Rewrite, context: ProcedureContext, moving: Sequence[_Moving]) -> list[Fragment]:
    planned = [(found, list(_plan(rewrite, found))) for found in moving]
    rewrite.call.extend([rewrite.outputs[n].directory for _, outputs in planned for n, _ in outputs])
    tasks = [
        gather_task(rewrite, found.rows, output, 0, [part], final=True)
        for found, outputs in planned
        for output, part in outputs
    ]
    fragments = {fragment.output: fragment for fragment in run_kernel(context, GATHER, tasks, "writing partitions")}
    final: list[Fragment] = []
    for found, outputs in planned:
        written = sum(fragments[output].rows for output, _ in outputs)
        if written != found.rows.kept_rows:
            raise ProcessionError(
                ErrorCode.GENERIC_INTERNAL_ERROR,
                f"Nothing was committed: {written} rows were written of {found.rows.kept_rows} that were moved",
            )
        if not outputs:
            final.append(Fragment(Tag(found.output), None, read_rows=found.rows.read_rows))
        for output, _ in outputs:
            rows = found.rows.read_rows if output == found.output else 0
            final.append(replace(fragments[output], read_rows=rows))
    return final


def _plan(rewrite: Rewrite, found: _Moving) -> Iterator[tuple[int, SortedRange]]:
    """Outputs with the range that each is made of; the first partition takes the output that stands for the group."""
    mark = None if rewrite.ordering is None else order_mark(rewrite.ordering.order)
    first = True
    for values, number in found.partitions.items():
        record = partition_record(values, rewrite.spec, rewrite.table.schema())
        partition = tuple(record[i] for i in range(len(record)))
        directory = data_directory(rewrite.table, rewrite.spec, record, rewrite.call_id)
        for pieces in _parts(rewrite, found.rows, sorted(found.rows.pieces[number])):
            place = found.output if first else len(rewrite.outputs)
            name = output_name(place, found.rows.number, rewrite.call_id, mark)
            plan = OutputPlan(found.rows.number, name, directory, (), partition=partition)
            if first:
                rewrite.outputs[place] = plan
            else:
                rewrite.outputs.append(plan)
            first = False
            yield place, SortedRange(pieces, single=rewrite.ordering is None)


def _parts(rewrite: Rewrite, spreading: Spreading, pieces: Sequence[Piece]) -> list[list[Piece]]:
    """One list for each file of a partition; sorted ones are written in one go and cut to size afterwards."""
    if rewrite.ordering is not None:
        return [list(pieces)]
    rows = sum(piece.rows for piece in pieces)
    size = spreading.group.size * rows // max(1, spreading.kept_rows)
    count = min(len(pieces), output_file_count(size, rewrite.options))
    parts: list[list[Piece]] = [[] for _ in range(count)]
    done = 0
    for piece in pieces:
        parts[min(count - 1, (done + piece.rows // 2) * count // max(1, rows))].append(piece)
        done += piece.rows
    return [part for part in parts if part]
