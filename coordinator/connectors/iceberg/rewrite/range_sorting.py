"""Sorting groups across their files: sample keys, spread rows over ranges in scratch files, sort range by range.

Memory of a task is bounded by a run of rows and by a range, whatever the group. Scratch files carry the call's id in
their names and lie beside the new data files: what removes those of a failed call removes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from coordinator.connectors.iceberg.paths import local_path
from coordinator.connectors.iceberg.rewrite.groups import FileGroup
from coordinator.connectors.iceberg.rewrite.kernel_calls import run_kernel
from coordinator.connectors.iceberg.rewrite.outputs import Slice, even_slices
from coordinator.connectors.iceberg.rewrite.packing import join_parts
from coordinator.connectors.iceberg.rewrite.rewrite import Rewrite
from coordinator.connectors.iceberg.rewrite.tasks import part_name
from coordinator.connectors.iceberg.storage import delete_files
from coordinator.kernels.sort_tasks import (
    GATHER,
    SAMPLE,
    SORT_WHOLE,
    SPREAD_BY_RANGE,
    GatherTask,
    PartitionColumn,
    Piece,
    RowOrder,
    SampleTask,
    SortedRange,
    SortTask,
    Spread,
    SpreadTask,
)
from coordinator.kernels.tasks import Fragment, Tag
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ProcedureContext

_SMALL_BYTES, _SMALL_CELLS = 16 << 20, 12_000_000
"""Groups up to these sizes are sorted by one task in memory."""
_RANGE_BYTES = 64 << 20
_SCATTER_BYTES = 40 << 20
_SAMPLED_INPUTS, _SAMPLED_ROWS = 96, 10_000
_MOST_SAMPLED_ROWS = 60_000
_ROWS_OF_A_RANGE = 20
_GROWTH = 6
"""Decoded bytes a byte of a data file, as far as the number of sampled rows needs to know it."""
_COMPRESSED_FROM = 4 << 30
_RANGES_OF_A_FILE = 8
_MOST_RANGES = 20_000


@dataclass(slots=True)
class Sorting:
    """One group on its way; sizes in decoded bytes."""

    number: int
    group: FileGroup
    outputs: list[int]
    samples: list[str] = field(default_factory=list)
    width: float = 1.0
    scratch: list[str] = field(default_factory=list)
    pieces: dict[int, list[Piece]] = field(default_factory=dict)
    single: set[int] = field(default_factory=set)
    worth: set[str] = field(default_factory=set)
    read_rows: int = 0

    def take(self, spread: Spread, numbers: Sequence[int] | None = None) -> None:
        """Note what a task spread; with ``numbers``, those of its pieces are places in them."""
        self.read_rows += spread.read_rows
        self.worth |= set(spread.worth)
        self.single |= set(spread.single)
        if spread.path is not None:
            self.scratch.append(spread.path)
        for piece in spread.pieces:
            number = piece.number if numbers is None else numbers[piece.number]
            self.pieces.setdefault(number, []).append(piece)

    @property
    def rows(self) -> int:
        return sum(candidate.data.file.record_count for candidate in self.group.files)

    @property
    def kept_rows(self) -> int:
        return sum(piece.rows for found in self.pieces.values() for piece in found)

    @property
    def size(self) -> int:
        return int(self.rows * self.width)


def write_sorted(rewrite: Rewrite, context: ProcedureContext, numbers: Sequence[int]) -> list[Fragment]:
    """The final fragments of the outputs ``numbers``, whose groups are complete among them."""
    by_group: dict[int, list[int]] = {}
    for number in numbers:
        by_group.setdefault(rewrite.outputs[number].group, []).append(number)
    small = [(g, outputs[0]) for g, outputs in by_group.items() if _is_small(rewrite, g, outputs)]
    found, too_large = _sort_whole(rewrite, context, small)
    done = {g for g, output in small if output not in too_large}
    large = [Sorting(g, rewrite.groups[g], outputs) for g, outputs in by_group.items() if g not in done]
    if large:
        sample_keys(rewrite, context, large)
        try:
            _scatter(rewrite, context, large)
            found += _gather(rewrite, context, large)
        finally:
            delete_files(rewrite.table.io, [path for sorting in large for path in sorting.scratch])
    return found


def _is_small(rewrite: Rewrite, number: int, outputs: Sequence[int]) -> bool:
    group = rewrite.groups[number]
    cells = sum(c.data.file.record_count for c in group.files) * len(rewrite.factory.fields)
    return len(outputs) == 1 and group.size <= _SMALL_BYTES and cells <= _SMALL_CELLS


def _order(rewrite: Rewrite) -> RowOrder:
    assert rewrite.ordering is not None, "only sorted rewrites come here"
    return rewrite.ordering.order


def _sort_whole(
    rewrite: Rewrite, context: ProcedureContext, groups: Sequence[tuple[int, int]]
) -> tuple[list[Fragment], set[int]]:
    """Fragments of groups that were sorted in memory, and the outputs of those that decode to too much for it."""
    tasks = []
    for number, output in groups:
        plan = rewrite.outputs[output]
        slices = [Slice(candidate, candidate.data.size) for candidate in rewrite.groups[number].files]
        task = rewrite.factory.write(slices, plan.directory, plan.name, Tag(output, 0), final=True)
        tasks.append(SortTask(task, _order(rewrite)))
    found: list[Fragment] = []
    too_large: set[int] = set()
    for answer in run_kernel(context, SORT_WHOLE, tasks, "sorting files"):
        if answer.fragment is None:
            too_large.add(answer.output)
        else:
            found.append(answer.fragment)
    return found, too_large


def sample_keys(rewrite: Rewrite, context: ProcedureContext, sortings: Sequence[Sorting]) -> None:
    """Sample the keys of groups, and how wide their rows are."""
    tasks = []
    for place, sorting in enumerate(sortings):
        chosen = _sampled_slices(sorting.group)
        wanted = min(_MOST_SAMPLED_ROWS, max(_SAMPLED_ROWS, sorting.group.size * _GROWTH // _RANGE_BYTES * 20))
        count = min(len(chosen), 2 * context.workers.parallelism)
        for start in range(count):
            slices = chosen[start::count]
            rows = max(_ROWS_OF_A_RANGE, wanted // len(chosen))
            tasks.append(SampleTask(rewrite.factory.write(slices, "", ""), _order(rewrite), rows, place))
    for sample in run_kernel(context, SAMPLE, tasks, "sampling keys"):
        sorting = sortings[sample.group]
        sorting.width = max(sorting.width, sample.width)
        if sample.keys is not None:
            sorting.samples.append(sample.keys)


def _sampled_slices(group: FileGroup) -> list[Slice]:
    """Row groups here and there in the order of the files, so that data that is nearly sorted is sampled evenly."""
    places = [(c, i) for c in group.files for i in range(max(1, len(c.data.file.split_offsets or ())))]
    step = max(1.0, len(places) / _SAMPLED_INPUTS)
    chosen = [places[int(i * step)] for i in range(min(len(places), _SAMPLED_INPUTS))]
    return [Slice(c, c.data.size, (i, i + 1) if len(c.data.file.split_offsets or ()) > 1 else None) for c, i in chosen]


def _range_count(rewrite: Rewrite, sorting: Sorting, parallelism: int) -> int:
    outputs = len(sorting.outputs)
    least = max(parallelism, outputs * rewrite.options.ranges_per_file)
    if outputs > 1:
        least = max(least, outputs * _RANGES_OF_A_FILE)
    return min(_MOST_RANGES, max(least, -(-sorting.size // _RANGE_BYTES)))


def _scatter(rewrite: Rewrite, context: ProcedureContext, sortings: Sequence[Sorting]) -> None:
    tasks = spread_tasks(rewrite, context, sortings)
    for spread in run_kernel(context, SPREAD_BY_RANGE, tasks, "spreading rows over ranges"):
        sortings[spread.group].take(spread)


def spread_tasks(
    rewrite: Rewrite,
    context: ProcedureContext,
    sortings: Sequence[Sorting],
    partition: Sequence[PartitionColumn] = (),
) -> list[SpreadTask]:
    """Tasks that read all rows of the groups, by range or by ``partition``; they name a group's place."""
    tasks = []
    cores = context.workers.parallelism
    for place, sorting in enumerate(sortings):
        plan = rewrite.outputs[sorting.outputs[0]]
        rounds = -(-sorting.group.size // (_SCATTER_BYTES * cores))
        plain = local_path(plan.directory) is not None and sorting.size < _COMPRESSED_FROM
        for number, slices in enumerate(even_slices(sorting.group, rounds * cores)):
            name = f"{sorting.number:05d}-s{number}-{rewrite.call_id}"
            task = SpreadTask(
                rewrite.factory.write(slices, plan.directory, name),
                None if rewrite.ordering is None else _order(rewrite),
                samples=sorted(sorting.samples),
                ranges=_range_count(rewrite, sorting, cores),
                compression=None if plain else "lz4",
                partition=list(partition),
                group=place,
            )
            tasks.append(task)
    return tasks


def _gather(rewrite: Rewrite, context: ProcedureContext, sortings: Sequence[Sorting]) -> list[Fragment]:
    total = sum(len(sorting.outputs) for sorting in sortings)
    parts_each = max(1, -(-context.workers.parallelism // total))
    tasks, expected = [], {}
    for sorting in sortings:
        bins = _contiguous(sorting, len(sorting.outputs) * parts_each)
        for place, output in enumerate(sorting.outputs):
            chosen = [b for b in bins[place * parts_each : (place + 1) * parts_each] if b]
            expected[output] = len(chosen)
            tasks += [_gather_task(rewrite, sorting, output, i, chosen) for i in range(len(chosen))]
    final, parts = [], dict[int, list[Fragment]]()
    for written in run_kernel(context, GATHER, tasks, "sorting ranges"):
        if expected[written.output] == 1:
            final.append(written)
        else:
            parts.setdefault(written.output, []).append(written)
    final += join_parts(rewrite, context, parts)
    final += [Fragment(Tag(output), None) for output, count in expected.items() if count == 0]
    return _accounted(final, sortings)


def _gather_task(
    rewrite: Rewrite, sorting: Sorting, output: int, part: int, parts: Sequence[Sequence[int]]
) -> GatherTask:
    ranges = [SortedRange(sorted(sorting.pieces[n]), n in sorting.single) for n in parts[part]]
    return gather_task(rewrite, sorting, output, part, ranges, final=len(parts) == 1)


def gather_task(
    rewrite: Rewrite, sorting: Sorting, output: int, part: int, ranges: Sequence[SortedRange], *, final: bool
) -> GatherTask:
    """A task that writes an output, or when it is not ``final`` a part of one, of ``ranges`` in their order."""
    plan = rewrite.outputs[output]
    name = part_name(plan, part, final=final)
    task = rewrite.factory.write((), plan.directory, name, Tag(output, part), final=final)
    order = None if rewrite.ordering is None else _order(rewrite)
    return GatherTask(task, order, list(ranges), sorted(sorting.worth))


def _contiguous(sorting: Sorting, bins: int) -> list[list[int]]:
    """Neighbouring ranges in ``bins`` lists of about equal decoded size."""
    sizes = {number: sum(piece.size for piece in found) for number, found in sorting.pieces.items()}
    total = sum(sizes.values()) or 1
    result: list[list[int]] = [[] for _ in range(bins)]
    done = 0
    for number in sorted(sizes):
        middle = done + sizes[number] / 2
        result[min(bins - 1, int(middle * bins / total))].append(number)
        done += sizes[number]
    return result


def _accounted(fragments: Sequence[Fragment], sortings: Sequence[Sorting]) -> list[Fragment]:
    """Fragments that say how many rows were read of the table; raises ProcessionError when rows were lost between."""
    rows = {fragment.output: fragment.rows for fragment in fragments}
    read: dict[int, int] = {}
    for sorting in sortings:
        found = sum(rows[output] for output in sorting.outputs)
        if found != sorting.kept_rows:
            raise ProcessionError(
                ErrorCode.GENERIC_INTERNAL_ERROR,
                f"Nothing was committed: {found} rows were written of {sorting.kept_rows} that were sorted",
            )
        read[sorting.outputs[0]] = sorting.read_rows
    return [replace(fragment, read_rows=read.get(fragment.output, 0)) for fragment in fragments]
