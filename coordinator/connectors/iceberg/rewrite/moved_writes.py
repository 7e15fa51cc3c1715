"""Files of older partition specs on their way to another one: rows are spread over partitions, then written anew.

Which partitions come out is known when the rows have been read: outputs and their directories are added to the call
then, in the journal before any file. Memory is bounded as in ``sorted_writes``, whose scratch files are used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from coordinator.connectors.iceberg.rewrite.fragments import empty_fragment, parse_fragment, with_read_rows
from coordinator.connectors.iceberg.rewrite.groups import output_file_count
from coordinator.connectors.iceberg.rewrite.output_specs import data_directory, partition_fields, partition_record
from coordinator.connectors.iceberg.rewrite.payloads import OutputPlan
from coordinator.connectors.iceberg.rewrite.rewrite import Rewrite, journal_directories
from coordinator.connectors.iceberg.rewrite.sorted_writes import (
    Sorting,
    gather_payload,
    run_kernels,
    sample_keys,
    scatter_payloads,
)
from coordinator.connectors.iceberg.storage import delete_files
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ProcedureContext


@dataclass(slots=True)
class _Moving:
    """A group whose rows are spread over ``partitions`` by the numbers of its pieces."""

    sorting: Sorting
    partitions: dict[tuple[Any, ...], int] = field(default_factory=dict)

    @property
    def output(self) -> int:
        return self.sorting.outputs[0]


def write_moved(rewrite: Rewrite, context: ProcedureContext, numbers: Sequence[int]) -> list[bytes]:
    """The final fragments of the outputs ``numbers``, and of those that are added for further partitions."""
    moving = [_Moving(Sorting(o.group, rewrite.groups[o.group], [n])) for n in numbers for o in [rewrite.outputs[n]]]
    if not moving:
        return []
    if rewrite.ordering is not None and rewrite.ordering.spec.get("curve"):
        sample_keys(rewrite, context, [m.sorting for m in moving])
    try:
        _scatter(rewrite, context, moving)
        return _gather(rewrite, context, moving)
    finally:
        delete_files(rewrite.table.io, [path for m in moving for path in m.sorting.scratch])


def _scatter(rewrite: Rewrite, context: ProcedureContext, moving: Sequence[_Moving]) -> None:
    more = {"partition": partition_fields(rewrite.spec)}
    payloads = scatter_payloads(rewrite, context, [m.sorting for m in moving], more)
    for raw in run_kernels(context, "partitioning:scatter", payloads, "spreading rows over partitions"):
        answer = json.loads(raw)
        found = moving[answer["tag"]["sorting"]]
        found.sorting.take(answer)
        numbers = [found.partitions.setdefault(tuple(values), len(found.partitions)) for values in answer["values"]]
        for number, *rest in answer["pieces"]:
            found.sorting.pieces.setdefault(numbers[number], []).append([answer["path"], *rest])


def _gather(rewrite: Rewrite, context: ProcedureContext, moving: Sequence[_Moving]) -> list[bytes]:
    planned = [(found, list(_plan(rewrite, found))) for found in moving]
    journal_directories(rewrite, [rewrite.outputs[n].directory for _, outputs in planned for n, _ in outputs])
    payloads = [
        gather_payload(rewrite, found.sorting, output, 0, [part], final=True)
        for found, outputs in planned
        for output, part in outputs
    ]
    fragments = {
        parse_fragment(raw).output: raw
        for raw in run_kernels(context, "sorting:gather", payloads, "writing partitions")
    }
    final: list[bytes] = []
    for found, outputs in planned:
        written = sum(parse_fragment(fragments[output]).rows for output, _ in outputs)
        if written != found.sorting.kept_rows:
            raise ProcessionError(
                ErrorCode.GENERIC_INTERNAL_ERROR,
                f"Nothing was committed: {written} rows were written of {found.sorting.kept_rows} that were moved",
            )
        if not outputs:
            final.append(empty_fragment(found.output, found.sorting.read_rows))
        for output, _ in outputs:
            rows = found.sorting.read_rows if output == found.output else 0
            final.append(with_read_rows(fragments[output], rows))
    return final


def _plan(rewrite: Rewrite, found: _Moving) -> Iterator[tuple[int, dict[str, Any]]]:
    """Outputs with the range that each is made of; the first partition takes the output that stands for the group."""
    first = True
    for values, number in found.partitions.items():
        record = partition_record(values, rewrite.spec, rewrite.table.schema())
        partition = tuple(record[i] for i in range(len(record)))
        directory = data_directory(rewrite.table, rewrite.spec, record, rewrite.call_id)
        for pieces in _parts(rewrite, found.sorting, sorted(found.sorting.pieces[number])):
            place = found.output if first else len(rewrite.outputs)
            name = f"{place:05d}-{found.sorting.number}-{rewrite.call_id}"
            plan = OutputPlan(found.sorting.number, name, directory, (), partition=partition)
            if first:
                rewrite.outputs[place] = plan
            else:
                rewrite.outputs.append(plan)
            first = False
            yield place, {"single": rewrite.ordering is None, "pieces": pieces}


def _parts(rewrite: Rewrite, sorting: Sorting, pieces: Sequence[list[Any]]) -> list[list[list[Any]]]:
    """One list for each file of a partition; sorted ones are written in one go and cut to size afterwards."""
    if rewrite.ordering is not None:
        return [list(pieces)]
    rows = sum(piece[3] for piece in pieces)
    size = sorting.group.size * rows // max(1, sorting.kept_rows)
    count = min(len(pieces), output_file_count(size, rewrite.options))
    parts: list[list[list[Any]]] = [[] for _ in range(count)]
    done = 0
    for piece in pieces:
        parts[min(count - 1, (done + piece[3] // 2) * count // max(1, rows))].append(piece)
        done += piece[3]
    return [part for part in parts if part]
