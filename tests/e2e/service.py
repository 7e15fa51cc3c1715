"""One whole Procession as a user starts it: ``procession up`` as a child, a real Presto client, a real lake."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import httpx
import prestodb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from tests import warm
from tests.ports import free_port
from tests.spark_packages import PACKAGES
from tests.warm import ROOT as ROOT

START_SECONDS = 120


@dataclass
class Service:
    """A running ``procession up``."""

    process: subprocess.Popen[str] | warm.WarmProcess
    url: str
    data_dir: Path
    etc: Path

    def succeeded_by(self, other: Service) -> None:
        """From now on this is another process over the same data."""
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process, self.url = other.process, other.url

    def lake(self, catalog: str = "iceberg") -> SqlCatalog:
        """The embedded catalog as any other PyIceberg writer opens it."""
        home = self.data_dir / catalog
        return SqlCatalog(catalog, uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/warehouse")

    def create(self, name: str, parts: Sequence[pa.Table], **options: Any) -> Table:
        lake = self.lake()
        lake.create_namespace_if_not_exists("db")
        table = lake.create_table(f"db.{name}", schema=parts[0].schema, **options)
        for part in parts:
            table.append(part)
        return table

    def cursor(self, **options: Any) -> Any:
        """A cursor of the Presto client."""
        host, port = self.url.removeprefix("http://").split(":")
        return prestodb.dbapi.connect(host=host, port=int(port), user="tester", **options).cursor()

    def execute(self, sql: str, **options: Any) -> list[list[Any]]:
        cursor = self.cursor(**options)
        cursor.execute(sql)
        rows: list[list[Any]] = cursor.fetchall()
        return rows

    def columns(self, sql: str) -> list[tuple[str, str]]:
        cursor = self.cursor()
        cursor.execute(sql)
        cursor.fetchall()
        return [(column[0], column[1]) for column in cursor.description]

    @contextmanager
    def following(self, catalogs: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
        """Files of further Iceberg catalogs, which are there for the block; the service follows its folder."""
        files = {self.etc / "catalog" / f"{name}.properties": given for name, given in catalogs.items()}
        for file, given in files.items():
            lines = "".join(f"{key}={value}\n" for key, value in given.items())
            whole = file.with_suffix(".new")
            whole.write_text(f"connector.name=iceberg\n{lines}")
            whole.rename(file)
        try:
            self._await(lambda names: catalogs.keys() <= names)
            yield
        finally:
            for file in files:
                file.unlink()
            self._await(lambda names: not catalogs.keys() & names)

    def _await(self, expected: Callable[[set[str]], bool]) -> None:
        deadline = time.monotonic() + 60
        while not expected({row[0] for row in self.execute("SHOW CATALOGS")}):
            assert time.monotonic() < deadline, "the service does not follow its catalog folder"
            time.sleep(0.2)

    @property
    def flight_port(self) -> int:
        """Where its Flight SQL is, if it was given a port (``open_flight``)."""
        found = re.search(r"^flight-sql.port=(\d+)$", (self.etc / "config.properties").read_text(), re.MULTILINE)
        assert found is not None
        return int(found[1])

    def get(self, path: str) -> Any:
        return httpx.get(self.url + path, timeout=60).raise_for_status().json()

    def stop(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def write_etc(directory: Path, *, spark: bool = True, remote: str = "", planners: int = 1) -> Path:
    """A configuration like the sample one, with the address of a Spark that others run where ``remote`` is given.

    One planner process, since each costs two seconds of a core, and one converter of the sidecar; services that many
    tests share have two planners, as shipped, and as many converters as there are cores.
    """
    (directory / "catalog").mkdir(parents=True)
    (directory / "plan-checker-providers").mkdir()
    warm_up = "true" if spark else "false"
    (directory / "config.properties").write_text(f"spark.warm-up={warm_up}\nspark.driver-memory=1g\n")
    with (directory / "config.properties").open("a") as config:
        config.write(f"eager-plan-validation-thread-pool-size={planners}\n")
        config.write(f"spark.packages={','.join(PACKAGES)}\n")
        if planners == 1:
            config.write("sidecar.options=--workers 1\n")
    if remote:
        with (directory / "config.properties").open("a") as config:
            config.write(f"spark.remote={remote}\n")
    (directory / "catalog" / "iceberg.properties").write_text("connector.name=iceberg\n")
    (directory / "plan-checker-providers" / "native.properties").write_text("plan-checker-provider.name=native\n")
    return directory


def open_flight(etc: Path) -> None:
    """Flight SQL on a port of its own."""
    with (etc / "config.properties").open("a") as config:
        config.write(f"flight-sql.port={free_port()}\n")


def start_service(etc: Path, data_dir: Path, log: Path, *, cold: bool = False) -> Service:
    """``procession up`` on a free port, once it takes connections; ``cold`` by a new interpreter, as users start it."""
    arguments = ["up", "--etc", str(etc), "--data-dir", str(data_dir), "--port", "0"]
    with log.open("a") as errors:
        process = warm.start_cold(arguments, errors) if cold else warm.start(arguments, errors.fileno())
    assert process.stdout is not None
    line = process.stdout.readline()
    if "listening on " not in line:
        process.kill()
        process.wait()
        process.stdout.close()
    assert "listening on " in line, f"did not start: {line!r}\n{log.read_text()}"
    return Service(process, line.split()[-1], data_dir, etc)


def checksum(table: Table) -> tuple[int, int]:
    """Rows and an order-independent checksum over all columns of the current snapshot, by DuckDB on the files."""
    files = [task.file.file_path.removeprefix("file://") for task in table.refresh().scan().plan_files()]
    columns = ", ".join(f'"{field.name}"' for field in table.schema().fields)
    count, total = duckdb.sql(
        f"SELECT count(*), sum(hash({columns})::HUGEINT) FROM read_parquet({files!r}, union_by_name=true)"
    ).fetchall()[0]
    return count, total
