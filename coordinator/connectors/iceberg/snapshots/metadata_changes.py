"""Changes of a table's metadata alone (references, properties, statistics), committed under the catalog's own check.

A change is worked out anew from the newest metadata after every lost race, so that it is never based on what is gone.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.update import AssertTableUUID, TableRequirement, TableUpdate

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.numbers import number_or

T = TypeVar("T")


_MOST_RETRIES, _LONGEST_PAUSE_MS = 100, 60_000
"""Whatever a table's properties say."""


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """What to commit, and the answer once it is; without updates there is nothing to commit."""

    answer: T
    updates: tuple[TableUpdate, ...] = ()
    requirements: tuple[TableRequirement, ...] = ()


def commit_change(catalog: TableCatalog, schema: str, name: str, stage: Callable[[Table], Change[T]]) -> T:
    """Stage and commit, again after a lost race, as often as the table's ``commit.retry`` properties say.

    Raises ProcessionError: NOT_FOUND, TRANSACTION_CONFLICT after the last lost race, and whatever ``stage`` raises.
    """
    with mapped(f"{schema}.{name}"):
        attempt = 0
        while True:
            table = catalog.open(schema, name)
            change = stage(table)
            if not change.updates:
                return change.answer
            try:
                commit_once(table, change)
            except CommitFailedException:
                if attempt >= _retries(table):
                    raise
                time.sleep(_pause(table, attempt))
                attempt += 1
                continue
            return change.answer


def commit_once(table: Table, change: Change[T]) -> None:
    """Commit to exactly the state that ``table`` was read at; raises CommitFailedException after a lost race."""
    uuid = AssertTableUUID(uuid=table.metadata.table_uuid)
    table.catalog.commit_table(table, (uuid, *change.requirements), change.updates)


def _retries(table: Table) -> int:
    retries = _number(table, TableProperties.COMMIT_NUM_RETRIES, TableProperties.COMMIT_NUM_RETRIES_DEFAULT)
    return min(retries, _MOST_RETRIES)


def _pause(table: Table, attempt: int) -> float:
    """Seconds before the next attempt: doubled each time, with jitter, so that rivals part."""
    least = _number(table, TableProperties.COMMIT_MIN_RETRY_WAIT_MS, TableProperties.COMMIT_MIN_RETRY_WAIT_MS_DEFAULT)
    most = _number(table, TableProperties.COMMIT_MAX_RETRY_WAIT_MS, TableProperties.COMMIT_MAX_RETRY_WAIT_MS_DEFAULT)
    return float(min(least << attempt, most, _LONGEST_PAUSE_MS)) / 1000 * random.uniform(0.5, 1.0)  # noqa: S311  (no secret)


def _number(table: Table, name: str, default: int) -> int:
    return number_or(table.properties.get(name), default)
