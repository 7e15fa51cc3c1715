"""Writes: Spark computes, writes and commits; here the target is prepared and what was committed is accounted for.

Every commit of a statement carries its query id as a snapshot property, so its own snapshot, and from that the exact
number of rows, is found whatever else was committed meanwhile.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError
from coordinator.connectors.iceberg.locations import LOCATION_PROPERTIES
from coordinator.connectors.iceberg.snapshots.metadata_deletes import delete_files
from coordinator.connectors.iceberg.snapshots.own import QUERY_ID, own_snapshots
from coordinator.connectors.iceberg.spark_sql import quoted_path
from coordinator.connectors.iceberg.table_words import check_for_spark
from coordinator.connectors.iceberg.tables.creation import create, new_table
from coordinator.connectors.iceberg.tables.hidden_tables import appear, remove_unfinished, unfinished_name, upgrade
from coordinator.connectors.iceberg.tables.open_writes import open_write
from coordinator.connectors.iceberg.tables.own_changes import change_own
from coordinator.connectors.iceberg.tables.own_rows import Place, write_own
from coordinator.connectors.iceberg.tables.replacing import replaced_table, replacement, replacing_settings
from coordinator.connectors.iceberg.tables.targets import path_of, session_target, target_of
from coordinator.connectors.iceberg.tables.unfinished import is_own_folder
from coordinator.connectors.iceberg.tables.wide import write_options
from coordinator.connectors.iceberg.tables.write_audit import Audited
from coordinator.connectors.iceberg.tables.written_types import check_types
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import TableCreation
from shared.spi.table_writes import TableWrite, WriteContext

logger = logging.getLogger(__name__)
_MERGED = "spark.merge-into.num-target-rows-"
_CONFLICT = re.compile(r"CommitFailedException|ValidationException|Found conflicting files|conflict", re.IGNORECASE)
_LOST = re.compile(r"CommitFailedException|ValidationException|Found conflicting files")
"""What Iceberg says when another commit won."""
_UNKNOWN = re.compile(r"CommitStateUnknownException|Cannot determine whether the commit was successful")
_PAUSE_SECONDS = 0.2
_ASK_AGAIN_SECONDS = (0.0, 0.3, 1.0)
"""Whether a write is over for good: a server that was killed has not quite ended when its connection breaks."""
_LOOK_AGAIN_SECONDS = (0.0, 2.0)
"""A catalog may still carry out what an engine asked it for in its last moment."""
_VECTORS = "spark.sql.iceberg.vectorization.enabled"
_AFTER_A_MOVE = {"DELETE": "send it again", "UPDATE": "look at the rows before it is sent again"}
_NULL = re.compile(r"NOT_NULL_ASSERT_VIOLATION.*?field:\s*([^\s.]+)", re.DOTALL)


class LostRaceError(ProcessionError):
    """Another commit won, and this one changed nothing."""


def write(catalog: TableCatalog, write: TableWrite, context: WriteContext) -> int:
    """Rows of the write. Raises ProcessionError; then nothing was committed, except where the error says otherwise."""
    if write.creation is not None and not write.creation.replaces:
        return _create_and_fill(catalog, write, write.creation, context)
    if write.kind == "INSERT" and context.rows is not None:
        place = Place(*_target(catalog, write, context))
        if write_own(catalog, place, write, context.rows, context):
            return _rows(catalog.open(write.schema, place.table.name()[-1]), write, context)
    if write.kind == "DELETE" and (write.all_rows or write.row_filter is not None):
        deleted = _deleted_by_metadata(catalog, write, context)
        if deleted is not None:
            return deleted
    if write.kind != "INSERT" and context.rows is not None:
        changed = change_own(catalog, Place(*_target(catalog, write, context)), write, context.rows, context)
        if changed is not None:
            return changed
    # What was read or chosen at a snapshot is not so at another one.
    attempts = 1 if write.by_position or write.reads_target else 1 + catalog.settings.write_conflict_retries
    for left in reversed(range(attempts)):
        try:
            return write_rows(catalog, write, context)
        except LostRaceError as error:
            # Nothing was committed, and Spark reads the target anew: a compaction that replaced its files, say.
            if not left:
                raise
            logger.warning("Query %s writes again: %s", context.query_id, error.message)
            time.sleep(random.uniform(0.5, 1.5) * _PAUSE_SECONDS)  # noqa: S311 - so that writers fall out of step
    raise AssertionError("the last attempt returns or raises")


def _deleted_by_metadata(catalog: TableCatalog, write: TableWrite, context: WriteContext) -> int | None:
    table, branch, audited = _target(catalog, write, context)
    if branch is not None or audited.wap_id is not None:
        return None
    return delete_files(table, write.row_filter, {QUERY_ID: context.query_id, "engine-name": "procession"})


def _target(catalog: TableCatalog, write: TableWrite, context: WriteContext) -> tuple[Table, str | None, Audited]:
    if write.refresh is not None:  # rows of a view are nothing that a session audits
        return *target_of(catalog, write.schema, write.table), Audited()
    return session_target(catalog, write.schema, write.table, context.procedure.session)


def write_rows(catalog: TableCatalog, write: TableWrite, context: WriteContext) -> int:
    """One attempt, in one commit. Raises ProcessionError; LostRaceError where another commit won."""
    table, text, settings, counted = _asked_of_spark(catalog, write, context)
    name = table.name()[-1]
    with _recorded(catalog, table, write, context) as write_id:
        if write.creation is not None:
            settings = replacing_settings(write.creation, table, named=write_id is not None)
        try:
            _run(text, write, context, write_id, settings)
        except ProcessionError as error:
            gone = error.code is ErrorCode.REMOTE_HOST_GONE and _landed(catalog, write, context, write_id, error)
            if not gone and not (isinstance(error, LostRaceError) and _is_there(catalog, write, context, error)):
                raise
    after = catalog.open(write.schema, name)
    _check_positions(after, write, context)
    return _rows(after, write, context) if counted is None else counted


def _asked_of_spark(
    catalog: TableCatalog, write: TableWrite, context: WriteContext
) -> tuple[Table, str, Mapping[str, str], int | None]:
    """The target, Spark's statement, the settings of its session, and its rows where they are counted ahead."""
    if write.creation is not None:
        table = replaced_table(catalog, write, context.procedure.session)
        if write.reads_target:
            _check_unchanged(table.current_snapshot(), write)
        return table, replacement(write, write.creation, table), {}, None
    table, branch, audited = _target(catalog, write, context)
    head = table.current_snapshot() if branch is None else table.snapshot_by_name(branch)
    _check_writable(check_for_spark(table), write, head)
    counted = _count_ahead(table, write, head, context)
    settings = {**audited.settings, **_reading(table, write)}
    return table, _text(write, table, path_of(table, branch)), settings, counted


