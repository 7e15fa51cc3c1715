"""What sorting little by little has to do: files out of order, and files that share keys with too many others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.schema import Schema

from coordinator.connectors.iceberg.manifests.live_files import LiveFile, Partition
from coordinator.connectors.iceberg.rewrite.asked.options import RewriteOptions
from coordinator.connectors.iceberg.rewrite.asked.ordering import Ordering
from coordinator.connectors.iceberg.rewrite.asked.sorted_runs import order_mark, run_of
from coordinator.connectors.iceberg.rewrite.planning.key_spans import Spans, spans_of
from coordinator.connectors.iceberg.rewrite.planning.overlap import Depth, Layered, Swept, layered, swept, worth_sorting


@dataclass(frozen=True, slots=True)
class Together:
    """Files of one partition that are worth sorting together, in the order of their least keys.

    ``layers`` says of each file which sorted run it belongs to, or that it is alone.
    """

    files: tuple[LiveFile, ...]
    layers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Clustering:
    """How well the files of each partition are sorted. ``places`` are the ranks of their least keys.

    ``settled`` files are of runs of several files: the last file of a run may be small, which is no reason to merge it.
    """

    depths: Mapping[Partition, Depth] = field(default_factory=dict)
    together: Sequence[Together] = ()
    stale: frozenset[LiveFile] = frozenset()
    places: Mapping[LiveFile, int] = field(default_factory=dict)
    settled: frozenset[LiveFile] = frozenset()


def clustering_of(files: Iterable[LiveFile], ordering: Ordering, options: RewriteOptions, schema: Schema) -> Clustering:
    """Of files of the spec that is written; those of others are sorted when they move to it."""
    by_partition: dict[Partition, list[LiveFile]] = {}
    for file in files:
        if options.output_spec_id in (None, file.partition[0]):
            by_partition.setdefault(file.partition, []).append(file)
    depths: dict[Partition, Depth] = {}
    together, stale, places = list[Together](), list[LiveFile](), dict[LiveFile, int]()
    settled = list[LiveFile]()
    mark = order_mark(ordering.order)
    for partition, members in by_partition.items():
        runs = [run_of(file.path, mark) for file in members]
        spans, layers, sweep = _sweep(members, runs, ordering, schema)
        depths[partition] = sweep.depth
        places.update(zip(members, spans.low.tolist(), strict=True))
        if options.rewrite_stale_sort_order:
            stale += [f for f, run in zip(members, runs, strict=True) if run is None and not _is_sorted(f, ordering)]
        if options.min_overlap_depth is not None:
            counts = Counter(runs)
            settled += [f for f, run in zip(members, runs, strict=True) if run is not None and counts[run] > 1]
            for chosen in worth_sorting(layers, sweep, options.min_overlap_depth):
                found = sorted(chosen, key=lambda place: spans.low[place])
                together.append(Together(tuple(members[p] for p in found), tuple(layers.layers[found].tolist())))
    return Clustering(depths, together, frozenset(stale), places, frozenset(settled))


def _sweep(
    files: Sequence[LiveFile], runs: Sequence[str | None], ordering: Ordering, schema: Schema
) -> tuple[Spans, Layered, Swept]:
    """Along a curve, over the column that parts the files best: files that share keys of the curve overlap in all."""
    sizes = [file.size for file in files]
    found = []
    for spans in spans_of(files, ordering.order, schema):
        layers = layered(spans, runs, sizes)
        found.append((spans, layers, swept(layers)))
    return min(found, key=lambda item: item[2].depth.average)


def _is_sorted(file: LiveFile, ordering: Ordering) -> bool:
    return ordering.sort_order_id is not None and file.file.sort_order_id == ordering.sort_order_id
