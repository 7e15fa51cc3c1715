"""``connector.name=tpch``: what the planner learns of TPC-H's tables, and the files that engines read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordinator.connectors.tpch.distinct_values import distinct_values
from coordinator.connectors.tpch.files import file_names, generate, size_bytes
from coordinator.connectors.tpch.statistics import table_statistics
from coordinator.connectors.tpch.tables import SCHEMAS, TABLES, Table, exact_rows, scale_of
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import TableHandle, TableScanNode
from shared.properties import Property
from shared.spi.capabilities import Capabilities
from shared.spi.connector import ColumnMetadata, TableMetadata
from shared.spi.procedure import Procedure
from shared.spi.relation import ParquetRelation
from shared.spi.table_statistics import TableStatistics

TYPE = "tpch"
ROW_NUMBER = "row_number"
_NAMING = "tpch.column-naming"
_CACHE = "tpch.cache-directory"
_ALL_AT_ONCE = 0.1
"""Up to this scale all tables together take hardly longer than one."""


@dataclass(frozen=True, slots=True)
class TpchSettings:
    """``standard_names`` puts TPC-H's prefixes before the names of columns: ``o_orderkey`` for ``orderkey``."""

    home: Path
    standard_names: bool


class TpchConnector:
    """One catalog over generated tables. Nothing is generated before an engine reads a table."""

    def __init__(self, catalog: str, settings: TpchSettings) -> None:
        self.catalog = catalog
        self._settings = settings

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(statistics=self, files=self)

    def schemas(self) -> Sequence[str]:
        return sorted(SCHEMAS)

    def tables(self, schema: str) -> Sequence[str]:
        return sorted(TABLES) if scale_of(schema) is not None else ()

    def schema_exists(self, schema: str) -> bool:
        return schema in SCHEMAS

    def table(self, schema: str, name: str, version: Any = None) -> TableMetadata | None:
        """A table of any scale; raises ProcessionError for a version, which these tables do not have."""
        scale, table = scale_of(schema), TABLES.get(name)
        if scale is None or table is None:
            return None
        if version is not None:
            raise ProcessionError(
                ErrorCode.NOT_SUPPORTED, "This connector does not support table version AS OF/BEFORE expression"
            )
        columns = tuple(
            ColumnMetadata(column, type_, {"@type": TYPE, "columnName": column, "type": type_}, nullable=False)
            for column, type_ in self._columns(table).items()
        )
        handle = {"@type": TYPE, "tableName": name, "scaleFactor": scale}
        return TableMetadata(
            catalog=self.catalog,
            schema=schema,
            name=name,
            columns=columns,
            handle=TableHandle(
                connectorId=self.catalog,
                connectorHandle=handle,
                transaction=[TYPE, "INSTANCE"],
                connectorTableLayout={"@type": TYPE, "table": handle, "predicate": {"columnDomains": []}},
            ),
            row_count=exact_rows(table, scale),
            size_bytes=size_bytes(table, scale),
            hidden_columns=(self._row_number(table),),
            distinct_values=distinct_values(table, tuple(self._columns(table)), scale),
        )

    def statistics(self, schema: str, table: str) -> TableStatistics | None:
        """For SHOW STATS, where Presto's connector has them."""
        known = TABLES.get(table)
        return None if known is None else table_statistics(schema, table, self._prefix(known))

    def relation(self, scan: TableScanNode) -> ParquetRelation:
        table, scale = _of_handle(scan.table)
        paths = tuple(str(file) for file in file_names(self._home(), table, scale))
        return ParquetRelation(paths, size_bytes(table, scale), made_by=scan.table)

    def make_files(self, handle: TableHandle, check_cancelled: Callable[[], None]) -> None:
        """Generate what is missing of a table's files; blocks. Raises ProcessionError."""
        table, scale = _of_handle(handle)
        tables = tuple(TABLES.values()) if scale <= _ALL_AT_ONCE else (table,)
        generate(self._home(), tables, scale, self._columns, check_cancelled)

    def procedures(self) -> Sequence[Procedure]:
        return ()

    def _columns(self, table: Table) -> dict[str, str]:
        return {self._prefix(table) + name: type_ for name, type_ in table.columns.items()}

    def _prefix(self, table: Table) -> str:
        return table.prefix if self._settings.standard_names else ""

    def _row_number(self, table: Table) -> ColumnMetadata:
        """Presto's hidden column: which row of the generator's it is, a function of the first column."""
        key = self._prefix(table) + next(iter(table.columns))
        sparse = table.name in ("orders", "lineitem")
        handle = {"@type": TYPE, "columnName": ROW_NUMBER, "type": "bigint", "key": key, "sparse": sparse}
        return ColumnMetadata(ROW_NUMBER, "bigint", handle, nullable=False, hidden=True)

    def _home(self) -> Path:
        return self._settings.home / ("standard" if self._settings.standard_names else "simplified")


class TpchConnectorFactory:
    """``connector.name=tpch``"""

    def create(self, catalog: str, properties: Mapping[str, Property], data_dir: Path) -> TpchConnector:
        return TpchConnector(catalog, read_settings(properties, data_dir))

    def spark_conf(self, _catalog: str, _properties: Mapping[str, Property], _data_dir: Path) -> dict[str, str]:
        return {}


FACTORY = TpchConnectorFactory()
"""What the entry point group ``procession.connectors`` names."""


def read_settings(properties: Mapping[str, Property], data_dir: Path) -> TpchSettings:
    """The settings of one catalog file; raises ConfigurationError naming file and line for a wrong entry."""
    for entry in properties.values():
        if entry.name not in {_NAMING, _CACHE}:
            raise entry.unknown((_NAMING, _CACHE))
    naming, home = properties.get(_NAMING), properties.get(_CACHE)
    if naming is not None and naming.value.upper() not in {"SIMPLIFIED", "STANDARD"}:
        raise naming.error(f"{_NAMING} must be SIMPLIFIED or STANDARD, not '{naming.value}'")
    return TpchSettings(
        home=(Path(home.value) if home else data_dir / "tpch").absolute(),
        standard_names=naming is not None and naming.value.upper() == "STANDARD",
    )


def _of_handle(handle: TableHandle) -> tuple[Table, float]:
    return TABLES[str(handle.connectorHandle["tableName"])], float(handle.connectorHandle["scaleFactor"])