def _reading(table: Table, write: TableWrite) -> Mapping[str, str]:
    """How Spark reads the rows that it changes: with ids, not in vectors.

    The reader of vectors of ids in Iceberg 1.11 (``RowIdVectorReader``) keeps each batch's memory beside the heap, 8 MB
    a million rows, for as long as Spark lives.
    """
    return {_VECTORS: "false"} if write.kind != "INSERT" and table.format_version >= 3 else {}


def _create_and_fill(catalog: TableCatalog, write: TableWrite, creation: TableCreation, context: WriteContext) -> int:
    """CTAS: the table gets its name when it is complete, so that nobody sees it half full."""
    new = new_table(creation)
    name = unfinished_name(context.procedure)
    create(catalog, new, write.schema, name, write.table)
    try:
        table = catalog.open(write.schema, name)
        if write.after:
            check_types(table, write)
        upgrade(catalog, write.schema, name, new, context.run)
        table = catalog.open(write.schema, name)  # of the version that it has now
        if not write.no_rows:
            # Of a folder that is the table's alone all files may go, whoever wrote them (late_files).
            own = is_own_folder(table.location()) and not LOCATION_PROPERTIES & table.properties.keys()
            done = context.rows is not None and write_own(catalog, Place(table), write, context.rows, context)
            if not done:
                with nullcontext() if own else _recorded(catalog, table, write, context) as write_id:
                    _run(_text(write, table, (name,)), write, context, write_id)
        context.procedure.check_cancelled()
        appear(catalog, write.schema, name, write.table)
    except BaseException:
        remove_unfinished(catalog, write.schema, name)
        raise
    return _rows(catalog.open(write.schema, write.table), write, context)


