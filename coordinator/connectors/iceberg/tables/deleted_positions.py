"""Rows that go by the places where they are: position deletes of version 2, deletion vectors of version 3.

A vector takes over what was deleted in its file before.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from coordinator.connectors.iceberg.rewrite.equality_conversion import directory_of, position_delete_entry
from coordinator.connectors.iceberg.rewrite.planning.parquet_options import delete_output
from coordinator.connectors.iceberg.rewrite.planning.tasks import position_delete
from coordinator.connectors.iceberg.snapshots.row_delta import Delta
from coordinator.connectors.iceberg.tables.changed_rows import Positions
from coordinator.kernels.deletes import read_positions
from coordinator.kernels.errors import KernelError
from coordinator.kernels.positions import write_positions
from shared.errors import ErrorCode, ProcessionError

_NONE: Positions = np.zeros(0, np.int64)
_SIDE_BY_SIDE = 8


def with_deletes(
    delta: Delta, table: Table, positions: Mapping[str, Positions], write_id: str, storage: Mapping[str, str]
) -> Delta:
    """``delta`` without the rows at ``positions`` of its base, by data file. Raises ProcessionError."""
    lives = read_live(table, delta.base, statistics=False)
    index = DeleteIndex(lives.deletes, table.specs())
    changed = {file.key: file for file in lives.data if file.key in positions}
    if missing := positions.keys() - changed.keys():
        raise ProcessionError(ErrorCode.ICEBERG_MISSING_DATA, f"No data file of the table: {min(missing)}")
    vectors = table.format_version > 2
    known = (
        {key: [d for d in index.of(file) if d.is_position_delete] for key, file in changed.items()} if vectors else {}
    )
    directory = directory_of(table)

    def deleted(numbered: tuple[int, LiveFile]) -> DataFile:
        number, file = numbered
        before = read_positions([position_delete(d) for d in known.get(file.key, ())], {file.key}, storage)
        all_ = np.unique(np.concatenate([positions[file.key], *(b.get(file.key, _NONE) for b in before)]))
        output = delete_output(table.properties, directory, f"{number:05d}-{write_id}-deletes")
        written = write_positions(output, storage, file.path, all_, vectors=vectors)
        return position_delete_entry(written, file, vectors=vectors)

    with ThreadPoolExecutor(_SIDE_BY_SIDE, "deletes") as pool:
        try:
            deletes = list(pool.map(deleted, enumerate(changed.values())))
        except KernelError as error:
            raise ProcessionError(ErrorCode[error.name], error.message) from error
    replaced = [d for found in known.values() for d in found if d.vector is not None]
    return replace(delta, deletes=deletes, changed=tuple(changed.values()), replaced=replaced)
