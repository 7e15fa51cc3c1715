"""Folders of Parquet files, in Hive's layout of partitions, as files that an Iceberg table can take in as they are.

Sources: Spark's partition discovery (``PartitioningUtils``), Iceberg's ``TableMigrationUtil``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from itertools import islice
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.types import DateType, IcebergType, IntegerType, LongType, StringType

from coordinator.connectors.iceberg.maintenance.listing import FoundFile, walk
from shared.errors import ErrorCode, ProcessionError

_NULL = "__HIVE_DEFAULT_PARTITION__"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER = re.compile(r"[+-]?\d{1,19}")
_THREADS = 8
_AT_ONCE = 64
Value = str | None
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A data file and the partition values in its path, as text."""

    location: str
    size: int
    partition: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A data file with its footer."""

    file: FolderFile
    footer: pq.FileMetaData


def list_folder(io: FileIO, folder: str) -> list[FolderFile]:
    """The data files, sorted; names that begin with _ or . are no data.

    Raises ProcessionError when the folder has none, or files lie in different depths of partitions.
    """
    root = folder.rstrip("/")
    found = sorted((_file(file, root) for file in walk(io, root, hidden=_hidden)), key=lambda file: file.location)
    if not found:
        raise ProcessionError(ErrorCode.NOT_FOUND, f"No data files in {folder}")
    layouts = {tuple(name for name, _ in file.partition) for file in found}
    if len(layouts) > 1:
        listed = ", ".join("/".join(layout) or "none" for layout in sorted(layouts))
        message = f"Files of {folder} are partitioned differently: {listed}"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return found


def _hidden(name: str) -> bool:
    return name[:1] == "." or (name[:1] == "_" and "=" not in name)


def _file(found: FoundFile, root: str) -> FolderFile:
    folders = found.location[len(root) + 1 :].split("/")[:-1]
    pairs = [folder.partition("=") for folder in folders if "=" in folder]
    partition = tuple((unquote(name), None if value == _NULL else unquote(value)) for name, _, value in pairs)
    return FolderFile(found.location, found.size, partition)


def read_footers(
    io: FileIO, files: Sequence[FolderFile], progress: Progress, *, parallelism: int | None = None, may_miss: bool
) -> list[ParquetFile]:
    """Each file with its footer; with ``may_miss``, without those that are gone since they were listed.

    Raises ProcessionError naming the file that is no Parquet.
    """
    read: list[ParquetFile] = []
    waiting = iter(files)
    with ThreadPoolExecutor(parallelism or _THREADS) as pool:
        while batch := list(islice(waiting, _AT_ONCE)):
            progress(len(read), len(files))
            found = pool.map(lambda file: _with_footer(io, file, may_miss=may_miss), batch)
            read += [file for file in found if file is not None]
    return read


def _with_footer(io: FileIO, file: FolderFile, *, may_miss: bool) -> ParquetFile | None:
    try:
        with io.new_input(file.location).open() as stream:
            return ParquetFile(file, pq.read_metadata(stream))
    except FileNotFoundError as error:
        if may_miss:
            return None
        raise ProcessionError(ErrorCode.ICEBERG_MISSING_DATA, f"File is missing: {file.location}") from error
    except pa.ArrowInvalid as error:
        message = f"Not a Parquet file: {file.location} ({str(error).splitlines()[0]})"
        raise ProcessionError(ErrorCode.ICEBERG_BAD_DATA, message) from error


def partition_types(files: Sequence[FolderFile]) -> dict[str, IcebergType]:
    """The type of each partition column, told by its values: int, long, date, else string."""
    values: dict[str, set[Value]] = {}
    for file in files:
        for name, value in file.partition:
            values.setdefault(name, set()).add(value)
    return {name: _type({value for value in found if value is not None}) for name, found in values.items()}


def _type(values: set[str]) -> IcebergType:
    if values and all(_NUMBER.fullmatch(value) for value in values):
        numbers = [int(value) for value in values]
        for bits, kind in ((31, IntegerType()), (63, LongType())):
            if all(-(1 << bits) <= number < 1 << bits for number in numbers):
                return kind
    if values and all(_is_date(value) for value in values):
        return DateType()
    return StringType()


def _is_date(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def partition_value(value: Value, type_: IcebergType) -> object:
    """A value of a path as manifests hold it; raises ValueError for one that is not of the type."""
    match type_:
        case _ if value is None:
            return None
        case IntegerType() | LongType():
            return int(value)
        case DateType():
            return (date.fromisoformat(value) - date(1970, 1, 1)).days
        case StringType():
            return value
        case _:
            raise ValueError(f"partition column of type {type_}")


def arrow_schema(files: Sequence[ParquetFile]) -> pa.Schema:
    """The columns of all files by name, in the order in which they first appear; every one may be NULL.

    Raises ProcessionError where files disagree beyond what Iceberg promotes, and for files with field ids.
    """
    fields: dict[str, tuple[pa.Field, str]] = {}
    for file in files:
        for field in _columns(file):
            known = fields.get(field.name)
            if known is None:
                fields[field.name] = field, file.file.location
            elif (wider := _wider(known[0].type, field.type)) is not None:
                fields[field.name] = known[0].with_type(wider), known[1]
            else:
                message = (
                    f"Column {field.name} is {known[0].type} in {known[1]} and {field.type} in {file.file.location}"
                )
                raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return pa.schema([field.with_nullable(True) for field, _ in fields.values()])


def _columns(file: ParquetFile) -> Iterator[pa.Field]:
    schema = file.footer.schema.to_arrow_schema()
    legacy = int96_columns(file.footer)
    for field in schema:
        if _has_id(field):
            message = f"File has field ids, which may not be the table's: {file.file.location}"
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
        if (lacking := _without_iceberg_type(field.type)) is not None:
            message = f"Column {field.name} has the type {lacking}, which Iceberg lacks: {file.file.location}"
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
        # Spark and Hive write moments so.
        yield field.with_type(pa.timestamp("us", "UTC")) if field.name in legacy else field.remove_metadata()


def _without_iceberg_type(type_: pa.DataType) -> pa.DataType | None:
    """An unsigned type whose upper half would be read as negative numbers; PyIceberg converts it all the same."""
    if type_ in (pa.uint32(), pa.uint64()):
        return type_
    parts = (_without_iceberg_type(type_.field(i).type) for i in range(type_.num_fields))
    return next((part for part in parts if part is not None), None)


def int96_columns(footer: pq.FileMetaData) -> set[str]:
    """Top-level columns that are stored as INT96."""
    columns = (footer.schema.column(i) for i in range(len(footer.schema)))
    return {column.path.split(".")[0] for column in columns if column.physical_type == "INT96"}


def _has_id(field: pa.Field) -> bool:
    number = (field.metadata or {}).get(b"PARQUET:field_id")
    return number is not None and int(number) >= 0


def _wider(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type of both where Iceberg promotes one to the other."""
    if left == right:
        return left
    for narrow, wide in ((left, right), (right, left)):
        if (narrow, wide) in ((pa.int32(), pa.int64()), (pa.float32(), pa.float64())):
            return wide
        if pa.types.is_decimal(narrow) and pa.types.is_decimal(wide) and narrow.scale == wide.scale:
            return max(left, right, key=lambda kind: kind.precision)
    return None