def _check_writable(table: Table, write: TableWrite, head: Snapshot | None) -> None:
    check_types(table, write)
    if not write.by_position:
        return
    _check_unchanged(head, write)
    mode = table.properties.get("write.merge.mode", "copy-on-write")
    if write.kind == "UPDATE" and (table.format_version < 2 or mode != "merge-on-read"):
        message = (
            "Iceberg table updates with subqueries require at least format version 2 and write.merge.mode must be "
            "merge-on-read"
        )
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def _check_unchanged(head: Snapshot | None, write: TableWrite) -> None:
    if (None if head is None else head.snapshot_id) != write.snapshot_id:
        message = f"Table {write.schema}.{write.table} was changed while the statement was planned; send it again"
        raise ProcessionError(ErrorCode.TRANSACTION_CONFLICT, message, retriable=True)


def _count_ahead(table: Table, write: TableWrite, head: Snapshot | None, context: WriteContext) -> int | None:
    """Rows that a DELETE will remove, where its summary will not tell: files rewritten that have deletes already."""
    if not (write.by_position and write.kind == "DELETE"):
        return None
    summary = {} if head is None else _summary(head)
    copied = table.properties.get("write.delete.mode", "copy-on-write") != "merge-on-read"
    if not copied or summary.get("total-delete-files") == "0":
        return None
    chosen = write.after.removeprefix("WHERE (_file, _pos) IN ")
    (row,) = context.run(f"SELECT count(*) AS n FROM {chosen}")  # noqa: S608 - the planned query itself
    return int(row["n"])


def _check_positions(table: Table, write: TableWrite, context: WriteContext) -> None:
    """Positions hold while files stay: tell when another commit rewrote some in the moment between."""
    committed = own_snapshots(table, context.query_id)
    if not committed or not write.by_position:
        return
    own = committed[0]
    parent = own.parent_snapshot_id
    while parent is not None and parent != write.snapshot_id:
        between = table.snapshot_by_id(parent)
        if between is None or between.summary is None or between.summary.operation is not Operation.APPEND:
            message = (
                f"{write.kind} of {write.schema}.{write.table} was committed (snapshot {own.snapshot_id}), but another "
                f"commit moved rows at the same moment: some may be left; {_AFTER_A_MOVE[write.kind]}"
            )
            # What was changed already would be changed twice.
            raise ProcessionError(ErrorCode.TRANSACTION_CONFLICT, message, retriable=write.kind == "DELETE")
        parent = between.parent_snapshot_id


@contextmanager
def _recorded(catalog: TableCatalog, table: Table, write: TableWrite, context: WriteContext) -> Iterator[str | None]:
    """Around a write: the id that its files are known by, when it fails and they are to be removed."""
    context.procedure.check_cancelled()
    write_id = context.new_write_id()
    if write_id is None:
        yield None
        return
    with catalog.late_writes.recorded(open_write(write_id, write.schema, table), lambda: context.end_write(write_id)):
        yield write_id


def _text(write: TableWrite, table: Table, name: Sequence[str]) -> str:
    target = quoted_path((write.catalog, *write.schema.split("."), *name))
    if write.kind == "INSERT":
        target += write_options(table)
    return f"{write.before} {target} {write.after}"


