"""Parts of a table's metadata that never change are shared by its copies.

PyIceberg copies all metadata deeply whenever it applies updates, and it applies those of a transaction each time that
somebody asks for its metadata: a small append spent half of its time in that, the more the more snapshots a table has.
The models are frozen, so a copy of the metadata may hold the same ones; its lists and dictionaries are its own.
"""

from __future__ import annotations

from typing import TypeVar

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.refs import SnapshotRef
from pyiceberg.table.snapshots import MetadataLogEntry, Snapshot, SnapshotLogEntry
from pyiceberg.table.sorting import SortOrder
from pyiceberg.table.statistics import PartitionStatisticsFile, StatisticsFile

SHARED = (
    *(Schema, PartitionSpec, SortOrder, Snapshot, SnapshotRef),
    *(SnapshotLogEntry, MetadataLogEntry, StatisticsFile, PartitionStatisticsFile),
)
"""What a table's metadata has lists of."""
T = TypeVar("T")


def share_models() -> None:
    """Let deep copies of metadata hold the same schemas, specs, orders, snapshots and statistics, in this process."""
    for model in SHARED:
        type.__setattr__(model, "__deepcopy__", _itself)


def _itself(model: T, _memo: dict[int, object]) -> T:
    return model
