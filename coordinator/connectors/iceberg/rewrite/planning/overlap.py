"""How many files share keys of a sort order, and which of them are worth sorting together.

The *depth* at a key is how many files or sorted runs a look-up of it has to read; a table that was just sorted has
depth 1. Where the depth passes a bound, the smallest of what lies there goes into one new run: as in trees of merged
logs, a row is then written about as often as the table has doubled, and large runs that little falls into stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coordinator.connectors.iceberg.rewrite.planning.key_spans import Numbers, Spans

_MOST_PAIRS = 4_000_000
_NEIGHBOURS = 4
"""From the end of a file to the start of the next, where no end of another file is between."""


@dataclass(frozen=True, slots=True)
class Depth:
    """Of one partition: the greatest depth, and the mean over its files of the greatest depth within each.

    ``shared_size`` are the bytes of files that share keys, but for the largest run: about what a sort would write.
    """

    greatest: int = 0
    average: float = 0.0
    shared_size: int = 0


@dataclass(frozen=True, slots=True)
class Layered:
    """The files of one partition: where they lie, which run each belongs to (a file without one is alone), sizes."""

    starts: Numbers
    ends: Numbers
    layers: Numbers
    sizes: Numbers


@dataclass(frozen=True, slots=True)
class Swept:
    """Keys where the depth changes, in order, and the depth from each of them on."""

    keys: Numbers
    depths: Numbers
    depth: Depth


def layered(spans: Spans, runs: Sequence[str | None], sizes: Sequence[int]) -> Layered:
    """What only touches does not overlap: a key that two neighbours share is in two files after every sort.

    Files with one and the same key alone are one layer, as no sort could part them.
    """
    starts, ends = 2 * spans.low + 1, 2 * spans.high - 1
    single = spans.low == spans.high
    starts[single] = ends[single] = 2 * spans.low[single]
    known: dict[object, int] = {}
    layers = np.empty(len(runs), np.int64)
    for place, run in enumerate(runs):
        alone = (int(starts[place]),) if single[place] else (place, None)
        layers[place] = known.setdefault(alone if run is None else run, len(known))
    return Layered(starts, ends, layers, np.asarray(sizes, np.int64))


def swept(files: Layered) -> Swept:
    """The depth at every key."""
    starts, ends = _merged(files)
    keys = np.unique(np.concatenate([starts, ends + 1]))
    change = np.zeros(len(keys), np.int64)
    np.add.at(change, np.searchsorted(keys, starts), 1)
    np.add.at(change, np.searchsorted(keys, ends + 1), -1)
    depths = np.cumsum(change)
    if not len(files.starts):
        return Swept(keys, depths, Depth())
    first = np.searchsorted(keys, files.starts, "right") - 1
    last = np.searchsorted(keys, files.ends, "right") - 1
    greatest = _greatest(depths, first, last)
    shared = greatest > 1
    sizes = np.bincount(files.layers[shared], files.sizes[shared])
    size = int(sizes.sum() - sizes.max(initial=0))
    return Swept(keys, depths, Depth(int(greatest.max()), float(greatest.mean()), size))


def _merged(files: Layered) -> tuple[Numbers, Numbers]:
    """The intervals of all layers, those of one layer without overlap.

    Between the ends of two files of a run is nothing where no other file ends: depths would fall there for no reason.
    """
    order = np.lexsort((files.starts, files.layers))
    starts, ends = list[int](), list[int]()
    layer = -1
    for place in order.tolist():
        start, end = int(files.starts[place]), int(files.ends[place])
        if files.layers[place] == layer and start <= ends[-1] + _NEIGHBOURS:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
            layer = int(files.layers[place])
    return np.asarray(starts, np.int64), np.asarray(ends, np.int64)


def _greatest(values: Numbers, first: Numbers, last: Numbers) -> Numbers:
    """The greatest of ``values`` from ``first`` to ``last``, for each pair: over windows whose lengths double."""
    result = np.zeros(len(first), np.int64)
    window, length = values, 1
    while length <= len(values):
        fits = (last - first + 1 >= length) & (last - first + 1 < 2 * length)
        result[fits] = np.maximum(window[first[fits]], window[last[fits] - length + 1])
        window = np.maximum(window[: max(0, len(window) - length)], window[length:])
        length *= 2
    return result


def worth_sorting(files: Layered, sweep: Swept, least: int) -> list[list[int]]:
    """Sets of files whose sorting brings the depth below ``least``, each of more than one layer."""
    starts, ends = _regions(sweep, least)
    first = np.searchsorted(ends, files.starts)
    last = np.searchsorted(starts, files.ends, "right")
    if int((last - first).clip(0).sum()) > _MOST_PAIRS:
        starts, ends = starts[:1], ends[-1:]
        first = np.searchsorted(ends, files.starts)
        last = np.searchsorted(starts, files.ends, "right")
    within: list[list[int]] = [[] for _ in starts]
    for place in np.flatnonzero(first < last).tolist():
        for region in range(int(first[place]), int(last[place])):
            within[region].append(place)
    return _joined(_smallest(files, places, least) for places in within)


def _regions(sweep: Swept, least: int) -> tuple[Numbers, Numbers]:
    """Where the depth is ``least`` or more: the first and the last key of each stretch."""
    deep: npt.NDArray[np.bool_] = sweep.depths >= least
    edges = np.diff(np.concatenate([[False], deep, [False]]).astype(np.int8))
    begin, end = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return sweep.keys[begin], sweep.keys[end] - 1


def _smallest(files: Layered, places: Sequence[int], least: int) -> list[int]:
    """The smallest layers of a region: as many as must go, and those that are no larger than what goes with them."""
    layers: dict[int, list[int]] = {}
    for place in places:
        layers.setdefault(int(files.layers[place]), []).append(place)
    sizes = {layer: int(files.sizes[found].sum()) for layer, found in layers.items()}
    needed = max(2, len(layers) - least + 2)
    taken, total = list[int](), 0
    for number, (layer, size) in enumerate(sorted(sizes.items(), key=lambda item: item[1])):
        if number >= needed and size > total:
            break
        taken += layers[layer]
        total += size
    return taken


def _joined(sets: Iterable[Sequence[int]]) -> list[list[int]]:
    """The sets, those that share a file together."""
    owner: dict[int, int] = {}
    parents: list[int] = []

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    for number, places in enumerate(sets):
        parents.append(number)
        for place in places:
            parents[root(number)] = root(owner.setdefault(place, number))
    found: dict[int, list[int]] = {}
    for place, number in owner.items():
        found.setdefault(root(number), []).append(place)
    return [sorted(places) for places in found.values()]
