"""``CALL catalog.system.rewrite_manifests(schema, table_name, …)``, answered by Iceberg's own procedure in Spark."""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark
from shared.spi.procedure import Argument, ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind

DECLARATION = ProcedureDeclaration(
    name="rewrite_manifests",
    kind=ProcedureKind.COORDINATOR,
    summary="Write the manifests of the current snapshot anew, clustered by partition.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("use_caching", "boolean", "Keep the entries in Spark's cache while they are sorted."),
        Argument("spec_id", "integer", "Only manifests of this partition spec; default: the current one."),
    ),
    output=(
        OutputColumn("rewritten_manifests_count", "integer", "Manifests that were replaced."),
        OutputColumn("added_manifests_count", "integer", "Manifests that were written."),
    ),
    example="CALL iceberg.system.rewrite_manifests('sales', 'orders')",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError for an unknown partition spec, and what Iceberg's procedure raises."""
    spec = call.arguments["spec_id"]
    table = call.read()
    if spec is not None and spec not in table.specs():
        raise ArgumentError("spec_id", f"Cannot find spec with id: {spec}")
    given = {"use_caching": call.arguments["use_caching"], "spec_id": spec}
    row = call_spark(call, "rewrite_manifests", given)[0]
    return [[int(row["rewritten_manifests_count"]), int(row["added_manifests_count"])]]
