"""Whether a plan that waited in a queue still describes the tables as they are."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from coordinator.connectors.objects import CatalogObjects
from coordinator.vocabulary.planned_statement import PlannedStatement
from coordinator.vocabulary.table_versions import TableVersion, digest, view_digest
from shared.errors import ProcessionError

_LOG = logging.getLogger(__name__)


class MetadataVersions:
    """Looks at the tables again, through the connectors of this process, on a thread."""

    def __init__(self, catalogs: CatalogObjects) -> None:
        self._catalogs = catalogs

    async def changed(self, planned: PlannedStatement) -> bool:
        """True when a table was changed, made or dropped since planning, or cannot be looked at any more."""
        if not planned.table_versions:
            return False
        return await asyncio.to_thread(self._changed, planned.table_versions)

    def _changed(self, seen: Sequence[TableVersion]) -> bool:
        try:
            return any(self._digest(each) != each.digest for each in seen)
        except ProcessionError as error:
            # Planning again will meet the same problem, and say it to the user.
            _LOG.info("a table cannot be looked at again: %s", error.message)
            return True

    def _digest(self, seen: TableVersion) -> str:
        if seen.view:
            return view_digest(self._catalogs.view(seen.catalog, seen.schema, seen.name))
        return digest(self._catalogs.table(seen.catalog, seen.schema, seen.name, seen.version))
