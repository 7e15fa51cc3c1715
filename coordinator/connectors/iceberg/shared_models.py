"""Parts of a table's metadata that never change are shared by its copies.

PyIceberg copies all metadata deeply whenever it applies updates, and it applies those of a transaction each time that
somebody asks for its metadata: a small append spent half of its time in that, the more the more snapshots a table has.
The models are frozen, so a copy of the metadata may hold the same ones; its lists and dictionaries are its own. And a
transaction's metadata is made once for the updates that it has so far.
"""

from __future__ import annotations

from typing import TypeVar

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRef
from pyiceberg.table.snapshots import MetadataLogEntry, Snapshot, SnapshotLogEntry
from pyiceberg.table.sorting import SortOrder
from pyiceberg.table.statistics import PartitionStatisticsFile, StatisticsFile
from pyiceberg.table.update import TableUpdate, update_table_metadata

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
    Transaction.table_metadata = property(_metadata_so_far)  # type: ignore[assignment]


def _itself(model: T, _memo: dict[int, object]) -> T:
    return model


def _metadata_so_far(transaction: Transaction) -> TableMetadata:
    """A copy of the table's metadata with the transaction's updates; the same one until there are more."""
    made_of = transaction._table.metadata, transaction._updates
    kept: tuple[TableMetadata, tuple[TableUpdate, ...], TableMetadata] | None = vars(transaction).get("_kept_metadata")
    if kept is None or kept[0] is not made_of[0] or kept[1] is not made_of[1]:
        kept = *made_of, update_table_metadata(*made_of)
        vars(transaction)["_kept_metadata"] = kept
    return kept[2]
