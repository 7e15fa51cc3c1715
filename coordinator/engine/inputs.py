"""Relations of a planned statement as what an engine can read: catalogs are asked again, now that the query runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow.dataset as ds

from coordinator.connectors.registry import Catalogs
from shared.spi.relation import (
    ArrowStream,
    FileSource,
    Input,
    JdbcRelation,
    JdbcSource,
    ParquetRelation,
    RowSource,
    RowsRelation,
)


@dataclass(frozen=True, slots=True)
class ArrowInput:
    """Rows under a name: an Arrow stream, or a pyarrow dataset, of which engines read only what they need."""

    name: str
    rows: Any


@dataclass(frozen=True, slots=True)
class FormatInput:
    """What Spark reads by one of its formats. ``options`` may hold secrets: never logged, so not shown either."""

    name: str
    format: str
    paths: tuple[str, ...]
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"FormatInput(name={self.name!r}, format={self.format!r})"


SparkInput = ArrowInput | FormatInput


def make_files(inputs: Sequence[Input], catalogs: Catalogs, check_cancelled: Callable[[], None]) -> None:
    """Let connectors make the files that are made on first use; blocks. Raises ProcessionError."""
    for made in inputs:
        if isinstance(made.relation, ParquetRelation) and made.relation.made_by is not None:
            handle = made.relation.made_by
            cast(FileSource, catalogs.connector(handle.connectorId)).make_files(handle, check_cancelled)


def arrow_inputs(inputs: Sequence[Input], catalogs: Catalogs) -> tuple[ArrowInput, ...]:
    """For the embedded engine. Raises ProcessionError when a source cannot be read."""
    return tuple(ArrowInput(made.name, _arrow(made.relation, catalogs)) for made in inputs)


def spark_inputs(inputs: Sequence[Input], catalogs: Catalogs) -> tuple[SparkInput, ...]:
    """For Spark. Raises ProcessionError when a source cannot be read."""
    return tuple(_for_spark(made, catalogs) for made in inputs)


def _for_spark(made: Input, catalogs: Catalogs) -> SparkInput:
    match made.relation:
        case RowsRelation() as relation:
            return ArrowInput(made.name, _arrow(relation, catalogs))
        case ParquetRelation(paths):
            return FormatInput(made.name, "parquet", paths, {})
        case JdbcRelation() as relation:
            source = cast(JdbcSource, catalogs.connector(relation.catalog))
            return FormatInput(made.name, "jdbc", (), source.jdbc_options(relation))


def _arrow(relation: ParquetRelation | RowsRelation | JdbcRelation, catalogs: Catalogs) -> ArrowStream:
    if isinstance(relation, ParquetRelation):
        dataset: Any = ds.dataset(list(relation.paths), format="parquet")
        return cast(ArrowStream, dataset)
    return cast(RowSource, catalogs.connector(relation.catalog)).read(relation)
