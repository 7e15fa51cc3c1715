"""A catalog ``lab`` on disk, our procedures on it, and Iceberg's own in a Spark beside: what benchmarks of maintenance
share."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import sqlalchemy as sa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from benchmarks.rewrite import BenchExecution, cpu_seconds
from coordinator.connectors.iceberg.connector import FACTORY, IcebergConnector
from coordinator.engine.procedures import run_procedure
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.settings import SparkSettings
from coordinator.vocabulary.planned_statement import CallProcedure
from shared.properties import Property
from shared.spi.procedure import ProcedureContext


class Lab:
    """One table ``lab.db.t`` that goes back to its kept state before each run."""

    def __init__(self, home: Path) -> None:
        self.home = home
        uri, warehouse = f"sqlite:///{home}/catalog.db", f"file://{home}/wh"
        values = {"iceberg.catalog.uri": uri, "iceberg.catalog.warehouse": warehouse}
        self.properties = {k: Property(k, v, Path("lab.properties"), 1) for k, v in values.items()}
        self.catalog = SqlCatalog("lab", uri=uri, warehouse=warehouse)
        self.connector: IcebergConnector = FACTORY.create("lab", self.properties, home)
        self.folder = home / "wh" / "db" / "t"

    def spark(self) -> SparkEngine:
        """A Spark with this catalog; the caller stops it."""
        settings = SparkSettings(work_dir=self.home / "spark", driver_memory="4g", warm_up=False)
        return SparkEngine(settings, FACTORY.spark_conf("lab", self.properties, self.home))

    def keep(self) -> None:
        """Remember the table's files and metadata as they are."""
        self.location = self.catalog.load_table("db.t").metadata_location
        shutil.copytree(self.folder, self.home / "kept")

    def reset(self) -> None:
        """Back to what was kept."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.home / "kept", self.folder)
        statement = sa.text("UPDATE iceberg_tables SET metadata_location = :l WHERE table_name = 't'")
        with self.catalog.engine.begin() as connection:
            connection.execute(statement, {"l": self.location})

    def call(self, name: str, workers: Any = None, **given: Any) -> list[Any]:
        """Our procedure's rows."""
        procedure = next(p for p in self.connector.procedures() if p.declaration.name == name)
        arguments: dict[str, Any] = {a.name: a.default for a in procedure.declaration.arguments}
        arguments |= {"schema": "db", "table_name": "t", **given}
        context = ProcedureContext(BenchExecution().session, "lab", workers, datetime.now(UTC))
        work = CallProcedure("lab", name, procedure.declaration.kind, arguments)
        return [tuple(row) for row in run_procedure(procedure, work, context).rows]


def peer(engine: SparkEngine, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement of Spark."""
    batches = list(engine.run(sql, BenchExecution()))
    return [tuple(row.values()) for row in pa.Table.from_batches(batches).to_pylist()] if batches else []


def measured(bench: str, who: str, action: Callable[[], list[Any]], **more: Any) -> list[Any]:
    """Run and print a JSON line: seconds, CPU seconds of this process and its children, how many rows came."""
    children = psutil.Process().children(recursive=True)
    cpu, own, start = cpu_seconds(children), time.process_time(), time.perf_counter()
    rows = action()
    line = {"bench": bench, "who": who, "wall_s": round(time.perf_counter() - start, 3)}
    line["cpu_s"] = round(cpu_seconds(children) - cpu + time.process_time() - own, 2)
    line["rss_mb"] = max((child.memory_info().rss for child in children), default=0) >> 20
    print(json.dumps({**line, **more, "rows": len(rows), "first": rows[:1]}), flush=True)
    return rows


def append_paths(table: Table, paths: list[str]) -> None:
    """An append of files of which only the names matter."""
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for path in paths:
            file = DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=path,
                file_format=FileFormat.PARQUET,
                partition=Record(),
                record_count=1,
                file_size_in_bytes=1000,
                column_sizes={},
                value_counts={},
                null_value_counts={},
                nan_value_counts={},
                lower_bounds={},
                upper_bounds={},
            )
            file.spec_id = 0
            append.append_data_file(file)
