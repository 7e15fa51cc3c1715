"""Commits that are no call's and have an unknown outcome: their metadata file goes once they can never land.

Of catalogs that write metadata. Nobody waits for it; what this process does not live to do, the next start does.
"""

from __future__ import annotations

import logging
from functools import partial

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.rewrite.committing.recovery import recover_commit
from coordinator.connectors.iceberg.tables.open_commits import OpenCommit

_LOG = logging.getLogger(__name__)
_PAUSE_SECONDS, _TRIES = 10.0, 360
"""An hour."""


def settle_commit_later(catalog: TableCatalog, commit: OpenCommit, tries: int = _TRIES) -> None:
    """Look soon, and again, until it can be told. Returns at once."""
    if tries:
        step = partial(_settle, catalog, commit, tries - 1)
        catalog.background.later(_PAUSE_SECONDS, "unknown-commit", step)


def _settle(catalog: TableCatalog, commit: OpenCommit, tries: int) -> None:
    try:
        if not catalog.open_commits.is_mine(commit.location):
            return  # another coordinator has it, or has settled it
        found = recover_commit(catalog, commit, may_be_sent=True)
        if not found.waits:
            _LOG.warning("A commit to %s.%s, whose outcome was unknown: %s", commit.schema, commit.table, found.outcome)
            return
    except Exception as error:  # the catalog, the storage or the journal may be gone for a while
        _LOG.info("What became of %s cannot be told yet: %s", commit.location, error)
    settle_commit_later(catalog, commit, tries)
