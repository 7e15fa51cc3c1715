"""``CALL catalog.system.expire_snapshots(schema, table_name, older_than, retain_last, snapshot_ids, …)``"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pyiceberg.table import Table

from coordinator.connectors.iceberg.instants import from_millis, to_millis
from coordinator.connectors.iceberg.maintenance.expiry import Expired, Limits, expiry_updates, same_references, select
from coordinator.connectors.iceberg.maintenance.file_deletion import concurrent_deletes, delete_all
from coordinator.connectors.iceberg.maintenance.unfinished_expiry import RecordedExpiry
from coordinator.connectors.iceberg.maintenance.unreachable import (
    FileKind,
    Reachability,
    Unneeded,
    reachability,
    used_by,
)
from coordinator.connectors.iceberg.manifests.live_files import LARGE_MANIFESTS
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark_if_any, zoned_timestamp
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    ArgumentError,
    OutputColumn,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureProgress,
)
from shared.spi.procedure_arguments import Declared, declared_arguments

_COUNTS: tuple[tuple[str, FileKind, str], ...] = (
    ("deleted_data_files_count", "data", "Data files deleted."),
    ("deleted_position_delete_files_count", "position deletes", "Position delete files deleted."),
    ("deleted_equality_delete_files_count", "equality deletes", "Equality delete files deleted."),
    ("deleted_manifest_files_count", "manifest", "Manifests deleted."),
    ("deleted_manifest_lists_count", "manifest list", "Manifest lists deleted."),
    ("deleted_statistics_files_count", "statistics", "Statistics files deleted."),
)
_PASSED_ON = ("retain_last", "max_concurrent_deletes", "stream_results", "snapshot_ids", "clean_expired_metadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    older_than: Annotated[
        datetime | None,
        Declared("timestamp", "Expire snapshots that are older, in the session's time zone; default: 5 days ago."),
    ] = None
    retain_last: Annotated[
        int | None, Declared("integer", "How many of the newest snapshots stay in any case; default: 1.")
    ] = None
    snapshot_ids: Annotated[
        tuple[int, ...] | None, Declared("array(bigint)", "Snapshots to expire in addition, whatever their age.")
    ] = None
    max_concurrent_deletes: Annotated[
        int | None, Declared("integer", "Files deleted at the same time; default: 8.")
    ] = None
    stream_results: Annotated[
        bool | None, Declared("boolean", "If Spark does the work: do not collect the list of files in one place.")
    ] = None
    clean_expired_metadata: Annotated[
        bool | None, Declared("boolean", "Also forget schemas and partition specs that nothing uses.")
    ] = None
    dry_run: Annotated[bool, Declared("boolean", "Only list what would be deleted.")] = False


DECLARATION = ProcedureDeclaration(
    name="expire_snapshots",
    kind=ProcedureKind.COORDINATOR,
    summary="Remove old snapshots and delete the files that only they need.",
    arguments=declared_arguments(Arguments),
    output=tuple(OutputColumn(name, "bigint", doc) for name, _, doc in _COUNTS),
    dry_run_output=(
        OutputColumn("kind", "varchar", "snapshot, reference, or what kind of file it is."),
        OutputColumn("name", "varchar", "Id of the snapshot, name of the branch or tag, or location of the file."),
        OutputColumn("bytes", "bigint", "Size of the file; NULL where the metadata does not say."),
        OutputColumn("reason", "varchar", "Why it would be deleted."),
    ),
    iceberg_order=("older_than", "retain_last", "max_concurrent_deletes", "stream_results", "snapshot_ids"),
    example="CALL iceberg.system.expire_snapshots(table => 'sales.orders', "
    "older_than => TIMESTAMP '2026-11-01 00:00:00')",
    notes="Branches and tags keep their snapshots unless they are past their own age. Table properties "
    "history.expire.max-snapshot-age-ms, min-snapshots-to-keep and max-ref-age-ms set other defaults. Ids of snapshots "
    "that are gone already are no error. First the table forgets, then the files are deleted: a call that is "
    "cut off is finished in the background, and by the next start. Where there are more than 256 MB of manifests, "
    "Iceberg's own procedure reads them in Spark, and remove_orphan_files takes what it leaves when it is cut off.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for a count below 1, a snapshot that a reference names, and a table without GC."""
    limits, at_once = _limits(call), concurrent_deletes(call.arguments.max_concurrent_deletes)
    table = call.catalog.open(call.schema, call.table)
    _check_allowed(table)
    first = _plan(call, table, limits)
    if not call.arguments.dry_run and first.found.to_read > LARGE_MANIFESTS and (rows := _by_spark(call)) is not None:
        return rows
    first.found.read_manifests(_progress(call, "reading manifests"))
    if call.arguments.dry_run:
        return _dry_run(table, first, limits)
    recorded = RecordedExpiry(call.catalog, call.schema, call.table)
    with recorded.finished_later():
        done = _commit(call, first, limits, recorded)
        counts = [0] * len(_COUNTS)
        if done.expired:
            # What others committed meanwhile may need files that only expired snapshots needed before.
            done.found.keep_more(call.catalog.open(call.schema, call.table).metadata)
            counts = _deleted(call, table, done.found.unneeded(), at_once)
    return [counts]


