"""The summary of a new snapshot: what it adds and removes, and the totals after it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, SnapshotSummaryCollector, Summary, update_snapshot_summaries

from coordinator.connectors.iceberg.numbers import number_or
from coordinator.connectors.iceberg.partitions import partition_path


def with_texts(table: Table) -> Table:
    """The same table, whose summaries hold texts alone: PyIceberg keeps whatever a metadata file has there."""
    for snapshot in table.metadata.snapshots:
        texts = {} if snapshot.summary is None else snapshot.summary.additional_properties
        others: dict[str, object] = {key: value for key, value in texts.items() if type(value) is not str}
        texts |= {key: json.dumps(value) for key, value in others.items()}
    return table


class _Collector(SnapshotSummaryCollector):
    """PyIceberg's, which has no names for partitions of days behind the year 9999."""

    def update_partition_metrics(
        self, partition_spec: PartitionSpec, file: DataFile, is_add_file: bool, schema: Schema
    ) -> None:
        metrics = self.partition_metrics[partition_path(file.partition, partition_spec, schema)]
        if is_add_file:
            metrics.add_file(file)
        else:
            metrics.remove_file(file)


def summarize(
    metadata: TableMetadata,
    parent_id: int | None,
    operation: Operation,
    *,
    added: Iterable[DataFile],
    removed: Iterable[DataFile],
    properties: Mapping[str, str] | None = None,
) -> Summary:
    """Counts of the change, per partition as far as the table's limit goes, and totals based on the parent's."""
    limit = number_or(metadata.properties.get(TableProperties.WRITE_PARTITION_SUMMARY_LIMIT), 0)
    collector = _Collector(partition_summary_limit=limit)
    specs, schema = metadata.specs(), metadata.schema()
    for file in added:
        collector.add_file(file, schema, specs[file.spec_id])
    for file in removed:
        collector.remove_file(file, schema, specs[file.spec_id])
    parent = None if parent_id is None else metadata.snapshot_by_id(parent_id)
    # PyIceberg knows no totals for REPLACE; they are counted as for OVERWRITE.
    counted_as = Operation.OVERWRITE if operation == Operation.REPLACE else operation
    counted = Summary(operation=counted_as, **collector.build(), **(properties or {}))
    totals = update_snapshot_summaries(counted, None if parent is None else parent.summary)
    return Summary(operation=operation, **totals.additional_properties)
