"""Which files a rewrite takes and how they are grouped: Iceberg's bin-packing rules, size by size.

Source: Iceberg ``SizeBasedFileRewritePlanner`` and ``BinPackRewriteFilePlanner``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coordinator.connectors.iceberg.manifests import LiveFile, Partition
from coordinator.connectors.iceberg.options import RewriteOptions


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A data file with the delete files that apply to it."""

    data: LiveFile
    deletes: tuple[LiveFile, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FileGroup:
    """Files of one partition that are rewritten together into ``output_files`` files."""

    partition: Partition
    files: tuple[Candidate, ...]
    output_files: int

    @property
    def size(self) -> int:
        return sum(candidate.data.size for candidate in self.files)


def plan_groups(candidates: Iterable[Candidate], options: RewriteOptions) -> list[FileGroup]:
    """The groups worth rewriting, in the order of ``rewrite-job-order``."""
    by_partition: dict[Partition, list[Candidate]] = {}
    for candidate in candidates:
        if options.rewrite_all or _is_wrong(candidate, options):
            by_partition.setdefault(candidate.data.partition, []).append(candidate)
    groups = [
        FileGroup(partition, tuple(files), output_file_count(sum(c.data.size for c in files), options))
        for partition, members in by_partition.items()
        for files in _packed(members, options)
        if options.rewrite_all or _is_worth(files, options)
    ]
    return _limited(_ordered(groups, options), options)


def _is_wrong(candidate: Candidate, options: RewriteOptions) -> bool:
    size = candidate.data.size
    return not options.min_file_size <= size <= options.max_file_size or _has_many_deletes(candidate, options)


def _has_many_deletes(candidate: Candidate, options: RewriteOptions) -> bool:
    if len(candidate.deletes) >= options.delete_file_threshold:
        return True
    known = sum(d.file.record_count for d in candidate.deletes if d.only_data_file is not None)
    records = candidate.data.file.record_count
    return known > 0 and records > 0 and min(known, records) / records >= options.delete_ratio_threshold


def _is_worth(files: Sequence[Candidate], options: RewriteOptions) -> bool:
    size = sum(candidate.data.size for candidate in files)
    enough_files = len(files) > 1 and len(files) >= options.min_input_files
    enough_content = len(files) > 1 and size > options.target_file_size
    return (
        enough_files
        or enough_content
        or size > options.max_file_size
        or any(_has_many_deletes(candidate, options) for candidate in files)
    )


def _packed(files: Sequence[Candidate], options: RewriteOptions) -> list[list[Candidate]]:
    """Bins in input order, none above the group limits unless a single file is."""
    bins: list[list[Candidate]] = []
    room = count = 0
    for candidate in files:
        size = candidate.data.size
        if not bins or size > room or count >= options.max_group_files:
            bins.append([])
            room, count = options.max_group_size, 0
        bins[-1].append(candidate)
        room, count = room - size, count + 1
    return bins


def output_file_count(size: int, options: RewriteOptions) -> int:
    """Into how many files ``size`` bytes go, so that none is below the least size nor much above the target."""
    target = options.target_file_size
    if size < target:
        return 1
    whole, rest = divmod(size, target)
    if rest == 0 or whole == 0:
        return max(1, whole)
    if rest > options.min_file_size:
        return whole + 1
    return whole if size / whole < min(1.1 * target, options.max_file_size) else whole + 1


def _ordered(groups: list[FileGroup], options: RewriteOptions) -> list[FileGroup]:
    match options.job_order:
        case "bytes-asc" | "bytes-desc":
            return sorted(groups, key=lambda g: g.size, reverse=options.job_order == "bytes-desc")
        case "files-asc" | "files-desc":
            return sorted(groups, key=lambda g: len(g.files), reverse=options.job_order == "files-desc")
        case _:
            return groups


def _limited(groups: list[FileGroup], options: RewriteOptions) -> list[FileGroup]:
    taken: list[FileGroup] = []
    left = options.max_files
    for group in groups:
        if len(group.files) > left:
            break
        taken.append(group)
        left -= len(group.files)
    return taken
