"""Calls whose commit has an unknown outcome: finished or undone for good once the catalog answers again.

Nobody waits for that: the call has failed, and told so. What this process does not live to do, the next start does.
A server may still carry out a request that it has: it has its time first, and then the head of the table is moved, so
that the request is refused.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import partial

from pyiceberg.catalog import MetastoreCatalog

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.rewrite.committing.journal import Journal
from coordinator.connectors.iceberg.rewrite.committing.recovery import settle

_LOG = logging.getLogger(__name__)
_PAUSE_SECONDS, _TRIES = 10.0, 360
"""An hour."""


@dataclass(frozen=True, slots=True)
class _Unknown:
    catalog: TableCatalog
    journal: Journal
    call_id: str
    since: float


def settle_later(catalog: TableCatalog, journal: Journal, call_id: str) -> None:
    """Look soon, and again, until it can be told."""
    _again(_Unknown(catalog, journal, call_id, time.monotonic()), _TRIES)


def _again(unknown: _Unknown, tries: int) -> None:
    if tries:
        step = partial(_settle, unknown, tries - 1)
        unknown.catalog.background.later(_PAUSE_SECONDS, "unknown-outcome", step)


def _settle(unknown: _Unknown, tries: int) -> None:
    call_id, journal = unknown.call_id, unknown.journal
    try:
        entry = journal.entry(call_id)
        if entry is None or entry.state != "COMMITTING" or journal.settled_by_another(call_id) is not None:
            return
        with mapped(f"{entry.schema}.{entry.table}"):
            landed = settle(unknown.catalog, entry, may_land=True, has_waited=_has_waited(unknown))
        if landed is not None:
            journal.close(call_id, "COMMITTED" if landed else "ABORTED")
            outcome = "landed" if landed else "is undone"
            _LOG.warning("The commit of call %s, whose outcome was unknown, %s", call_id, outcome)
            return
    except Exception as error:  # the catalog, the storage or the journal may be gone for a while
        _LOG.info("What became of the commit of call %s cannot be told yet: %s", call_id, error)
    _again(unknown, tries)


def _has_waited(unknown: _Unknown) -> bool:
    """Whether no request is likely to be carried out any more. Catalogs that write metadata hold none."""
    if isinstance(unknown.catalog.client(), MetastoreCatalog):
        return True
    return time.monotonic() - unknown.since >= unknown.catalog.settings.unfinished_quiet_time
