"""A catalog on disk, an in-process worker runtime, and one call of a procedure as the coordinator makes it."""

from __future__ import annotations

import importlib
import importlib.util
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.connectors.iceberg.rewrite.committing import commit
from coordinator.connectors.system.procedures.clean_data_cache import CleanDataCache
from coordinator.engine.embedded.engine import EmbeddedEngine
from coordinator.engine.procedures import run_procedure
from coordinator.kernels.errors import KernelError
from coordinator.vocabulary.planned_statement import CallProcedure
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property
from shared.spi.catalog_changes import CatalogChange
from shared.spi.procedure import ProcedureContext, ProcedureResult, TableTarget
from shared.spi.session import Session
from tests.hive_metastore import HiveMetastore
from tests.iceberg.embedded_reader import Reader, running_engine

SMOKE = frozenset({"test_connector.py", "test_rewrite.py", "test_expiry.py"})
"""Tests over tables that ``make check`` runs as well; each makes a catalog and Parquet files."""
ARCHIVE = Path(__file__).parents[1] / "data" / "iceberg_tables" / "tables.tar.xz"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder but the smoke slice are marked ``lake``."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.name not in SMOKE:
            item.add_marker(pytest.mark.lake)


class LocalWorkers:
    """WorkerRuntime in this process; ``before`` is called with kernel name and number ahead of each task."""

    def __init__(self, parallelism: int = 2) -> None:
        self.parallelism = parallelism
        self.before: Callable[[str, int], None] = lambda _kernel, _number: None
        self.tasks = 0
        self.attempts_lost = False
        self.statements: list[str] = []

    def run_tasks(self, kernel: str, payloads: Sequence[bytes], *, description: str = "") -> Iterator[bytes]:
        # The last submitted finishes first: results come in no order.
        for number, payload in reversed(list(enumerate(payloads))):
            self.before(kernel, number)
            self.tasks += 1
            yield _run(kernel, payload)

    def run_on_all_workers(self, kernel: str, payload: bytes, *, description: str = "") -> Iterator[tuple[str, bytes]]:
        yield "local-0", _run(kernel, payload)

    def run_sql(self, sql: str, *, description: str = "") -> Sequence[Mapping[str, Any]]:
        """No engine is here: a call for one fails as with a server that cannot be had, and is kept."""
        self.statements.append(sql)
        raise ProcessionError(ErrorCode.NO_NODES_AVAILABLE, "Spark is not available: these workers are local")


def _run(kernel: str, payload: bytes) -> bytes:
    module, function = kernel.split(":")
    try:
        result: bytes = getattr(importlib.import_module(f"coordinator.kernels.{module}"), function)(payload)
    except KernelError as error:
        raise ProcessionError(ErrorCode[error.name], error.message) from error
    return result


class Lake:
    """A catalog under a directory: our connector, and PyIceberg as any other writer."""

    def __init__(self, home: Path, *, create: bool = True, catalog: str = "lab") -> None:
        self.home = home
        self.catalog = catalog
        self.schema = "db"
        self.uri = f"sqlite:///{home}/catalog.db"
        self.workers = LocalWorkers()
        self.connector = self.connect()
        self.other = SqlCatalog(catalog, uri=self.uri, warehouse=f"file://{home}/wh")
        if create:
            self.other.create_namespace("db")

    def connect(self) -> IcebergConnector:
        values = {
            "iceberg.catalog.uri": self.uri,
            "iceberg.catalog.warehouse": f"file://{self.home}/wh",
            "iceberg.allowed-locations": f"file://{self.home}",
        }
        properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
        return IcebergConnector(self.catalog, properties)

    def create(self, name: str, parts: Sequence[pa.Table], **options: Any) -> Table:
        table = self.other.create_table(f"db.{name}", schema=parts[0].schema, **options)
        for part in parts:
            table.append(part)
        return table

    def table(self, name: str) -> Table:
        return self.other.load_table(f"db.{name}")

    def context(self) -> ProcedureContext:
        session = Session(user="test", query_id="20260101_000000_00000_tests")
        return ProcedureContext(session=session, catalog=self.catalog, workers=self.workers, now=datetime.now(UTC))

    def procedure(self, name: str) -> Any:
        return next(p for p in (*self.connector.procedures(), CleanDataCache()) if p.declaration.name == name)

    def call(self, procedure: str, **given: Any) -> ProcedureResult:
        found = self.procedure(procedure)
        arguments = {a.name: given.get(a.name, a.default) for a in found.declaration.arguments}
        target = None
        if procedure == "rewrite_data_files" or given.get("predicate") is not None:
            target = self.target(arguments["table_name"], given.get("predicate"))
        work = CallProcedure(self.catalog, procedure, found.declaration.kind, arguments, target)
        return run_procedure(found, work, self.context())

    def change(self, change: CatalogChange) -> None:
        self.connector.change(change, self.context())

    def target(self, table: str, predicate: Any = None) -> TableTarget:
        metadata = self.connector.table(self.schema, table)
        assert metadata is not None
        return TableTarget(self.schema, table, metadata.snapshot_id, predicate)

    def rewrite(
        self, table: str, options: Mapping[str, str] | None = None, predicate: Any = None, **given: Any
    ) -> dict[str, Any]:
        given |= {"schema": self.schema, "table_name": table, "options": dict(options or {}), "predicate": predicate}
        result = self.call("rewrite_data_files", **given)
        columns = [c.name for c in self.procedure("rewrite_data_files").declaration.output]
        return dict(zip(columns, result.rows[0], strict=True))

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        """Every row of the table, read by PyIceberg, sorted by DuckDB."""
        data = self.table(name).scan().to_arrow()
        return duckdb.sql("SELECT * FROM data ORDER BY ALL").fetchall() if data.num_rows else []

    def files(self, name: str) -> set[str]:
        """Every file under the table's directory."""
        root = self.home / "wh" / "db" / name
        return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}

    def named(self, table: Any) -> set[str]:
        """Every file that the table's metadata refers to."""
        known = {table.metadata_location, *(entry.metadata_file for entry in table.metadata.metadata_log)}
        for snapshot in table.snapshots():
            known.add(snapshot.manifest_list)
            for manifest in snapshot.manifests(table.io):
                known.add(manifest.manifest_path)
                known |= {e.data_file.file_path for e in manifest.fetch_manifest_entry(table.io, discard_deleted=False)}
        return known

    def orphans(self, name: str) -> set[str]:
        """Files under the table's directory that no metadata refers to."""
        known = self.named(self.table(name))
        root = f"{self.home}/wh/db/{name}/"
        # Hadoop writes file:/ where others write file:///.
        plain = ("/" + location.removeprefix("file:").lstrip("/") for location in known)
        return self.files(name) - {location.removeprefix(root) for location in plain}


