"""Which data files are copied without some of their rows in this process: few and small ones, that kernels read."""

from __future__ import annotations

from collections.abc import Collection

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from coordinator.connectors.iceberg.rewrite.delegated import reason_of_properties
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.rewrite.planning.parquet_options import check_codec
from coordinator.connectors.iceberg.rewrite.planning.tasks import equality_fields
from coordinator.connectors.iceberg.tables.variant_columns import holds_variant
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import LeftToEngineError

_MOST_BYTES, _MOST_FILES = 128 << 20, 32
"""Of the files that lose rows, with their deletes: what is copied here in the time that a warm Spark takes."""
_MOST_ROWS = 10_000_000
"""In these files: columns of few values take next to nothing stored, and their time all the same."""
_MOST_VARIANTS = 100_000
"""The same of tables with variants: those that are stored in parts are put together row by row, in Python."""
_MOST_DELETES, _MOST_KEYS = 100, 1_000_000
"""Files of deletes, and keys of equality deletes, which are held in memory for each file that is copied."""


def may_copy(table: Table) -> bool:
    """Whether the kernels write files of the table as it asks for them."""
    try:
        check_codec(table.properties)
    except ProcessionError:
        return False
    return table.format_version <= 3 and reason_of_properties(table) is None


class FilesToCopy:
    """The data files of a snapshot that lose rows, of which it is told while these are found."""

    def __init__(self, table: Table, base: Snapshot | None) -> None:
        self.table = table
        self.chosen: dict[str, Candidate] = {}
        lives = read_live(table, base, statistics=False)
        self._data = {file.key: file for file in lives.data}
        self._deletes = DeleteIndex(lives.deletes, table.specs())
        has_variants = any(holds_variant(field.field_type) for field in table.schema().fields)
        self._most_rows = _MOST_VARIANTS if has_variants else _MOST_ROWS

    def add(self, key: str) -> None:
        """Raises LeftToEngineError once they are too much for this process, or not of a kind that it copies."""
        data = self._data.get(key)
        if data is None:
            raise ProcessionError(ErrorCode.ICEBERG_MISSING_DATA, f"No data file of the table: {key}")
        candidate = Candidate(data, self._deletes.of(data))
        self.chosen[key] = candidate
        reason = _foreign(candidate, self.table) or _too_much(self.chosen.values(), self._most_rows)
        if reason is not None:
            raise LeftToEngineError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, reason)


def _foreign(candidate: Candidate, table: Table) -> str | None:
    """What the kernels do not read, or what nobody knows the rows of."""
    if candidate.data.file.record_count <= 0:
        return f"the manifest does not say how many rows a file has: {candidate.data.path}"
    for file in (candidate.data, *candidate.deletes):
        if file.file.key_metadata is not None or not (file.is_parquet or file.vector is not None):
            return f"a file is encrypted or no Parquet: {file.path}"
        if not file.is_data and not file.is_position_delete:
            try:
                equality_fields(table, file)
            except ProcessionError as error:
                return error.message
    return None


def _too_much(candidates: Collection[Candidate], most_rows: int) -> str | None:
    deletes = {delete.key: delete for candidate in candidates for delete in candidate.deletes}.values()
    size = sum(candidate.data.size for candidate in candidates) + sum(_stored(delete) for delete in deletes)
    rows = sum(candidate.data.file.record_count for candidate in candidates)
    keys = sum(delete.file.record_count for delete in deletes if not delete.is_position_delete)
    few = len(candidates) <= _MOST_FILES and len(deletes) <= _MOST_DELETES
    if few and size <= _MOST_BYTES and rows <= most_rows and keys <= _MOST_KEYS:
        return None
    lost = f"{len(candidates)} files and more of {size} bytes and {rows} rows lose rows"
    return f"{lost}, to which {len(deletes)} files of deletes with {keys} keys apply"


def _stored(delete: LiveFile) -> int:
    return delete.size if delete.vector is None else delete.vector[1]
