"""How healthy a table is, from 0 to 100, and by how many files it has too many.

The score is Apache Amoro's (docs/concepts/self-optimizing.md): 40 points for file sizes, 40 for equality deletes, 20
for position deletes, each the rounded-up mean over the partitions. As such a mean hides one bad partition, the worst
partition is told beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shared.spi.maintenance import PartitionState, TableState

_MANY_FILES = 12


@dataclass(frozen=True, slots=True)
class Health:
    """Points of each part, the score of the worst partition with its name, and files over the number needed."""

    sizes: int
    equality_deletes: int
    position_deletes: int
    worst: int
    worst_partition: str
    files_needed: int

    @property
    def score(self) -> int:
        return self.sizes + self.equality_deletes + self.position_deletes


def health_of(state: TableState) -> Health:
    """A table without files is in perfect health."""
    if not state.partitions:
        return Health(40, 40, 20, 100, "", 0)
    points = [_points(partition, state.target_size) for partition in state.partitions]
    worst = min(range(len(points)), key=lambda i: sum(points[i]))
    needed = sum(needed_files(partition, state.target_size) for partition in state.partitions)
    return Health(*_means(points), math.ceil(sum(points[worst])), state.partitions[worst].name, needed)


def needed_files(partition: PartitionState, target: int) -> int:
    """The fewest files of the target size that hold a partition."""
    return max(1, math.ceil(partition.size / target))


def _means(points: Sequence[tuple[float, float, float]]) -> tuple[int, int, int]:
    count = len(points)
    sizes, equality, position = (math.ceil(sum(part) / count) for part in zip(*points, strict=True))
    return sizes, equality, position


def _points(partition: PartitionState, target: int) -> tuple[float, float, float]:
    least = target * 3 // 4
    weight = 0.0
    if partition.files > 1:
        weight = min(partition.files, _MANY_FILES) / _MANY_FILES * min(partition.size, least) / least
    average = partition.size / partition.files
    rows = max(1, partition.records)
    equality = min(partition.equality_deletes / rows, 0.1) / 0.1
    position = min(partition.position_deletes / rows, 0.2) / 0.2
    # Deletes are a burden to every reader, however small the partition.
    sizes = 40 - 40 * weight * (1 - min(average, least) / least)
    return sizes, 40 - 40 * max(weight, 0.25 * (equality > 0)) * equality, 20 - 20 * max(weight, 0.25) * position
