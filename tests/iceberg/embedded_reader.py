"""Statements over one lake by the embedded engine and by the coordinator's own database, which must agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.embedded.engine import EmbeddedEngine
from coordinator.engine.embedded.messages import EngineSettings
from coordinator.engine.embedded.parquet_scan import parquet_files
from coordinator.engine.embedded.store_files import StoreFiles
from coordinator.engine.inputs import file_scans, local_inputs
from coordinator.engine.local import LocalEngine
from coordinator.engine.processes.nursery import Nursery
from coordinator.kernels.file_scan import FileScan
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import RunLocally
from shared.properties import Property
from shared.spi.session import Session
from tests.execution import FakeExecution


@cache
def _own_database() -> LocalEngine:
    """One, as a coordinator has: making it takes 30 ms of a core, which is more than most statements."""
    return LocalEngine()


class NoCheckers:
    def validate_intermediate(self, plan: Any, session: Any, warn: Any) -> None: ...

    def validate_final(self, plan: Any, session: Any, warn: Any) -> None: ...


class Reader:
    """Statements over the catalog of one lake."""

    def __init__(self, uri: str, warehouse: str, name: str, home: Path, engine: EmbeddedEngine) -> None:
        self.engine = engine
        values = {"iceberg.catalog.uri": uri, "iceberg.catalog.warehouse": warehouse}
        properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
        self.catalogs = Catalogs([CatalogConfig(name, "iceberg", properties, home)])
        self.name = name

    def work(self, query: str, **given: str) -> Any:
        session = Session(user="test", catalog=self.name, schema="fx" if self.name == "fx" else "db", properties=given)
        return plan_statement(query, session, self.catalogs, NoCheckers()).work

    def scan(self, work: Any) -> FileScan:
        """What the process reads for a statement over one table."""
        (scan,) = (file_scans(work.inputs, self.catalogs) or {}).values()
        return scan

    def rows(self, query: str, **given: str) -> pa.Table:
        """From a process of the embedded engine, which are those of the coordinator's own database too."""
        work = self.work(query, **{"engine": "embedded", **given})
        assert isinstance(work, RunLocally), work
        scans = file_scans(work.inputs, self.catalogs)
        assert scans
        found = table_of(self.engine.run(work.sql, scans, FakeExecution()))
        execution = FakeExecution()
        with local_inputs(work.inputs, self.catalogs, execution) as inputs:
            inside = table_of(_own_database().run(work.sql, execution, inputs))
        assert shown(found) == shown(inside)
        return found


def direct(reader: Reader, query: str) -> int:
    """How many files the database reads itself."""
    scan = reader.scan(reader.work(query, engine="embedded"))
    return sum(map(len, parquet_files(scan, StoreFiles(print)).values()))


def table_of(batches: Iterable[Any]) -> pa.Table:
    """No rows come in no batch."""
    found = list(batches)
    return pa.Table.from_batches(found) if found else pa.table({})


def shown(table: pa.Table) -> list[str]:
    """Rows in no order; DuckDB has two names for one zone."""
    return sorted(str(row).replace("Etc/UTC", "UTC") for row in table.to_pylist())


def tuples(reader: Reader, query: str) -> list[tuple[Any, ...]]:
    found = reader.rows(query)
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


def numbered(start: int, count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + count), pa.int64()), "name": [f"n{i}" for i in range(count)]})


@contextmanager
def running_engine(scratch: Path) -> Iterator[EmbeddedEngine]:
    """One process."""
    nursery = Nursery()
    engine = EmbeddedEngine(EngineSettings(str(scratch)), nursery, processes=1)
    yield engine
    engine.close()
    nursery.close()