def _run(
    text: str,
    write: TableWrite,
    context: WriteContext,
    write_id: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> None:
    context.procedure.check_cancelled()
    try:
        context.run(text, write_id, settings or {})
    except ProcessionError as error:
        ours = _presto_error(error, write)
        if ours is error:
            raise  # with the cause that it has
        raise ours from error


def _landed(
    catalog: TableCatalog, write: TableWrite, context: WriteContext, write_id: str | None, lost: ProcessionError
) -> bool:
    """Whether a write was committed before its engine was lost.

    Raises ProcessionError, not retriable, while nobody can tell: run again, it might write its rows twice.
    """
    ended = write_id is not None and _ended(context, write_id)
    for pause in _LOOK_AGAIN_SECONDS:
        time.sleep(pause)
        with suppress(ProcessionError):
            table, _ = target_of(catalog, write.schema, write.table)
            if own_snapshots(table, context.query_id):
                return True
            if ended and pause:
                return False
    message = f"{lost.message}; the write to {write.schema}.{write.table} may still land: look before it is sent again"
    raise ProcessionError(lost.code, message, retriable=False) from lost


def _is_there(catalog: TableCatalog, write: TableWrite, context: WriteContext, lost: ProcessionError) -> bool:
    """Whether the commit that lost is the statement's own, whose answer was lost before it was asked for again.

    Raises ProcessionError, not retriable, while nobody can tell.
    """
    try:
        table, _ = target_of(catalog, write.schema, write.table)
    except ProcessionError as error:
        message = f"{lost.message}; it cannot be told whether it landed before ({error.message}): look first"
        raise ProcessionError(lost.code, message, retriable=False) from lost
    return bool(own_snapshots(table, context.query_id))


def _ended(context: WriteContext, write_id: str) -> bool:
    for pause in _ASK_AGAIN_SECONDS:
        time.sleep(pause)
        if context.end_write(write_id):
            return True
    return False


def _presto_error(error: ProcessionError, write: TableWrite) -> ProcessionError:
    """Spark's and Iceberg's failures of a write under Presto's codes and texts."""
    if error.code is not ErrorCode.REMOTE_TASK_ERROR:
        return error
    cause = f"{type(error.__cause__).__name__}: {error.__cause__}: {error.message}"
    name = f"{write.schema}.{write.table}"
    null = _NULL.search(cause)
    if null is not None:
        message = f"NULL value not allowed for NOT NULL column: {null[1]}"
        return ProcessionError(ErrorCode.CONSTRAINT_VIOLATION, message)
    if "MERGE_CARDINALITY_VIOLATION" in cause:
        message = "One MERGE target table row matched more than one source row"
        return ProcessionError(ErrorCode.MERGE_TARGET_ROW_MULTIPLE_MATCHES, message)
    if _UNKNOWN.search(cause):
        return CommitOutcomeUnknownError(
            ErrorCode.ICEBERG_COMMIT_ERROR, f"It is unknown whether the write to {name} landed"
        )
    if _CONFLICT.search(cause):
        reason = error.message.removeprefix("Spark failed: ")
        message = f"The write to {name} conflicts with a concurrent one; send it again: {reason}"
        kind = LostRaceError if _LOST.search(cause) else ProcessionError
        return kind(ErrorCode.TRANSACTION_CONFLICT, message, retriable=True)
    return error


def _rows(table: Table, write: TableWrite, context: WriteContext) -> int:
    """From the summary of the statement's own snapshot; no snapshot means that nothing changed."""
    return sum(_count(_summary(s), write.kind) for s in own_snapshots(table, context.query_id))


def _count(summary: Mapping[str, str], kind: str) -> int:
    def number(name: str) -> int:
        return int(summary.get(name, "0"))

    inserted, updated, deleted, copied = (
        number(_MERGED + what) for what in ("inserted", "updated", "deleted", "copied")
    )
    if any(name.startswith(_MERGED) for name in summary):
        # Where Spark sorts by ranges it goes through the rows once more, to find these, and counts them each time.
        added, removed = number("added-records"), number("deleted-records")
        counted = inserted + updated + copied if added else deleted
        times = counted // (added or removed or max(1, counted))
        return (inserted + updated + deleted) // max(1, times)
    if kind == "DELETE":
        return number("deleted-records") - number("added-records") + _newly_deleted(summary)
    return number("added-records")


def _newly_deleted(summary: Mapping[str, str]) -> int:
    return int(summary.get("added-position-deletes", "0")) - int(summary.get("removed-position-deletes", "0"))


def _summary(snapshot: Snapshot) -> Mapping[str, str]:
    return {} if snapshot.summary is None else snapshot.summary.additional_properties
