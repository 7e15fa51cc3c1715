"""Spreading the rows of groups over scratch files, by ranges of sampled keys or by partitions.

Memory of a task is bounded by a run of rows and by a range, whatever the group. Scratch files carry the call's id in
their names and lie beside the new data files: what removes those of a failed call removes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from coordinator.connectors.iceberg.paths import local_path
from coordinator.connectors.iceberg.rewrite.planning.groups import FileGroup
from coordinator.connectors.iceberg.rewrite.planning.outputs import Slice, even_slices
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from coordinator.connectors.iceberg.rewrite.planning.tasks import part_name
from coordinator.connectors.iceberg.rewrite.writing.kernel_calls import run_kernel
from coordinator.kernels.sort_tasks import (
    SAMPLE,
    GatherTask,
    PartitionColumn,
    Piece,
    RowOrder,
    SampleTask,
    SortedRange,
    Spread,
    SpreadTask,
)
from coordinator.kernels.tasks import Tag
from shared.spi.procedure import ProcedureContext

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
class Spreading:
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


def order_of(rewrite: Rewrite) -> RowOrder:
    """The order of a sorted rewrite."""
    assert rewrite.ordering is not None, "only sorted rewrites come here"
    return rewrite.ordering.order


def sample_keys(rewrite: Rewrite, context: ProcedureContext, spreadings: Sequence[Spreading]) -> None:
    """Sample the keys of groups, and how wide their rows are."""
    tasks = []
    for place, spreading in enumerate(spreadings):
        chosen = _sampled_slices(spreading.group)
        wanted = min(_MOST_SAMPLED_ROWS, max(_SAMPLED_ROWS, spreading.group.size * _GROWTH // _RANGE_BYTES * 20))
        count = min(len(chosen), 2 * context.workers.parallelism)
        for start in range(count):
            slices = chosen[start::count]
            rows = max(_ROWS_OF_A_RANGE, wanted // len(chosen))
            tasks.append(SampleTask(rewrite.factory.write(slices, "", ""), order_of(rewrite), rows, place))
    for sample in run_kernel(context, SAMPLE, tasks, "sampling keys"):
        spreading = spreadings[sample.group]
        spreading.width = max(spreading.width, sample.width)
        if sample.keys is not None:
            spreading.samples.append(sample.keys)


def _sampled_slices(group: FileGroup) -> list[Slice]:
    """Row groups here and there in the order of the files, so that data that is nearly sorted is sampled evenly."""
    places = [(c, i) for c in group.files for i in range(max(1, len(c.data.file.split_offsets or ())))]
    step = max(1.0, len(places) / _SAMPLED_INPUTS)
    chosen = [places[int(i * step)] for i in range(min(len(places), _SAMPLED_INPUTS))]
    return [Slice(c, c.data.size, (i, i + 1) if len(c.data.file.split_offsets or ()) > 1 else None) for c, i in chosen]


def _range_count(rewrite: Rewrite, spreading: Spreading, parallelism: int) -> int:
    outputs = len(spreading.outputs)
    least = max(parallelism, outputs * rewrite.options.ranges_per_file)
    if outputs > 1:
        least = max(least, outputs * _RANGES_OF_A_FILE)
    return min(_MOST_RANGES, max(least, -(-spreading.size // _RANGE_BYTES)))


def spread_tasks(
    rewrite: Rewrite,
    context: ProcedureContext,
    spreadings: Sequence[Spreading],
    partition: Sequence[PartitionColumn] = (),
) -> list[SpreadTask]:
    """Tasks that read all rows of the groups, by range or by ``partition``; they name a group's place."""
    tasks = []
    cores = context.workers.parallelism
    for place, spreading in enumerate(spreadings):
        plan = rewrite.outputs[spreading.outputs[0]]
        rounds = -(-spreading.group.size // (_SCATTER_BYTES * cores))
        plain = local_path(plan.directory) is not None and spreading.size < _COMPRESSED_FROM
        for number, slices in enumerate(even_slices(spreading.group, rounds * cores)):
            name = f"{spreading.number:05d}-s{number}-{rewrite.call_id}"
            task = SpreadTask(
                rewrite.factory.write(slices, plan.directory, name),
                None if rewrite.ordering is None else order_of(rewrite),
                samples=sorted(spreading.samples),
                ranges=_range_count(rewrite, spreading, cores),
                compression=None if plain else "lz4",
                partition=list(partition),
                group=place,
            )
            tasks.append(task)
    return tasks


def gather_task(
    rewrite: Rewrite, spreading: Spreading, output: int, part: int, ranges: Sequence[SortedRange], *, final: bool
) -> GatherTask:
    """A task that writes an output, or when it is not ``final`` a part of one, of ``ranges`` in their order."""
    plan = rewrite.outputs[output]
    name = part_name(plan, part, final=final)
    task = rewrite.factory.write((), plan.directory, name, Tag(output, part), final=final)
    order = None if rewrite.ordering is None else order_of(rewrite)
    return GatherTask(task, order, list(ranges), sorted(spreading.worth))
