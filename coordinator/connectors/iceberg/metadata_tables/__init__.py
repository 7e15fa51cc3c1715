"""``"t$snapshots"`` and the other metadata tables of an Iceberg table, answered from its metadata without Spark."""
