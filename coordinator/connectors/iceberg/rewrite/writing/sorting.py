"""Sorting groups across their files: in memory where they are small, else by ranges of their keys, range by range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coordinator.connectors.iceberg.rewrite.planning.outputs import Slice
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from coordinator.connectors.iceberg.rewrite.writing.joining import join_parts
from coordinator.connectors.iceberg.rewrite.writing.kernel_calls import run_kernel
from coordinator.connectors.iceberg.rewrite.writing.spreading import (
    Spreading,
    gather_task,
    order_of,
    sample_keys,
    spread_tasks,
)
from coordinator.connectors.iceberg.storage import delete_files
from coordinator.kernels.sort_tasks import (
    GATHER,
    SORT_WHOLE,
    SPREAD_BY_RANGE,
    GatherTask,
    SortedRange,
    SortTask,
)
from coordinator.kernels.tasks import Fragment, Tag
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ProcedureContext

_SMALL_BYTES, _SMALL_CELLS = 16 << 20, 12_000_000
"""Groups up to these sizes are sorted by one task in memory."""


def write_sorted(rewrite: Rewrite, context: ProcedureContext, numbers: Sequence[int]) -> list[Fragment]:
    """The final fragments of the outputs ``numbers``, whose groups are complete among them."""
    by_group: dict[int, list[int]] = {}
    for number in numbers:
        by_group.setdefault(rewrite.outputs[number].group, []).append(number)
    small = [(g, outputs[0]) for g, outputs in by_group.items() if _is_small(rewrite, g, outputs)]
    found, too_large = _sort_whole(rewrite, context, small)
    done = {g for g, output in small if output not in too_large}
    large = [Spreading(g, rewrite.groups[g], outputs) for g, outputs in by_group.items() if g not in done]
    if large:
        sample_keys(rewrite, context, large)
        try:
            _spread(rewrite, context, large)
            found += _gather(rewrite, context, large)
        finally:
            delete_files(rewrite.table.io, [path for spreading in large for path in spreading.scratch])
    return found


def _is_small(rewrite: Rewrite, number: int, outputs: Sequence[int]) -> bool:
    group = rewrite.groups[number]
    cells = sum(c.data.file.record_count for c in group.files) * len(rewrite.factory.fields)
    return len(outputs) == 1 and group.size <= _SMALL_BYTES and cells <= _SMALL_CELLS


def _sort_whole(
    rewrite: Rewrite, context: ProcedureContext, groups: Sequence[tuple[int, int]]
) -> tuple[list[Fragment], set[int]]:
    """Fragments of groups that were sorted in memory, and the outputs of those that decode to too much for it."""
    tasks = []
    for number, output in groups:
        plan = rewrite.outputs[output]
        slices = [Slice(candidate, candidate.data.size) for candidate in rewrite.groups[number].files]
        task = rewrite.factory.write(slices, plan.directory, plan.name, Tag(output, 0), final=True)
        tasks.append(SortTask(task, order_of(rewrite)))
    found: list[Fragment] = []
    too_large: set[int] = set()
    for answer in run_kernel(context, SORT_WHOLE, tasks, "spreading files"):
        if answer.fragment is None:
            too_large.add(answer.output)
        else:
            found.append(answer.fragment)
    return found, too_large


def _spread(rewrite: Rewrite, context: ProcedureContext, spreadings: Sequence[Spreading]) -> None:
    tasks = spread_tasks(rewrite, context, spreadings)
    for spread in run_kernel(context, SPREAD_BY_RANGE, tasks, "spreading rows over ranges"):
        spreadings[spread.group].take(spread)


def _gather(rewrite: Rewrite, context: ProcedureContext, spreadings: Sequence[Spreading]) -> list[Fragment]:
    total = sum(len(spreading.outputs) for spreading in spreadings)
    parts_each = max(1, -(-context.workers.parallelism // total))
    tasks, expected = [], {}
    for spreading in spreadings:
        bins = _contiguous(spreading, len(spreading.outputs) * parts_each)
        for place, output in enumerate(spreading.outputs):
            chosen = [b for b in bins[place * parts_each : (place + 1) * parts_each] if b]
            expected[output] = len(chosen)
            tasks += [_gather_task(rewrite, spreading, output, i, chosen) for i in range(len(chosen))]
    final, parts = [], dict[int, list[Fragment]]()
    for written in run_kernel(context, GATHER, tasks, "spreading ranges"):
        if expected[written.output] == 1:
            final.append(written)
        else:
            parts.setdefault(written.output, []).append(written)
    final += join_parts(rewrite, context, parts)
    final += [Fragment(Tag(output), None) for output, count in expected.items() if count == 0]
    return _accounted(final, spreadings)


def _gather_task(
    rewrite: Rewrite, spreading: Spreading, output: int, part: int, parts: Sequence[Sequence[int]]
) -> GatherTask:
    ranges = [SortedRange(sorted(spreading.pieces[n]), n in spreading.single) for n in parts[part]]
    return gather_task(rewrite, spreading, output, part, ranges, final=len(parts) == 1)


def _contiguous(spreading: Spreading, bins: int) -> list[list[int]]:
    """Neighbouring ranges in ``bins`` lists of about equal decoded size."""
    sizes = {number: sum(piece.size for piece in found) for number, found in spreading.pieces.items()}
    total = sum(sizes.values()) or 1
    result: list[list[int]] = [[] for _ in range(bins)]
    done = 0
    for number in sorted(sizes):
        middle = done + sizes[number] / 2
        result[min(bins - 1, int(middle * bins / total))].append(number)
        done += sizes[number]
    return result


def _accounted(fragments: Sequence[Fragment], spreadings: Sequence[Spreading]) -> list[Fragment]:
    """Fragments that say how many rows were read of the table; raises ProcessionError when rows were lost between."""
    rows = {fragment.output: fragment.rows for fragment in fragments}
    read: dict[int, int] = {}
    for spreading in spreadings:
        found = sum(rows[output] for output in spreading.outputs)
        if found != spreading.kept_rows:
            raise ProcessionError(
                ErrorCode.GENERIC_INTERNAL_ERROR,
                f"Nothing was committed: {found} rows were written of {spreading.kept_rows} that were sorted",
            )
        read[spreading.outputs[0]] = spreading.read_rows
    return [replace(fragment, read_rows=read.get(fragment.output, 0)) for fragment in fragments]
