"""``CALL catalog.system.file_size_stats(schema, table_name, snapshot_id)``"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.partitions import partition_text
from coordinator.connectors.iceberg.procedures.arguments import SnapshotArguments
from coordinator.connectors.iceberg.procedures.show_snapshot_files import chosen_snapshot
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

DECLARATION = ProcedureDeclaration(
    name="file_size_stats",
    kind=ProcedureKind.COORDINATOR,
    summary="How large the data files are, by partition and over all.",
    arguments=declared_arguments(SnapshotArguments),
    output=(
        OutputColumn("partition", "varchar", "The partition; ALL for the last row."),
        OutputColumn("min", "bigint", "Bytes of the smallest data file."),
        OutputColumn("p10", "double", "A tenth of the files are smaller."),
        OutputColumn("p50", "double", "Half of the files are smaller."),
        OutputColumn("avg", "double", "Average."),
        OutputColumn("p95", "double", "A twentieth of the files are larger."),
        OutputColumn("max", "bigint", "Bytes of the largest data file."),
        OutputColumn("num_files", "bigint", "Data files."),
        OutputColumn("std_dev", "double", "Standard deviation."),
    ),
    example="CALL iceberg.system.file_size_stats('sales', 'orders')",
)


def answer(call: Call[SnapshotArguments]) -> Rows:
    """Raises ProcessionError for an unknown snapshot; no rows for a table without data files."""
    table = call.read()
    specs, schema = table.specs(), table.schema()
    sizes: dict[str, list[int]] = defaultdict(list)
    for file in read_live(table, chosen_snapshot(call, table)).data:
        sizes[partition_text(file.file, specs[file.file.spec_id], schema)].append(file.size)
    if not sizes:
        return []
    everything = [size for part in sizes.values() for size in part]
    return [*(_row(name, sizes[name]) for name in sorted(sizes)), _row("ALL", everything)]


def _row(name: str, sizes: Sequence[int]) -> tuple[object, ...]:
    values = np.array(sizes, np.int64)
    p10, p50, p95 = (float(value) for value in np.percentile(values, (10, 50, 95)))
    return (
        name,
        int(values.min()),
        p10,
        p50,
        float(values.mean()),
        p95,
        int(values.max()),
        len(sizes),
        float(values.std()),
    )
