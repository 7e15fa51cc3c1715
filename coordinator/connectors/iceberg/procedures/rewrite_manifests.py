"""``CALL catalog.system.rewrite_manifests(schema, table_name, use_caching, spec_id, sort_by, dry_run, branch)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.manifest import ManifestContent
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.refs import MAIN_BRANCH

from coordinator.connectors.iceberg.manifests.live_files import LARGE_MANIFESTS
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark_if_any
from coordinator.connectors.iceberg.rewrite.asked.branches import head_of
from coordinator.connectors.iceberg.snapshots.manifest_rewrite import ManifestGroup, RewriteManifests, plan_manifests
from coordinator.connectors.iceberg.snapshots.own import QUERY_ID
from shared.spi.procedure import (
    ArgumentError,
    OutputColumn,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureProgress,
)
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    use_caching: Annotated[
        bool | None, Declared("boolean", "If Spark sorts the entries: keep them in its cache meanwhile.")
    ] = None
    spec_id: Annotated[
        int | None, Declared("integer", "Only manifests of this partition spec; default: the current one.")
    ] = None
    sort_by: Annotated[
        tuple[str, ...] | None,
        Declared(
            "array(varchar)",
            "Partition fields to cluster by, the most important first; default: all, in the order of the spec.",
        ),
    ] = None
    dry_run: Annotated[bool, Declared("boolean", "Only list the manifests.")] = False
    branch: Annotated[str | None, Declared("varchar", "The branch whose manifests are meant; default: main.")] = None


DECLARATION = ProcedureDeclaration(
    name="rewrite_manifests",
    kind=ProcedureKind.COORDINATOR,
    summary="Write the manifests of the current snapshot anew, clustered by partition.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("rewritten_manifests_count", "integer", "Manifests that were replaced."),
        OutputColumn("added_manifests_count", "integer", "Manifests that were written."),
    ),
    dry_run_output=(
        OutputColumn("content", "varchar", "data or deletes."),
        OutputColumn("manifest_path", "varchar", "A manifest that would be replaced."),
        OutputColumn("bytes", "bigint", "Its size."),
        OutputColumn("entries_count", "bigint", "Live files that it lists; NULL where the manifest list does not say."),
        OutputColumn("expected_manifests_count", "integer", "How many replace all of its kind."),
    ),
    presto_order=("spec_id",),
    example="CALL iceberg.system.rewrite_manifests('sales', 'orders')",
    notes="By position, a number behind the table is the partition spec, as in Presto. "
    "The new manifests are of commit.manifest.target-size-bytes. Manifests stay that are of the right number and "
    "each about partitions of their own, so a second call does nothing. Above 256 MB of manifests Iceberg's own "
    "procedure does it in Spark.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for an unknown partition spec, and TRANSACTION_CONFLICT."""
    spec = call.arguments.spec_id
    table = call.catalog.open(call.schema, call.table)
    if spec is not None and spec not in table.specs():
        raise ArgumentError("spec_id", f"Cannot find spec with id: {spec}")
    spec_id = table.spec().spec_id if spec is None else spec
    order = _order(call, table.specs()[spec_id])
    branch = call.arguments.branch or MAIN_BRANCH
    groups = plan_manifests(table, head_of(table, branch), spec_id, order)
    if call.arguments.dry_run:
        return [row for group in groups for row in _rows(group)]
    if not groups:
        return [[0, 0]]
    if branch == MAIN_BRANCH and sum(group.size for group in groups) > LARGE_MANIFESTS:
        given = call.given("use_caching", "spec_id", "sort_by")
        rows = call_spark_if_any(call, "rewrite_manifests", given)
        if rows is not None:
            return [[int(rows[0][column.name]) for column in DECLARATION.output]]
    replaced = sum(len(group.manifests) for group in groups)
    call.context.report(ProcedureProgress(0, replaced, "rewriting manifests"))
    transaction = table.transaction()
    properties = {"engine-name": "procession", QUERY_ID: call.context.session.query_id}
    producer = RewriteManifests(transaction, groups, properties, order, branch)
    producer.commit()
    call.context.check_cancelled()
    transaction.commit_transaction()
    call.context.report(ProcedureProgress(replaced, replaced, "rewriting manifests"))
    return [[replaced, producer.added]]


def _order(call: Call[Arguments], spec: PartitionSpec) -> list[int] | None:
    """Positions in the partition of the fields of ``sort_by``; None for the order of the spec."""
    names = call.arguments.sort_by
    if names is None:
        return None
    if not names:
        raise ArgumentError("sort_by", "sort_by must not be empty when provided")
    known = [field.name for field in spec.fields]
    if missing := [name for name in names if name not in known]:
        message = (
            f"Cannot set manifest sorting because specified field(s) [{', '.join(missing)}] were not found in current "
            f"partition spec [{', '.join(known)}]. Spec ID {spec.spec_id}"
        )
        raise ArgumentError("sort_by", message)
    return [known.index(name) for name in names]


def _rows(group: ManifestGroup) -> Rows:
    content = "data" if group.content == ManifestContent.DATA else "deletes"
    rows = []
    for manifest in group.manifests:
        counts = (manifest.added_files_count, manifest.existing_files_count)
        live = None if None in counts else sum(count or 0 for count in counts)
        rows.append((content, manifest.manifest_path, manifest.manifest_length, live, group.becomes))
    return rows
