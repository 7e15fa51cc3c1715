"""Raising the format version of a table: metadata alone."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataV3
from pyiceberg.table.update import UpgradeFormatVersionUpdate, _apply_table_update, _TableMetadataUpdateContext

from coordinator.connectors.iceberg.snapshots.metadata_changes import Change

NEWEST = 3


def upgraded(table: Table, version: int) -> Change[tuple[int, int]]:
    """To a version that is no lower than the table's; its result is the one before and the one that it has then."""
    previous = int(table.format_version)
    if previous == version:
        return Change((previous, version))
    kind = UpgradeFormatVersionUpdate if version < NEWEST else UpgradeToThree
    return Change((previous, version), (kind.model_validate({"format-version": version}),))


class UpgradeToThree(UpgradeFormatVersionUpdate):
    """To version 3, which PyIceberg knows and does not upgrade to: row ids count from 0 on."""


@_apply_table_update.register(UpgradeToThree)
def _(update: UpgradeToThree, base_metadata: TableMetadata, context: _TableMetadataUpdateContext) -> TableMetadata:
    context.add_update(update)
    return TableMetadataV3.model_construct(**{**dict(base_metadata), "format_version": 3, "next_row_id": 0})
