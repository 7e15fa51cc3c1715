"""Committing a rewrite: retried while that is safe, and never undone when the outcome is unknown."""

from __future__ import annotations

import time
from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import dataclass

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
from pyiceberg.manifest import DataFile
from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError, mapped
from coordinator.connectors.iceberg.rewrite.committing.landed import landed_snapshot
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from coordinator.connectors.iceberg.snapshots.own import QUERY_ID
from coordinator.connectors.iceberg.snapshots.replace import Carry, ReplaceFiles
from shared.errors import ErrorCode, ProcessionError

_ROUNDS = 3
"""Each round has the table's own number of retries (commit.retry.num-retries)."""
_LOOK_AGAIN_SECONDS = (0.1, 0.5, 2.0)


@dataclass(frozen=True, slots=True)
class Committed:
    """What landed. ``kept`` are the keys of old files that were not replaced, ``added`` the new ones that are in."""

    snapshot_id: int
    removed_delete_files: int
    attempts: int
    kept: Set[str]
    added: Sequence[DataFile]


def commit_rewrite(
    catalog: TableCatalog,
    rewrite: Rewrite,
    added: Sequence[DataFile],
    carry: Carry,
    query_id: str,
) -> Committed:
    """Replace the rewritten files by ``added`` in one snapshot; ``carry`` as ``ReplaceFiles`` has it.

    Raises ProcessionError TRANSACTION_CONFLICT when a concurrent change makes the rewrite wrong, NOT_FOUND when the
    table is gone, CommitOutcomeUnknownError when nobody can tell; only then the files must stay.
    """
    name = f"{rewrite.target.schema}.{rewrite.target.table}"
    attempts = 0
    with mapped(name):
        for round_number in range(_ROUNDS):
            table = catalog.open(rewrite.target.schema, rewrite.target.table)
            if table.metadata.table_uuid != rewrite.table.metadata.table_uuid:
                raise ProcessionError(ErrorCode.NOT_FOUND, f"Table {name} was dropped and made anew meanwhile")
            transaction = table.transaction()
            producer = _stage(transaction, rewrite, added, carry, query_id)
            try:
                transaction.commit_transaction()
            except CommitFailedException:
                attempts += 1
                if round_number == _ROUNDS - 1:
                    raise
                continue
            except (ValidationException, NoSuchTableError, ProcessionError):
                raise
            except Exception as error:
                return _resolved(catalog, rewrite, producer, attempts, error)
            removed, tried = len(producer.removed_deletes), attempts + producer.attempts
            return Committed(producer.snapshot_id, removed, tried, producer.kept, producer.added)
    raise AssertionError("the last round returns or raises")


def _stage(
    transaction: Transaction,
    rewrite: Rewrite,
    added: Sequence[DataFile],
    carry: Carry,
    query_id: str,
) -> ReplaceFiles:
    """Write the manifests of the new snapshot; what goes wrong here has certainly not been committed."""
    producer = ReplaceFiles(
        transaction,
        call_id=rewrite.call_id,
        base_sequence=rewrite.base_sequence,
        pinned=rewrite.options.use_starting_sequence_number,
        replaced=rewrite.replaced,
        added=added,
        applied=rewrite.applied,
        carry=carry,
        dangling=rewrite.options.remove_dangling_deletes,
        properties={"engine-name": "procession", QUERY_ID: query_id},
        branch=rewrite.branch,
    )
    producer.commit()
    return producer


def _resolved(
    catalog: TableCatalog, rewrite: Rewrite, producer: ReplaceFiles, attempts: int, error: Exception
) -> Committed:
    snapshot = snapshot_after(catalog, rewrite.target.schema, rewrite.target.table, rewrite.call_id, error)
    summary = {} if snapshot.summary is None else snapshot.summary.additional_properties
    removed = int(summary.get("removed-delete-files", "0"))
    return Committed(snapshot.snapshot_id, removed, attempts + 1, producer.kept, producer.added)


def snapshot_after(catalog: TableCatalog, schema: str, name: str, call_id: str, error: Exception) -> Snapshot:
    """After an error that says nothing about the outcome: the call's snapshot, if it is there within moments.

    Raises CommitOutcomeUnknownError.
    """
    for wait in _LOOK_AGAIN_SECONDS:
        time.sleep(wait)
        with suppress(ProcessionError):
            snapshot = landed_snapshot(catalog.open(schema, name), call_id)
            if snapshot is not None:
                return snapshot
    raise CommitOutcomeUnknownError(
        ErrorCode.PROCEDURE_CALL_FAILED,
        f"It is unknown whether the commit landed ({type(error).__name__}: {error}); its files are kept, and "
        f"snapshots of the table tell by {call_id}",
    ) from error
