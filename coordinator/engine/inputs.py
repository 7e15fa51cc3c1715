"""Relations of a planned statement as what an engine can read: catalogs are asked again, now that the query runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol, cast, runtime_checkable

import pyarrow as pa
import pyarrow.dataset as ds

from coordinator.connectors.registry import Catalogs
from coordinator.engine.execution import Execution
from coordinator.engine.local_inputs import ArrowInput, FilesInput, LocalInput
from coordinator.kernels.file_scan import FileScan
from coordinator.kernels.scan_part import parts_of
from shared.errors import ProcessionError
from shared.spi.capabilities import asked_before
from shared.spi.relation import (
    AppendedRows,
    ArrowStream,
    Input,
    JdbcRelation,
    ParquetRelation,
    RemoteReads,
    RowsRelation,
    SentRelation,
)


@dataclass(frozen=True, slots=True)
class FormatInput:
    """What Spark reads by one of its formats. ``options`` may hold secrets: never logged, so not shown either."""

    name: str
    format: str
    paths: tuple[str, ...]
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"FormatInput(name={self.name!r}, format={self.format!r})"


@dataclass(frozen=True, slots=True)
class KernelsInput:
    """What the kernels read for Spark, a task for each part. ``parts`` may hold keys: never logged."""

    name: str
    schema: pa.Schema
    parts: tuple[bytes, ...]

    def __repr__(self) -> str:
        return f"KernelsInput(name={self.name!r}, parts={len(self.parts)})"


@runtime_checkable
class ScannedFiles(Protocol):
    """A connector whose tables are files that the kernels read."""

    def file_scan(self, relation: RowsRelation) -> FileScan | None:
        """None for what is no table of files. Raises ProcessionError."""
        ...


SparkInput = ArrowInput | FormatInput | KernelsInput
MAX_SENT_BYTES = 64 << 20
"""Of Parquet: files up to here are sent to a Spark on another machine, larger ones must be on a disk of both."""


@contextmanager
def local_inputs(inputs: Sequence[Input], catalogs: Catalogs, execution: Execution) -> Iterator[tuple[LocalInput, ...]]:
    """For the local engine, as long as the statement runs. Raises ProcessionError when a source cannot be read."""
    _make_files(inputs, catalogs, execution.check_cancelled)
    with _remote_reads(inputs, catalogs, execution) as remote:
        yield tuple(_for_local(made, catalogs, remote) for made in inputs)


@contextmanager
def spark_inputs(
    inputs: Sequence[Input], catalogs: Catalogs, execution: Execution, *, shares_disk: bool = True
) -> Iterator[tuple[SparkInput, ...]]:
    """For Spark, as long as the statement runs; ``shares_disk`` when it sees this machine's files.

    Raises ProcessionError when a source cannot be read.
    """
    sent = [made.name for made in inputs if isinstance(made.relation, SentRelation)]
    others = [made for made in inputs if made.name not in sent]
    _make_files(others, catalogs, execution.check_cancelled)
    with ExitStack() as stack:
        # First what the client sends, for as long as it takes: no database is asked meanwhile.
        came = [stack.enter_context(_staged(name, execution, shares_disk=shares_disk)) for name in sent]
        remote = stack.enter_context(_remote_reads(others, catalogs, execution))
        yield (*came, *(_for_spark(made, catalogs, remote, shares_disk=shares_disk) for made in others))


@contextmanager
def _staged(name: str, execution: Execution, *, shares_disk: bool) -> Iterator[SparkInput]:
    assert execution.sent_rows is not None, "a statement that reads sent rows comes with some"
    with execution.sent_rows.staged(execution, None if shares_disk else MAX_SENT_BYTES) as staged:
        if shares_disk:
            yield FormatInput(name, "parquet", staged.paths, {})
        else:
            yield ArrowInput(name, ds.dataset(list(staged.paths), format="parquet"))


def file_scans(inputs: Sequence[Input], catalogs: Catalogs) -> Mapping[str, FileScan]:
    """Those of the inputs that are files of tables. Raises ProcessionError."""
    found: dict[str, FileScan] = {}
    for made in inputs:
        relation = made.relation
        scan = (
            _file_scan(relation, catalogs.connector(relation.catalog)) if isinstance(relation, RowsRelation) else None
        )
        if scan is not None:
            found[made.name] = replace(scan, first_rows=made.first_rows)
    return found


def _file_scan(relation: RowsRelation, connector: object) -> FileScan | None:
    return connector.file_scan(relation) if isinstance(connector, ScannedFiles) else None


def _make_files(inputs: Sequence[Input], catalogs: Catalogs, check_cancelled: Callable[[], None]) -> None:
    """Let connectors make the files that are made on first use; blocks. Raises ProcessionError."""
    for made in inputs:
        if isinstance(made.relation, ParquetRelation) and made.relation.made_by is not None:
            handle = made.relation.made_by
            asked_before(catalogs.capabilities(handle.connectorId).files).make_files(handle, check_cancelled)


@contextmanager
def _remote_reads(
    inputs: Sequence[Input], catalogs: Catalogs, execution: Execution
) -> Iterator[Mapping[str, RemoteReads]]:
    """The databases that the statement reads, by catalog: cancelled with it, closed after it."""
    relations: dict[str, list[JdbcRelation]] = {}
    for made in inputs:
        if isinstance(made.relation, JdbcRelation):
            relations.setdefault(made.relation.catalog, []).append(made.relation)
    remote: dict[str, RemoteReads] = {}
    try:
        for catalog, several in relations.items():
            source = asked_before(catalogs.capabilities(catalog).remote)
            remote[catalog] = source.reads(execution.query_id, several)
            execution.on_cancel(remote[catalog].cancel)
        yield remote
    except ProcessionError as error:
        execution.check_cancelled()
        failure = error
        for reads in remote.values():
            failure = reads.failure(failure)
        if failure is error:
            raise
        raise failure from error
    finally:
        for reads in remote.values():
            reads.close()


def _for_local(made: Input, catalogs: Catalogs, remote: Mapping[str, RemoteReads]) -> LocalInput:
    if isinstance(made.relation, ParquetRelation):
        return FilesInput(made.name, made.relation.paths)
    return ArrowInput(made.name, _arrow(made.relation, catalogs, remote))


def _for_spark(made: Input, catalogs: Catalogs, remote: Mapping[str, RemoteReads], *, shares_disk: bool) -> SparkInput:
    match made.relation:
        case RowsRelation() as relation if made.by_kernels:
            return _by_kernels(made.name, relation, catalogs)
        case ParquetRelation(paths, size) if shares_disk or size > MAX_SENT_BYTES:
            return FormatInput(made.name, "parquet", paths, {})
        case JdbcRelation() as relation:
            return FormatInput(made.name, "jdbc", (), remote[relation.catalog].options(relation))
        case AppendedRows(parts, after, until):
            options = {"start-snapshot-id": str(after), "end-snapshot-id": str(until)}
            return FormatInput(made.name, "iceberg", (".".join(map(_quoted, parts)),), options)
        case relation:
            return ArrowInput(made.name, _arrow(relation, catalogs, remote))


def _by_kernels(name: str, relation: RowsRelation, catalogs: Catalogs) -> SparkInput:
    scan = _file_scan(relation, catalogs.connector(relation.catalog))
    if scan is None or not len(scan.schema):
        return ArrowInput(name, _arrow(relation, catalogs, {}))
    return KernelsInput(name, scan.schema, tuple(parts_of(scan, os.cpu_count() or 1)))


def _quoted(part: str) -> str:
    return "`" + part.replace("`", "``") + "`"


def _arrow(
    relation: ParquetRelation | RowsRelation | JdbcRelation | AppendedRows | SentRelation,
    catalogs: Catalogs,
    remote: Mapping[str, RemoteReads],
) -> ArrowStream:
    match relation:
        case ParquetRelation():
            dataset: object = ds.dataset(list(relation.paths), format="parquet")
            return cast(ArrowStream, dataset)
        case JdbcRelation():
            return remote[relation.catalog].rows(relation)
        case AppendedRows() | SentRelation():
            raise AssertionError("only Spark is asked for them")
        case RowsRelation():
            return asked_before(catalogs.capabilities(relation.catalog).rows).read(relation)
