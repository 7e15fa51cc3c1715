"""Files of the target size: what was written is cut anew between row groups where the sizes came out otherwise.

How large new files get is known when they are written: deleted rows are gone, and another codec or order compresses
otherwise. Row groups are then copied as they are into files of the right size, in the order that they have.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from coordinator.connectors.iceberg.rewrite.planning.groups import output_sizes
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from coordinator.connectors.iceberg.rewrite.writing.kernel_calls import run_kernel
from coordinator.kernels.tasks import JOIN, Fragment, Input, JoinTask, Tag
from shared.spi.procedure import ProcedureContext

_TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class Piece:
    """Row groups ``first`` up to ``last`` of a written file."""

    source: int
    first: int
    last: int


def resized(rewrite: Rewrite, context: ProcedureContext, fragments: Sequence[Fragment]) -> list[Fragment]:
    """The fragments, those of groups whose files miss their sizes replaced by those of files cut anew."""
    by_group: dict[tuple[int, tuple[object, ...] | None], list[Fragment]] = {}
    for fragment in fragments:
        plan = rewrite.outputs[fragment.output]
        by_group.setdefault((plan.group, plan.partition), []).append(fragment)
    kept: list[Fragment] = []
    tasks: list[JoinTask] = []
    read: dict[int, int] = {}
    for found in by_group.values():
        written = sorted(found, key=lambda w: w.output)
        files = [w for w in written if w.path is not None]
        cuts = new_cuts(files, rewrite)
        if cuts is None:
            kept += found
            continue
        outputs = [w.output for w in written]
        tasks += _tasks(rewrite, files, cuts, outputs)
        kept += [Fragment(Tag(output), None) for output in outputs[len(cuts) :]]
        read[outputs[0]] = sum(w.read_rows for w in written)
        rewrite.parts.extend([w.path for w in files if w.path is not None])
    for fragment in run_kernel(context, JOIN, tasks, "cutting files to size"):
        # The same output may name several files: the first one found accounts for the rows of the group.
        kept.append(replace(fragment, read_rows=read.pop(fragment.output, 0)))
    return kept


def new_cuts(files: Sequence[Fragment], rewrite: Rewrite) -> list[list[Piece]] | None:
    """The row groups of each file to make; None when the files are of the right sizes or cannot be cut better."""
    if not files or rewrite.options.compression_factor != 1:
        return None
    sizes = [w.size for w in files]
    wanted = output_sizes(sum(sizes), rewrite.options)
    if len(sizes) == len(wanted) and all(
        abs(a - b) <= _TOLERANCE * wanted[0] for a, b in zip(sizes, wanted, strict=True)
    ):
        return None
    pieces = _row_groups(files)
    ends = list(accumulate(wanted))
    cuts: list[list[Piece]] = [[] for _ in wanted]
    done = 0.0
    for piece, size in pieces:
        cuts[min(len(cuts) - 1, bisect_right(ends, done + size / 2))].append(piece)
        done += size
    found = [_merged(cut) for cut in cuts if cut]
    same = [[Piece(i, 0, len(_offsets(file)))] for i, file in enumerate(files)]
    return None if found == same else found


def _offsets(file: Fragment) -> list[int]:
    assert file.metrics is not None, "final files carry metrics"
    return file.metrics.split_offsets


def _row_groups(files: Iterable[Fragment]) -> list[tuple[Piece, int]]:
    """Every row group with its bytes; what surrounds row groups counts for the last."""
    return [
        (Piece(i, number, number + 1), end - start)
        for i, file in enumerate(files)
        for starts in [_offsets(file)]
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], file.size], strict=True))
    ]


def _merged(pieces: Iterable[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for piece in pieces:
        if found and found[-1].source == piece.source and found[-1].last == piece.first:
            found[-1] = Piece(piece.source, found[-1].first, piece.last)
        else:
            found.append(piece)
    return found


def _tasks(
    rewrite: Rewrite, files: Sequence[Fragment], cuts: Sequence[Sequence[Piece]], outputs: Sequence[int]
) -> list[JoinTask]:
    tasks = []
    for number, cut in enumerate(cuts):
        # More files than were planned are counted for the last output.
        output = outputs[min(number, len(outputs) - 1)]
        parts = [Input(_path(files[p.source]), 0, (p.first, p.last)) for p in cut]
        plan = rewrite.outputs[output]
        name = f"{plan.name}-c{number:05}"  # names sort as the rows do
        tasks.append(rewrite.factory.join(output, plan, parts, _nan_counts(files, cut), name))
    return tasks


def _path(file: Fragment) -> str:
    assert file.path is not None, "what is cut has been written"
    return file.path


def _nan_counts(files: Sequence[Fragment], cut: Iterable[Piece]) -> dict[str, int]:
    """The sums over the row groups; none when a file says nothing of its row groups."""
    total: dict[str, int] = {}
    for piece in cut:
        file = files[piece.source]
        if len(file.nan_groups) != len(_offsets(file)):
            return {}
        for group in file.nan_groups[piece.first : piece.last]:
            for column, count in group.items():
                total[column] = total.get(column, 0) + count
    return total
