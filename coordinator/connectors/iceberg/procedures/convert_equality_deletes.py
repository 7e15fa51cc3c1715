"""``CALL catalog.system.convert_equality_deletes(schema, table_name, dry_run, branch)``"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.rewrite.asked.branches import head_of
from coordinator.connectors.iceberg.rewrite.committing.commit import snapshot_after
from coordinator.connectors.iceberg.rewrite.committing.journal import Journal, JournalEntry
from coordinator.connectors.iceberg.rewrite.committing.recovery import sweep
from coordinator.connectors.iceberg.rewrite.committing.unknown_outcomes import settle_later
from coordinator.connectors.iceberg.rewrite.equality_conversion import (
    Conversion,
    NewDeletes,
    conversion_tasks,
    directory_of,
    new_deletes,
    plan_conversion,
    rows_of_dry_run,
)
from coordinator.connectors.iceberg.rewrite.writing.kernel_calls import run_kernel
from coordinator.connectors.iceberg.snapshots.convert_deletes import ConvertDeletes
from coordinator.connectors.iceberg.snapshots.own import QUERY_ID
from coordinator.connectors.iceberg.tables.work_records import TakenOverError
from coordinator.kernels.tasks import POSITIONS, PositionFiles
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

_CERTAIN = (CommitFailedException, ValidationException, NoSuchTableError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    dry_run: Annotated[bool, Declared("boolean", "Only list the files.")] = False
    branch: Annotated[str | None, Declared("varchar", "The branch whose delete files are meant; default: main.")] = None


DECLARATION = ProcedureDeclaration(
    name="convert_equality_deletes",
    kind=ProcedureKind.COORDINATOR,
    distributed=True,
    summary="Turn equality delete files into position deletes, or deletion vectors in format version 3.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("converted_equality_delete_files_count", "integer", "Equality delete files that are gone."),
        OutputColumn(
            "added_position_delete_files_count",
            "integer",
            "Position delete files or deletion vectors that replace them.",
        ),
        OutputColumn("deleted_rows_count", "bigint", "Rows that they delete, as the equality deletes did."),
    ),
    dry_run_output=(
        OutputColumn("delete_file_path", "varchar", "An equality delete file."),
        OutputColumn("columns", "array(varchar)", "The columns that it compares."),
        OutputColumn("keys_count", "bigint", "How many keys it holds."),
        OutputColumn("data_files_count", "integer", "Data files that it applies to."),
        OutputColumn("data_bytes_count", "bigint", "Their size; only the compared columns are read."),
        OutputColumn("reason", "varchar", "What becomes of it."),
    ),
    example="CALL iceberg.system.convert_equality_deletes('sales', 'orders')",
    notes="No data file is rewritten: readers then skip rows by position, without a join of keys. The executors read "
    "the compared columns of the data files that the deletes apply to, and write one delete file for each that lost "
    "rows. A data file that appears meanwhile and that they apply to as well is a conflict.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for files that are no plain Parquet, and TRANSACTION_CONFLICT; leaves no file then."""
    table = call.catalog.open(call.schema, call.table)
    head = head_of(table, call.arguments.branch)
    conversion = plan_conversion(table, head)
    if call.arguments.dry_run:
        return rows_of_dry_run(conversion)
    if not conversion.equality:
        return [[0, 0, 0]]
    call_id, journal = uuid.uuid4().hex, Journal(call.catalog.work)
    entry = _entry(call, table, head, call_id)
    journal.begin(entry)
    try:
        made = new_deletes(conversion, _run(call, conversion, call_id))
        call.context.check_cancelled()
        journal.committing(call_id, [file.file_path for file in made.files])
        _commit(call, table, conversion, made, call_id)
    except CommitOutcomeUnknownError:
        settle_later(call.catalog, journal, call_id)
        raise
    except TakenOverError:
        if journal.settled_by_another(call_id) == "ABORTED":
            sweep(table.io, entry, None, None)
        raise
    except Exception:
        sweep(table.io, entry, None, None)
        journal.close(call_id, "ABORTED")
        raise
    journal.close(call_id, "COMMITTED")
    return [[len(conversion.equality), len(made.files), made.rows]]


def _run(call: Call[Arguments], conversion: Conversion, call_id: str) -> Iterator[PositionFiles]:
    workers = call.context.workers
    tasks = conversion_tasks(conversion, call_id, call.catalog.settings.storage, workers.parallelism)
    job = f"positions of deleted rows of {call.table}"
    return run_kernel(call.context, POSITIONS, tasks, "comparing rows", job)


def _entry(call: Call[Arguments], table: Table, snapshot: Snapshot | None, call_id: str) -> JournalEntry:
    return JournalEntry(
        call_id=call_id,
        catalog=call.catalog.settings.catalog,
        schema=call.schema,
        table=call.table,
        query_id=call.context.session.query_id,
        base_snapshot_id=0 if snapshot is None else snapshot.snapshot_id,
        directories=(directory_of(table),),
        metadata_directory=table.location_provider().new_metadata_location("x").rpartition("/")[0],
        begun_at=datetime.now(UTC),
    )


def _commit(call: Call[Arguments], table: Table, conversion: Conversion, made: NewDeletes, call_id: str) -> None:
    """Raises ValidationException where another writer came in between, CommitOutcomeUnknownError when nobody knows."""
    transaction = table.transaction()
    ConvertDeletes(
        transaction,
        call_id=call_id,
        converted=conversion.equality,
        replaced=made.replaced,
        added=made.files,
        examined={c.data.key: c.data.key in made.data_files for c in conversion.candidates},
        properties={"engine-name": "procession", QUERY_ID: call.context.session.query_id},
        branch=call.arguments.branch or MAIN_BRANCH,
    ).commit()
    try:
        transaction.commit_transaction()
    except _CERTAIN:
        raise
    except Exception as error:
        snapshot_after(call.catalog, call.schema, call.table, call_id, error)
