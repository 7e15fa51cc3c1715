"""Which files a rewrite takes and how they are grouped: Iceberg's bin-packing rules, size by size.

Source: Iceberg ``SizeBasedFileRewritePlanner`` and ``BinPackRewriteFilePlanner``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from coordinator.connectors.iceberg.manifests.live_files import LiveFile, Partition
from coordinator.connectors.iceberg.rewrite.asked.options import NO_LIMIT, RewriteOptions
from coordinator.connectors.iceberg.rewrite.planning.clustering import Clustering, Together
from coordinator.connectors.iceberg.rewrite.planning.overlap import Depth


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A data file with the delete files that apply to it."""

    data: LiveFile
    deletes: tuple[LiveFile, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FileGroup:
    """Files of one partition that are rewritten together into ``output_files`` files, and why.

    Files of other specs than the one that is written are together in a group whose ``partition`` has no values.
    ``least_files`` of the first of them are worth a rewrite by themselves.
    """

    partition: Partition
    files: tuple[Candidate, ...]
    output_files: int
    reason: str = ""
    least_files: int = 2

    @property
    def size(self) -> int:
        return sum(candidate.data.size for candidate in self.files)

    @property
    def moves(self) -> bool:
        """Whether files of other partition specs are among them."""
        return any(candidate.data.file.spec_id != self.partition[0] for candidate in self.files)


@dataclass(frozen=True, slots=True, eq=False)
class Skipped:
    """Files of one partition that stay as they are, and why."""

    partition: Partition
    files: tuple[Candidate, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Survey:
    """What a call makes of every file: groups in the order of ``rewrite-job-order``, and the files that it leaves."""

    groups: list[FileGroup]
    skipped: list[Skipped]
    depths: Mapping[Partition, Depth] = field(default_factory=dict)


def survey(candidates: Sequence[Candidate], options: RewriteOptions, clustering: Clustering | None = None) -> Survey:
    """The groups worth rewriting, and the rest with its reasons."""
    known = Clustering() if clustering is None else clustering
    groups = [] if options.rewrite_all else _overlapping(candidates, known.together, options)
    done = {candidate.data for group in groups for candidate in group.files}
    wrong: dict[Partition, list[Candidate]] = {}
    right: dict[Partition, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.data in done:
            continue
        wrong_now = _has_many_deletes if candidate.data in known.settled else _is_wrong
        if options.rewrite_all or candidate.data in known.stale or wrong_now(candidate, options):
            wrong.setdefault(_output_partition(candidate, options), []).append(candidate)
        else:
            right.setdefault(candidate.data.partition, []).append(candidate)
    skipped = [Skipped(partition, tuple(files), _reason_to_stay(options)) for partition, files in right.items()]
    for partition, members in wrong.items():
        for files in _packed(sorted(members, key=lambda c: known.places.get(c.data, 0)), options):
            group = _sized(partition, files, known.stale, options)
            if group is None:
                skipped.append(Skipped(partition, tuple(files), _reason_too_little(files, options)))
            else:
                groups.append(group)
    taken, left = limited(_ordered(groups, options), options)
    return Survey(taken, [*skipped, *left], known.depths)


def _overlapping(
    candidates: Iterable[Candidate], together: Sequence[Together], options: RewriteOptions
) -> list[FileGroup]:
    """Groups of files that share keys, neighbours in one; smaller runs first, where not all may be rewritten."""
    by_file = {candidate.data: candidate for candidate in candidates} if together else {}
    groups = []
    for chosen in together:
        layer_of = dict(zip(chosen.files, chosen.layers, strict=True))
        for files in _packed([by_file[file] for file in chosen.files], options):
            sizes = Counter[int]()
            for candidate in files:
                sizes[layer_of[candidate.data]] += candidate.data.size
            if len(sizes) > 1:
                order = {layer: place for place, (layer, _) in enumerate(reversed(sizes.most_common()))}
                ordered = sorted(files, key=lambda candidate: order[layer_of[candidate.data]])
                least = 1 + sum(1 for candidate in ordered if order[layer_of[candidate.data]] == 0)
                reason = (
                    f"{len(sizes)} files or sorted runs share keys, min-overlap-depth is {options.min_overlap_depth}"
                )
                groups.append(_group(files[0].data.partition, ordered, reason, options, least))
    return groups


def _sized(
    partition: Partition, files: Sequence[Candidate], stale: frozenset[LiveFile], options: RewriteOptions
) -> FileGroup | None:
    if options.rewrite_all:
        return _group(partition, files, "rewrite-all", options)
    reason = _worth(files, options)
    count = sum(1 for candidate in files if candidate.data in stale)
    if count:
        first = next(place for place, candidate in enumerate(files, 1) if candidate.data in stale)
        text = f"{count} files are not in this sort order (rewrite-stale-sort-order)"
        least = first if reason is None else min(2, first)
        return _group(partition, files, f"{text}; {reason}" if reason else text, options, least)
    return None if reason is None else _group(partition, files, reason, options)


def _group(
    partition: Partition, files: Sequence[Candidate], reason: str, options: RewriteOptions, least_files: int = 2
) -> FileGroup:
    size = int(sum(c.data.size for c in files) * options.compression_factor)
    return FileGroup(partition, tuple(files), output_file_count(size, options), reason, least_files)


def _output_partition(candidate: Candidate, options: RewriteOptions) -> Partition:
    """A file of another spec may hold rows of several partitions: such files go together (Iceberg's rule)."""
    partition, wanted = candidate.data.partition, options.output_spec_id
    return partition if wanted is None or partition[0] == wanted else (wanted, ())


def _reason_to_stay(options: RewriteOptions) -> str:
    least = f"at least {options.min_file_size} bytes" if options.min_file_size > 0 else "of any size"
    most = f", at most {options.max_file_size}" if options.max_file_size < NO_LIMIT else ""
    return f"each file has the right size ({least}{most}) and few deleted rows"


def _is_wrong(candidate: Candidate, options: RewriteOptions) -> bool:
    size = candidate.data.size
    return not options.min_file_size <= size <= options.max_file_size or _has_many_deletes(candidate, options)


def _has_many_deletes(candidate: Candidate, options: RewriteOptions) -> bool:
    if len(candidate.deletes) >= options.delete_file_threshold:
        return True
    known = sum(d.file.record_count for d in candidate.deletes if d.only_data_file is not None)
    records = candidate.data.file.record_count
    return known > 0 and records > 0 and min(known, records) / records >= options.delete_ratio_threshold


def _worth(files: Sequence[Candidate], options: RewriteOptions) -> str | None:
    """Why a group is worth its rewrite; None when it is not."""
    size = sum(candidate.data.size for candidate in files)
    if len(files) > 1 and len(files) >= options.min_input_files:
        return (
            f"{len(files)} files of the wrong size or with many deletes, min-input-files is {options.min_input_files}"
        )
    if len(files) > 1 and size > options.target_file_size:
        return f"{len(files)} files together pass the target size ({options.target_file_size} bytes)"
    if size > options.max_file_size:
        return f"a file is larger than max-file-size-bytes ({options.max_file_size})"
    if any(_has_many_deletes(candidate, options) for candidate in files):
        return (
            f"a file has delete-file-threshold ({options.delete_file_threshold}) delete files "
            f"or {options.delete_ratio_threshold:g} of its rows deleted (delete-ratio-threshold)"
        )
    return None


def _reason_too_little(files: Sequence[Candidate], options: RewriteOptions) -> str:
    size = sum(candidate.data.size for candidate in files)
    if len(files) == 1:
        return f"one file alone cannot be merged: {size} bytes, min-file-size-bytes is {options.min_file_size}"
    return (
        f"{len(files)} files are fewer than min-input-files ({options.min_input_files}), and their {size} bytes "
        f"do not pass the target ({options.target_file_size})"
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
    # Iceberg allows 1.1 times the target here; half of that is left for where row groups end.
    return whole if size / whole < min(1.05 * target, options.max_file_size) else whole + 1


def output_sizes(size: int, options: RewriteOptions) -> list[float]:
    """The sizes of the files that ``size`` bytes go into: full ones, and a last one that may be smaller."""
    count = output_file_count(size, options)
    full = max(options.target_file_size, size / count)
    whole = min(count - 1, int(size // full)) if full < size else 0
    return [float(full)] * whole + [size - whole * full] if size > whole * full else [float(full)] * whole


def _ordered(groups: list[FileGroup], options: RewriteOptions) -> list[FileGroup]:
    match options.job_order:
        case "bytes-asc" | "bytes-desc":
            return sorted(groups, key=lambda g: g.size, reverse=options.job_order == "bytes-desc")
        case "files-asc" | "files-desc":
            return sorted(groups, key=lambda g: len(g.files), reverse=options.job_order == "files-desc")
        case _:
            return groups


def limited(groups: list[FileGroup], options: RewriteOptions) -> tuple[list[FileGroup], list[Skipped]]:
    """What fits into ``max-files-to-rewrite``, the first files of a group that does not (Iceberg's rule), and the rest.

    A single file that would only be written again is not worth its group's place.
    """
    left, taken, over = options.max_files, list[FileGroup](), list[Skipped]()
    reason = f"max-files-to-rewrite ({options.max_files}) is reached"
    for group in groups:
        part, rest = group.files[:left], group.files[left:]
        if not rest:
            taken.append(group)
        elif len(part) >= group.least_files or (part and (options.rewrite_all or _worth(part, options))):
            taken.append(
                _group(
                    group.partition,
                    part,
                    f"{group.reason}, of {len(group.files)} as many as may be",
                    options,
                    group.least_files,
                )
            )
        else:
            part, rest = (), group.files
        left -= len(part)
        if rest:
            over.append(Skipped(group.partition, rest, reason))
    return taken, over
