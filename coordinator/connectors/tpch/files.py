"""The cache of generated tables: Parquet files with Presto's names and types, made by ``tpchgen-cli`` once.

A file is there in full or not at all: it is written under another name and moved. Processes that want the same table
at the same time wait for the one that makes it, by a lock that ends with its process.
"""

from __future__ import annotations

import fcntl
import math
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coordinator.connectors.tpch.tables import Table, about_rows
from shared.errors import ErrorCode, ProcessionError

_ROWS_PER_FILE = 6_000_000
_MAX_FILES = 1_000
_GENERATOR = "tpchgen-cli"
_POLL_SECONDS = 0.02
_SPARE_BYTES = 1 << 30
ColumnsOf = Callable[[Table], Mapping[str, str]]
"""The columns of a table by name, with their Presto types."""

_ARROW = {"bigint": pa.int64(), "integer": pa.int32(), "double": pa.float64(), "date": pa.date32()}


def file_names(home: Path, table: Table, scale: float) -> tuple[Path, ...]:
    """The files of a table, whether or not they are there: one for each six million rows, and at most a thousand."""
    parts = min(max(1, math.ceil(about_rows(table, scale) / _ROWS_PER_FILE)), _MAX_FILES)
    folder = home / f"sf{scale:g}"
    if parts == 1:
        return (folder / f"{table.name}.parquet",)
    return tuple(folder / f"{table.name}-{part:05d}-of-{parts:05d}.parquet" for part in range(1, parts + 1))


def size_bytes(table: Table, scale: float) -> int:
    """What the files take on disk, about."""
    return about_rows(table, scale) * table.bytes_per_row


def generate(
    home: Path, tables: Sequence[Table], scale: float, columns: ColumnsOf, check_cancelled: Callable[[], None]
) -> None:
    """Make those files of ``tables`` that are not there.

    Blocks. Raises ProcessionError when there is no room, or the generator fails or is missing.
    """
    folder = home / f"sf{scale:g}"
    if not _missing(home, tables, scale):
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / ".lock", check_cancelled):
            missing = _missing(home, tables, scale)
            _require_room(folder, missing, scale)
            for part, parts in sorted({(p.number, p.count) for p in missing}):
                made = [p for p in missing if (p.number, p.count) == (part, parts)]
                _generate(made, scale, columns, check_cancelled)
    except OSError as error:
        message = f"TPC-H tables of scale {scale:g} cannot be generated: {error.strerror}"
        raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, message) from error


@dataclass(frozen=True, slots=True)
class _Part:
    """The ``number``-th (from 1) of ``count`` files of a table."""

    table: Table
    number: int
    count: int
    file: Path


def _missing(home: Path, tables: Sequence[Table], scale: float) -> list[_Part]:
    parts = []
    for table in tables:
        files = file_names(home, table, scale)
        parts += [_Part(table, n, len(files), f) for n, f in enumerate(files, start=1) if not f.exists()]
    return parts


@contextmanager
def _locked(file: Path, check_cancelled: Callable[[], None]) -> Iterator[None]:
    with file.open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                check_cancelled()
                time.sleep(_POLL_SECONDS)
        yield


def _require_room(folder: Path, missing: Sequence[_Part], scale: float) -> None:
    wanted = sum(size_bytes(part.table, scale) // part.count for part in missing)
    free = shutil.disk_usage(folder).free
    if wanted > _SPARE_BYTES and wanted + _SPARE_BYTES > free:
        message = f"TPC-H at scale {scale:g} takes about {wanted >> 20} MB more, and only {free >> 20} MB are free"
        raise ProcessionError(ErrorCode.GENERIC_INSUFFICIENT_RESOURCES, message)


def _generate(missing: Sequence[_Part], scale: float, columns: ColumnsOf, check_cancelled: Callable[[], None]) -> None:
    """Parts of the same number, in one run: starting the generator costs a second, whatever it makes."""
    part, folder = missing[0], missing[0].file.parent
    with TemporaryDirectory(prefix=".making-", dir=folder) as scratch:
        names = ",".join(p.table.name for p in missing)
        command = [_generator(), "parquet", "-s", f"{scale:.6f}", "-T", names, "-o", scratch, "-q", "-n", "1"]
        if part.count > 1:
            command += ["--parts", str(part.count), "--part", str(part.number)]
        _run(command, Path(scratch) / "errors", check_cancelled)
        for made in missing:
            (generated,) = Path(scratch).rglob(f"{made.table.name}.*parquet")
            finished = Path(scratch) / "finished"
            _convert(generated, finished, columns(made.table), check_cancelled)
            generated.unlink()
            finished.replace(made.file)


def _generator() -> str:
    beside = Path(sys.executable).with_name(_GENERATOR)
    found = str(beside) if beside.exists() else shutil.which(_GENERATOR)
    if found is None:
        message = f"{_GENERATOR} is not installed: it makes the tables of the tpch connector"
        raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, message)
    return found


def _run(command: list[str], log: Path, check_cancelled: Callable[[], None]) -> None:
    with log.open("wb") as errors, subprocess.Popen(command, stdout=errors, stderr=errors) as process:  # noqa: S603 - of our own words
        try:
            while process.poll() is None:
                check_cancelled()
                time.sleep(_POLL_SECONDS)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        said = log.read_text(errors="replace").strip()[-300:]
        raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, f"{_GENERATOR} failed: {said}")


def _convert(source: Path, target: Path, columns: Mapping[str, str], check_cancelled: Callable[[], None]) -> None:
    """Presto's names and types: prices are doubles, each the nearest to its cents."""
    schema = pa.schema([pa.field(n, _ARROW.get(t, pa.string()), nullable=False) for n, t in columns.items()])
    with pq.ParquetFile(source) as reader, pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for group in range(reader.num_row_groups):
            check_cancelled()
            rows = reader.read_row_group(group)
            arrays = [_converted(column, field.type) for column, field in zip(rows.columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _converted(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if not pa.types.is_decimal(column.type):
        return column.cast(wanted)
    cents = pc.multiply(column, pa.scalar(100, pa.int32())).cast(pa.int64())
    return pc.divide(cents.cast(pa.float64()), 100.0)
