"""What a connector does beside describing tables: declared, so that nobody has to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from shared.spi.catalog_changes import EditableCatalog
from shared.spi.connector import Connector, ViewSource
from shared.spi.grants import GrantStore
from shared.spi.maintenance import MaintainedTables
from shared.spi.materialized_views import MaterializedViews
from shared.spi.pushdown import Pushdown
from shared.spi.relation import FileSource, RemoteSource, RowSource
from shared.spi.row_position import RowPositions
from shared.spi.table_statistics import AnalyzableCatalog, ColumnBounds, StatisticsSource
from shared.spi.table_writes import CommittedSnapshots, WritableCatalog

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Each part is None where a connector does not have it. A connector declares them as its ``capabilities``."""

    views: ViewSource | None = None
    materialized_views: MaterializedViews | None = None
    changes: EditableCatalog | None = None
    """CREATE, ALTER, DROP, COMMENT, TRUNCATE."""
    writes: WritableCatalog | None = None
    """INSERT, CREATE TABLE AS, DELETE, UPDATE and MERGE."""
    committed: CommittedSnapshots | None = None
    analyze: AnalyzableCatalog | None = None
    statistics: StatisticsSource | None = None
    column_bounds: ColumnBounds | None = None
    pushdown: Pushdown | None = None
    """Taking over parts of plans."""
    row_positions: RowPositions | None = None
    rows: RowSource | None = None
    """Rows that the connector makes in the coordinator."""
    files: FileSource | None = None
    """Files that are made when they are first read."""
    base_name: Callable[[str], str] | None = None
    """The table that a name means, where names may say more: ``t`` of ``t$files``."""
    grants: GrantStore | None = None
    """Roles and privileges, where the catalog keeps any and its access control means them."""
    maintained: MaintainedTables | None = None
    """Tables whose files and metadata need looking after."""
    remote: RemoteSource | None = None
    """A database that engines read by JDBC."""


_NONE = Capabilities()


def capabilities_of(connector: Connector) -> Capabilities:
    """What a connector declares; nothing where it declares nothing."""
    found: Capabilities = getattr(connector, "capabilities", _NONE)
    return found


def asked_before(capability: T | None) -> T:
    """A capability that planning has seen already."""
    assert capability is not None, "what was planned can be done"
    return capability