@dataclass(frozen=True, slots=True)
class _Plan:
    expired: Expired
    found: Reachability


def _plan(call: Call[Arguments], table: Table, limits: Limits) -> _Plan:
    call.context.check_cancelled()
    expired = select(table.metadata, limits)
    return _Plan(expired, reachability(table, expired))


def _commit(call: Call[Arguments], first: _Plan, limits: Limits, recorded: RecordedExpiry) -> _Plan:
    """Let the table forget; the plan that landed. Files are read again only where another writer changed what goes."""
    latest = first

    def stage(table: Table) -> Change[_Plan]:
        nonlocal latest
        expired = select(table.metadata, limits)
        if expired != latest.expired:
            latest = _plan(call, table, limits)
            latest.found.read_manifests(_progress(call, "reading manifests"))
        else:
            latest.found.keep_more(table.metadata, expired)
        call.context.check_cancelled()
        if expired.snapshots:
            recorded.begin(table, expired)
        used = used_by(table.metadata, expired, latest.found) if call.arguments.clean_expired_metadata else None
        return Change(latest, expiry_updates(table.metadata, expired, used), tuple(same_references(table)))

    return commit_change(call.catalog, call.schema, call.table, stage)


def _limits(call: Call[Arguments]) -> Limits:
    arguments = call.arguments
    retain, older_than = arguments.retain_last, arguments.older_than
    if retain is not None and retain < 1:
        raise ArgumentError("retain_last", f"Number of snapshots to retain must be at least 1, cannot be: {retain}")
    ids = tuple(arguments.snapshot_ids or ())
    if None in ids:
        raise ArgumentError("snapshot_ids", "snapshot_ids cannot contain NULL")
    zone = call.context.session.time_zone
    oldest = None if older_than is None else to_millis(older_than, zone)
    return Limits(to_millis(call.context.now), oldest, retain, ids)


def _check_allowed(table: Table) -> None:
    if table.properties.get("gc.enabled", "true").lower() == "false":
        message = "Cannot expire snapshots: GC is disabled (deleting files may corrupt other tables)"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def _progress(call: Call[Arguments], phase: str) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        call.context.check_cancelled()
        call.context.report(ProcedureProgress(done, total, phase))

    return report


def _by_spark(call: Call[Arguments]) -> Rows | None:
    """Iceberg's own row; None when there is no Spark."""
    given = {"older_than": zoned_timestamp(call, call.arguments.older_than), **call.given(*_PASSED_ON)}
    rows = call_spark_if_any(call, "expire_snapshots", given)
    return None if rows is None else [[int(rows[0][name] or 0) for name, _, _ in _COUNTS]]


def _deleted(call: Call[Arguments], table: Table, files: Sequence[Unneeded], at_once: int) -> list[int]:
    """Delete those that are the table's own; how many went, by kind in the order of the output columns."""
    may_delete = call.catalog.deletable(call.schema, table)
    files = [file for file in files if may_delete(file.location)]
    gone: Counter[FileKind] = Counter()
    report, done = _progress(call, "deleting files"), 0
    for batch in delete_all(table.io, (file.location for file in files), at_once):
        gone.update(file.kind for file, went in zip(files[done : done + len(batch)], batch, strict=True) if went)
        done += len(batch)
        report(done, len(files))
    return [gone[kind] for _, kind, _ in _COUNTS]


def _dry_run(table: Table, plan: _Plan, limits: Limits) -> Rows:
    why = f"older than {from_millis(plan.expired.older_than):%Y-%m-%d %H:%M:%S} UTC"
    rows: list[tuple[object, ...]] = [
        ("reference", name, None, "past its max-ref-age-ms") for name in plan.expired.references
    ]
    asked = set(limits.snapshot_ids)
    for snapshot_id in plan.expired.snapshots:
        snapshot = table.metadata.snapshot_by_id(snapshot_id)
        reason = "named by snapshot_ids" if snapshot_id in asked else f"{why}, or of an expired reference"
        if snapshot is not None and snapshot_id not in asked and snapshot.timestamp_ms < plan.expired.older_than:
            reason = why
        rows.append(("snapshot", str(snapshot_id), None, reason))
    return rows + [(f.kind, f.location, f.size, "only expiring snapshots need it") for f in plan.found.unneeded()]
