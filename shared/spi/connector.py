"""What the planner and dispatcher know of a source of tables. Connectors describe; engines read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from shared.plan.nodes import TableHandle, TableScanNode
from shared.properties import Property
from shared.spi.materialized_views import Materialization
from shared.spi.procedure import Procedure
from shared.spi.relation import Relation


@dataclass(frozen=True, slots=True)
class ColumnMetadata:
    """A column; ``handle`` is the connector's wire object for it (an IcebergColumnHandle and so on)."""

    name: str
    type: str
    handle: dict[str, Any]
    nullable: bool = True
    comment: str | None = None
    hidden: bool = False
    is_partition_key: bool = False


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """A resolved table at one version, picklable.

    ``handle`` is what TableScan nodes carry; it pins ``snapshot_id`` so that one query sees one version.
    ``row_count`` and ``distinct_values``, by the names of columns, are estimates to choose a plan by, never to answer
    with: of a table with deletes nobody has counted the rows that are left. ``row_count`` is known for tables that stay
    as they are at ``snapshot_id``, None for others. ``size_bytes`` is exact or None.
    """

    catalog: str
    schema: str
    name: str
    columns: tuple[ColumnMetadata, ...]
    handle: TableHandle
    snapshot_id: int | None = None
    columns_changed: bool = False
    """Whether that was after the snapshot: an engine may read a later one then."""
    row_count: int | None = None
    size_bytes: int | None = None
    comment: str | None = None
    hidden_columns: tuple[ColumnMetadata, ...] = ()
    """Columns that only a query that names them reads: ``"$path"`` and the like."""
    distinct_values: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """What whoever reads the table should know: columns that are left out, for instance."""
    digest: str | None = None
    """Equal for equal metadata, in every process; for connectors that know a cheap one."""
    tells_of: str | None = None
    """Of a metadata table, the table of the same schema whose files and history it tells."""
    path_tells: tuple[str, ...] = ()
    """Columns, in small letters, whose values stand in names of folders: ``"$path"`` tells them."""
    location: str | None = None
    """The table's folder, for connectors that have one."""

    def column(self, name: str) -> ColumnMetadata | None:
        """The column of that name, compared without case as Presto does."""
        folded = name.lower()
        return next((c for c in self.columns if c.name.lower() == folded), None)


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A column as the view promises it; ``type`` is Presto type text."""

    name: str
    type: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class ViewMetadata:
    """A view, picklable. ``definition`` is its query in Presto's SQL, as it was written.

    ``default_catalog`` and ``default_schema`` complete the names in it. ``security`` is DEFINER or INVOKER. A view of
    another engine alone has the name of its ``dialect`` and no ``definition`` that could be read here.
    """

    catalog: str
    schema: str
    name: str
    definition: str
    columns: tuple[ViewColumn, ...] = ()
    default_catalog: str | None = None
    default_schema: str | None = None
    owner: str | None = None
    security: str = "DEFINER"
    comment: str | None = None
    dialect: str = "presto"
    materialized: Materialization | None = None
    """Where its rows are kept, for a materialized view."""


class ViewSource(Protocol):
    """A connector that has views."""

    def view_names(self, schema: str) -> Sequence[str]:
        """The names of a schema's views, sorted; empty for an unknown schema."""
        ...

    def view(self, schema: str, name: str) -> ViewMetadata | None:
        """One view, or None; raises ProcessionError for unreadable metadata."""
        ...


@dataclass(frozen=True, slots=True)
class Before:
    """The last version before another; ``value`` names that one as a Version does."""

    value: int | str | datetime


Version = int | str | datetime | Before
"""Of a table: a snapshot's id, the name of a branch or tag, the moment at which it was current, or one before that."""


class Connector(Protocol):
    """One configured catalog. Methods block; planner processes each hold an instance of their own."""

    catalog: str
    """The name of the catalog, from the file name in etc/catalog."""

    def schemas(self) -> Sequence[str]:
        """Names of all schemas, lower case, sorted."""
        ...

    def tables(self, schema: str) -> Sequence[str]:
        """Names of the tables of a schema, sorted; empty for an unknown one."""
        ...

    def schema_exists(self, schema: str) -> bool: ...

    def table(self, schema: str, name: str, version: Any = None) -> TableMetadata | None:
        """The table at its current (or given) version, or None; raises ProcessionError for unreadable metadata."""
        ...

    def relation(self, scan: TableScanNode) -> Relation:
        """What an engine reads for a scan of one of this catalog's tables; columns named as in its column handles."""
        ...

    def procedures(self) -> Sequence[Procedure]:
        """The procedures callable as ``catalog.system.name``."""
        ...


class ConnectorFactory(Protocol):
    """What the entry point group ``procession.connectors`` holds under the value of ``connector.name``."""

    def create(self, catalog: str, properties: Mapping[str, Property], data_dir: Path) -> Connector:
        """A connector for one catalog file; raises ConfigurationError naming file and line for unknown keys.

        ``data_dir`` is the node's own directory, for what the connector must keep on this machine.
        """
        ...

    def spark_conf(self, catalog: str, properties: Mapping[str, Property], data_dir: Path) -> dict[str, str]:
        """Spark settings that make the same catalog visible to Spark under the same name; empty when it is not."""
        ...


@dataclass(frozen=True, slots=True)
class SparkDrivers:
    """Jars that Spark needs to read a catalog: Maven coordinates, and paths on this machine."""

    packages: tuple[str, ...] = ()
    jars: tuple[str, ...] = ()


@runtime_checkable
class DistributedProcedures(Protocol):
    """A connector factory that tells which procedures of its catalogs are distributed, before one is planned."""

    def distributed_procedures(self) -> Collection[str]:
        """Their names, in small letters."""
        ...


@runtime_checkable
class DriverSource(Protocol):
    """A connector factory whose catalogs Spark reads by a driver of their own."""

    def drivers(self, catalog: str, properties: Mapping[str, Property]) -> SparkDrivers:
        """What the embedded Spark must load for one catalog file. Raises ConfigurationError."""
        ...
