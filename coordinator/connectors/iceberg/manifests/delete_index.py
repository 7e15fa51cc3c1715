"""Which delete files apply to which data files (Iceberg specification, "Scan planning").

Position deletes apply from their sequence number down, equality deletes only to older files; both within one partition
of one spec, except that equality deletes of an unpartitioned spec apply to the whole table. A deletion vector holds all
deleted positions of its data file: position delete files are not looked at beside one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pyiceberg.partitioning import PartitionSpec

from coordinator.connectors.iceberg.manifests.live_files import LiveFile, Partition


class DeleteIndex:
    """Finds the delete files of a data file; built once a snapshot."""

    def __init__(self, deletes: Iterable[LiveFile], specs: Mapping[int, PartitionSpec]) -> None:
        self._by_path: dict[str, list[LiveFile]] = defaultdict(list)
        self._by_partition: dict[Partition, list[LiveFile]] = defaultdict(list)
        self._everywhere: list[LiveFile] = []
        for delete in deletes:
            if delete.is_position_delete and delete.only_data_file is not None:
                self._by_path[delete.only_data_file].append(delete)
            elif not delete.is_position_delete and specs[delete.file.spec_id].is_unpartitioned():
                self._everywhere.append(delete)
            else:
                self._by_partition[delete.partition].append(delete)

    def __bool__(self) -> bool:
        return bool(self._by_path or self._by_partition or self._everywhere)

    def of(self, data: LiveFile) -> tuple[LiveFile, ...]:
        """The delete files that apply to ``data``."""
        if not self:
            return ()
        candidates: Sequence[LiveFile] = (
            *self._by_path.get(data.key, ()),
            *self._by_partition.get(data.partition, ()),
            *self._everywhere,
        )
        found = tuple(delete for delete in candidates if _in_sequence(delete, data))
        if any(delete.vector is not None for delete in found):
            return tuple(d for d in found if d.vector is not None or not d.is_position_delete)
        return found


def _in_sequence(delete: LiveFile, data: LiveFile) -> bool:
    if delete.is_position_delete:
        return delete.sequence_number >= data.sequence_number
    return delete.sequence_number > data.sequence_number
