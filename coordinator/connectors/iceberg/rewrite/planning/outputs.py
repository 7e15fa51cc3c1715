"""The files that a rewrite writes, each out of slices of data files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any

from coordinator.connectors.iceberg.rewrite.asked.options import RewriteOptions
from coordinator.connectors.iceberg.rewrite.asked.sorted_runs import output_name
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate, FileGroup, output_sizes
from coordinator.kernels.tasks import RowGroups

_LEAST_PART = 16 << 20
"""Splitting further would cost more in starting tasks than it gains."""
_OPEN_END = 1 << 30


@dataclass(frozen=True, slots=True)
class Slice:
    """A data file or some row groups of it."""

    candidate: Candidate
    size: int
    groups: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class MixedCopy:
    """The row groups of a group's files by path, and how decimals are stored in those that are written beside."""

    row_groups: Mapping[str, RowGroups]
    decimals: str


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """One file to be written, from ``parts`` that are written side by side and joined.

    When it ``copies``, its one part is joined as it is, without being decoded; of several, those with the numbers
    ``copied`` are. ``partition`` are its values where they are not those of the group.
    """

    group: int
    name: str
    directory: str
    parts: tuple[tuple[Slice, ...], ...]
    copies: bool = False
    partition: tuple[Any, ...] | None = None
    copied: frozenset[int] = frozenset()
    decimals: str = "integers"


def plan_outputs(
    groups: Sequence[FileGroup],
    parallelism: int,
    directories: Sequence[str],
    call_id: str,
    options: RewriteOptions,
    copies: Sequence[bool] = (),
    scattered: Sequence[bool] = (),
    mixed: Mapping[int, MixedCopy] | None = None,
) -> list[OutputPlan]:
    """The files to write: enough parts that every core works even when there are fewer files than cores.

    Groups that ``copies`` marks have one part a file: copying waits for storage, not for cores. For one that
    ``scattered`` marks, one output stands until its partitions are known. Of ``mixed`` groups some row groups are
    copied, and neighbours of the others are a part.
    """
    total = sum(group.output_files for group in groups)
    wanted = -(-parallelism // total) if total < parallelism else 1
    plans: list[OutputPlan] = []
    for number, group in enumerate(groups):
        if scattered and scattered[number]:
            plans.append(_standing(number, len(plans), directories[number], call_id))
            continue
        if mixed and number in mixed:
            plans += _mixed(number, group, mixed[number], directories[number], len(plans), call_id, options)
            continue
        each = group.size // group.output_files
        copied = bool(copies) and copies[number]
        parts = 1 if copied else max(1, min(wanted, each // _LEAST_PART))
        sizes = output_sizes(group.size, options)
        slices = _slices(group, len(sizes) * parts)
        bins = _balanced(slices, [size / parts for size in sizes for _ in range(parts)])
        for start in range(0, len(bins), parts):
            chosen = tuple(tuple(b) for b in bins[start : start + parts] if b)
            if chosen:
                name = output_name(len(plans), number, call_id)
                plans.append(OutputPlan(number, name, directories[number], chosen, copied))
    return plans


def _mixed(
    number: int,
    group: FileGroup,
    mixed: MixedCopy,
    directory: str,
    first: int,
    call_id: str,
    options: RewriteOptions,
) -> Iterator[OutputPlan]:
    slices = [
        Slice(candidate, size, (place, place + 1))
        for candidate in group.files
        for place, size in enumerate(mixed.row_groups[candidate.data.path].sizes)
    ]
    decoded = {(path, place) for path, found in mixed.row_groups.items() for place in found.deleted}
    sizes = output_sizes(sum(piece.size for piece in slices), options)
    for place, chosen in enumerate(found for found in _balanced(slices, sizes) if found):
        parts: list[tuple[Slice, ...]] = []
        copied: set[int] = set()
        for writes, run in groupby(chosen, lambda s: (s.candidate.data.path, (s.groups or (0, 0))[0]) in decoded):
            if not writes:
                copied.add(len(parts))
            parts.append(tuple(_contiguous(run)))
        name = output_name(first + place, number, call_id)
        copies = len(parts) == 1 and bool(copied)
        some = frozenset(copied) if len(parts) > 1 else frozenset[int]()
        yield OutputPlan(number, name, directory, tuple(parts), copies, None, some, mixed.decimals)


def _contiguous(slices: Iterable[Slice]) -> list[Slice]:
    """Neighbouring row groups of a file as one slice."""
    found: list[Slice] = []
    for piece in slices:
        last = found[-1] if found else None
        ends = (last.groups or (0, 0))[1] if last is not None and last.candidate is piece.candidate else None
        start, end = piece.groups or (0, 0)
        if last is not None and ends == start:
            found[-1] = Slice(piece.candidate, last.size + piece.size, ((last.groups or (0, 0))[0], end))
        else:
            found.append(piece)
    return found


def _standing(group: int, place: int, directory: str, call_id: str, mark: str | None = None) -> OutputPlan:
    return OutputPlan(group, output_name(place, group, call_id, mark), directory, ())


def plan_sorted_outputs(
    groups: Sequence[FileGroup], directories: Sequence[str], call_id: str, scattered: Sequence[bool], mark: str
) -> list[OutputPlan]:
    """The files of sorted groups; which rows go where is known when their keys have been sampled.

    ``mark`` is that of the order.
    """
    plans: list[OutputPlan] = []
    for number, group in enumerate(groups):
        for _ in range(1 if scattered[number] else group.output_files):
            plans.append(_standing(number, len(plans), directories[number], call_id, mark))
    return plans


def even_slices(group: FileGroup, bins: int) -> list[list[Slice]]:
    """The group's files or row groups of them in at most ``bins`` contiguous lists of about equal size."""
    return [found for found in _balanced(_slices(group, bins), [1.0] * bins) if found]


def _slices(group: FileGroup, bins: int) -> list[Slice]:
    """The group's files; one that is larger than a bin's share is cut between row groups."""
    share = max(1, group.size // bins)
    slices: list[Slice] = []
    for candidate in group.files:
        offsets = candidate.data.file.split_offsets or []
        size = candidate.data.size
        if bins == 1 or size <= share or len(offsets) < 2:
            slices.append(Slice(candidate, size))
            continue
        ends = [*offsets[1:], size]
        for i, (start, end) in enumerate(zip(offsets, ends, strict=True)):
            # The last slice is open: rows behind the last known offset must not be lost.
            last = _OPEN_END if i == len(offsets) - 1 else i + 1
            slices.append(Slice(candidate, end - start, (i, last)))
    return slices


def _balanced(slices: Sequence[Slice], weights: Sequence[float]) -> list[list[Slice]]:
    """Contiguous bins of about the sizes that ``weights`` say in proportion."""
    total = sum(s.size for s in slices) or 1
    ends = [end * total / sum(weights) for end in accumulate(weights)]
    result: list[list[Slice]] = [[] for _ in weights]
    done = 0
    for piece in slices:
        place = bisect_right(ends, done + piece.size / 2)
        result[min(len(ends) - 1, place)].append(piece)
        done += piece.size
    return result