def _load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"iceberg_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def foreign() -> Any:
    """Commits of another engine that PyIceberg has no call for."""
    return _load("foreign_writer")


@pytest.fixture(scope="session")
def java_rows() -> Any:
    """Rows that Iceberg Java read, and those that we read, in one spelling."""
    return _load("java_rows")


@pytest.fixture(scope="session")
def java_lake() -> Callable[[Path], Any]:
    """Unpack the tables that Iceberg Java made; only usable with the working directory there."""

    def unpack(home: Path) -> Lake:
        # The first releases of Python 3.11 know no filters, later ones want one.
        safe: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(home, **safe)
        uri = f"sqlite:///{home}/catalog.db"
        values = {"iceberg.catalog.uri": uri, "iceberg.catalog.warehouse": "wh"}
        properties = {k: Property(k, v, Path("fx.properties"), 2) for k, v in values.items()}
        lake = Lake(home, create=False)
        lake.uri, lake.schema = uri, "fx"
        lake.connector = IcebergConnector("fx", properties)
        lake.other = SqlCatalog("fx", uri=uri, warehouse="wh")
        return lake

    return unpack


@pytest.fixture(scope="session")
def lake_in() -> Callable[[Path, str], Lake]:
    """A lake in a directory, its catalog under a name of its own: a session of Spark keeps its catalogs by name."""
    return lambda home, catalog: Lake(home, catalog=catalog)


@pytest.fixture
def looked_for_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a commit whose outcome nobody told, the table is looked at as often as ever, but without long pauses."""
    monkeypatch.setattr(commit, "_LOOK_AGAIN_SECONDS", (0.05,) * len(commit._LOOK_AGAIN_SECONDS))


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    lake = Lake(tmp_path)
    yield lake
    lake.connector.close()


class HiveLake(Lake):
    """A lake whose catalog is a Hive metastore, and PyIceberg's own client of it as the other writer."""

    def __init__(self, home: Path, metastore: HiveMetastore, catalog: str = "hived", schema: str = "db") -> None:
        self.home = home
        self.catalog = catalog
        self.schema = schema
        self.metastore = metastore
        self.uri = metastore.uri
        self.workers = LocalWorkers()
        self.connector = self.connect()
        self.other = HiveCatalog(catalog, uri=self.uri)
        self.other.create_namespace("db", {"location": f"file://{home}/wh/db"})

    def connect(self, **given: str) -> IcebergConnector:
        values = {
            "iceberg.catalog.type": "hive",
            "hive.metastore.uri": self.uri,
            "iceberg.catalog.warehouse": f"file://{self.home}/wh",
            "iceberg.journal.file": f"{self.home}/journal.db",
            "iceberg.allowed-locations": f"file://{self.home}",
        } | given
        properties = {k: Property(k, v, Path("hived.properties"), i) for i, (k, v) in enumerate(values.items(), 2)}
        return IcebergConnector(self.catalog, properties)


@pytest.fixture(scope="session")
def hive_lake(metastore: HiveMetastore, tmp_path_factory: pytest.TempPathFactory) -> HiveLake:
    """One lake for all tests: each takes a table of its own."""
    return HiveLake(tmp_path_factory.mktemp("hived"), metastore)


@pytest.fixture(scope="module")
def embedded_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    with running_engine(tmp_path_factory.mktemp("engine") / "scratch") as engine:
        yield engine


@pytest.fixture(scope="module")
def java_reader(
    tmp_path_factory: pytest.TempPathFactory, java_lake: Any, embedded_engine: EmbeddedEngine
) -> Iterator[tuple[Reader, Path]]:
    """Statements over the tables that Iceberg Java wrote, and the folder that their paths begin at."""
    home = tmp_path_factory.mktemp("java")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        yield Reader(java_lake(home).uri, "wh", "fx", home, embedded_engine), home


@pytest.fixture
def reader(lake: Any, embedded_engine: EmbeddedEngine) -> Reader:
    return Reader(lake.uri, f"file://{lake.home}/wh", "lab", lake.home, embedded_engine)
