"""Scans that DuckDB reads by itself, with its own pruning and late materialization, where that gives the same rows.

Files whose columns are there by field id, stored in the very types that the query wants (``column_types``), on this
machine's disks and in object stores (``store_files``); rows that are deleted leave by number. Everything else comes
through the kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from coordinator.engine.embedded.column_types import FLOATING, duckdb_type, is_shown_as_stored, is_stored_as
from coordinator.engine.embedded.row_deletes import FILE, ROW
from coordinator.engine.embedded.sql_text import identifier, text
from coordinator.engine.embedded.store_files import StoreFiles, database_path
from coordinator.kernels.equality_rows import known_files
from coordinator.kernels.errors import reading
from coordinator.kernels.file_scan import FileScan
from coordinator.kernels.lineage import DELETED, LAST_UPDATED, NEVER_STORED, POSITION, ROW_ID
from coordinator.kernels.row_groups_needed import footer_of, with_needed_groups
from coordinator.kernels.schema import FieldJson, field_id
from coordinator.kernels.storage import is_local, resolve
from coordinator.kernels.tasks import Input

_GLOBS = frozenset("*?[]{}")
_OTHERWISE = ""
"""In place of the name of a column that the kernels read; files have none without a name."""
Names = tuple[str | None, ...]
"""Columns of a file, in the order of a scan's fields; None for those that it lacks."""


class Alike(NamedTuple):
    """Files that one ``read_parquet`` reads: what they call the columns, and whether rows of them are deleted."""

    names: Names
    deleted: bool


_LEAST_SHARE = 4
"""One in so many rows of a file has to be needed for the deleted ones to be looked for in all of it."""


def parquet_files(scan: FileScan, store: StoreFiles) -> dict[Alike, list[Input]]:
    """The files of a scan that DuckDB may read by itself, those of object stores by ``store``. Raises KernelError."""
    wanted = [duckdb_type(field["type"]) for field in scan.task.fields]
    found: dict[Alike, list[Input]] = {}
    if wanted and None not in wanted and all(is_shown_as_stored(f["type"], kind) for f, kind in _asked(scan)):
        able = _with_known_deletes(
            scan, [item for item in scan.task.inputs if not (item.groups or _GLOBS & set(item.path))]
        )
        store.add([item for item in able if not is_local(item.path)], scan.task.storage)
        for item in able:
            names = _names(item, scan)
            if names is not None and (is_local(item.path) or _held(item, scan, names) <= store.most_group_bytes):
                found.setdefault(Alike(names, bool(item.positions or item.equality)), []).append(item)
    return found


def _with_known_deletes(scan: FileScan, items: Sequence[Input]) -> list[Input]:
    """Those of which it is known, or worth finding out, which rows equality deletes take out."""
    asked = [item for item in items if item.equality]
    known = dict(zip((item.path for item in asked), known_files(scan.task, asked), strict=True))
    return [item for item in items if known.get(item.path, True) or _needs_most(scan, item)]


def _needs_most(scan: FileScan, item: Input) -> bool:
    """Whether enough of a file's rows are read, which the kernels read from the first one on, by row groups."""
    if scan.first_rows:
        return False
    parts = with_needed_groups(replace(scan.task, inputs=[item]), scan.ranges).inputs
    footer = footer_of(item, scan.task.storage)
    groups = [number for part in parts for number in range(*(part.groups or (0, footer.num_row_groups)))]
    needed = sum(int(footer.row_group(number).num_rows) for number in groups)
    return _LEAST_SHARE * needed >= int(footer.num_rows)


def _asked(scan: FileScan) -> Iterator[tuple[FieldJson, pa.DataType]]:
    """The columns as they are stored and as they are wanted; nothing where rows are only counted."""
    return zip(scan.task.fields, scan.schema.types, strict=False)


def parquet_sql(scan: FileScan, names: Names, files: Sequence[Input], without: str = "") -> str:
    """``SELECT`` of the scan's columns over files that call them ``names``; ``without`` says which rows stay away.

    By name: given a schema by field id, DuckDB knows nothing of how many rows there are, and joins in a bad order.
    """
    columns = ", ".join(
        f"CAST({_column(stored, field, files)} AS {duckdb_type(field['type'])}) AS {identifier(name)}"
        for stored, field, name in zip(names, scan.task.fields, scan.schema.names, strict=True)
    )
    paths = ", ".join(text(path_in_sql(item, scan)) for item in files)
    rows = f"read_parquet([{paths}], hive_partitioning=false) AS stored"
    return f"SELECT {columns} FROM {rows} {without}".rstrip()  # noqa: S608 - quoted


def _column(stored: str | None, field: FieldJson, files: Sequence[Input]) -> str:
    if field["id"] == POSITION:
        return f"stored.{ROW}"
    if field["id"] in NEVER_STORED:
        values = [item.constants[str(field["id"])] for item in files]
        each = ", ".join(text(value) if isinstance(value, str) else str(int(value)) for value in values)
        return f"([{each}])[CAST(stored.{FILE} AS BIGINT) + 1]"
    if stored is None:
        return "NULL"
    found = f"stored.{identifier(stored)}"
    # Arrow's statistics leave NaN out, and DuckDB takes row groups for free of it that have any: from 2.0 on.
    return f"CASE WHEN isnan({found}) THEN 'NaN' ELSE {found} END" if field["type"] in FLOATING else found


def files_sql(paths: Sequence[str]) -> str:
    """``SELECT`` of all columns of Parquet files that are alike."""
    return f"SELECT * FROM read_parquet([{', '.join(map(text, paths))}], hive_partitioning=false)"  # noqa: S608 - quoted


def path_in_sql(item: Input, scan: FileScan) -> str:
    """What the database calls a file."""
    return str(resolve(item.path, scan.task.storage)[1]) if is_local(item.path) else database_path(item.path)


def _names(item: Input, scan: FileScan) -> Names | None:
    """What the file calls the columns; None for a file that DuckDB would not read as the table means it."""
    path = item.path
    with reading(path):
        footer = footer_of(item, scan.task.storage)
        fields = list(footer.schema.to_arrow_schema())
    names = {field.name.lower() for field in fields}
    asks_for_place = any(field["id"] in NEVER_STORED for field in scan.task.fields)
    if len(names) < len(fields) or ((item.positions or asks_for_place) and names & {FILE, ROW}):
        return None  # DuckDB would call one of them otherwise
    stored = {field_id(field): field for field in fields}
    if None in stored:
        return None  # a name mapping says which column is which
    paths = [footer.schema.column(i).path for i in range(footer.num_columns)]
    found = [_name(stored.get(field["id"]), paths, field, item) for field in scan.task.fields]
    return None if _OTHERWISE in found else tuple(found)


def _held(item: Input, scan: FileScan, names: Names) -> int:
    """Bytes of these columns in the largest row group of a file."""
    footer = footer_of(item, scan.task.storage)
    groups = map(footer.row_group, range(footer.num_row_groups))
    paths = [footer.schema.column(i).path for i in range(footer.num_columns)]
    columns = [i for i, path in enumerate(paths) if any(name and _is_part(path, name) for name in names)]
    return max((sum(group.column(i).total_compressed_size for i in columns) for group in groups), default=0)


def _is_part(path: str, name: str) -> bool:
    """Whether a leaf belongs to a column of the top."""
    return path == name or path.startswith(f"{name}.")


def _name(stored: Any, paths: Sequence[str], field: FieldJson, item: Input) -> str | None:
    """What the file calls the column; None for one that it lacks and that is NULL then."""
    if field["id"] in (ROW_ID, LAST_UPDATED, DELETED):
        return _OTHERWISE
    if field["id"] in NEVER_STORED:
        return None
    if stored is not None:
        own = [path for path in paths if _is_part(path, stored.name)]
        return str(stored.name) if is_stored_as(stored, own, field) else _OTHERWISE
    filled = str(field["id"]) in item.constants or field.get("initial-default") is not None
    return _OTHERWISE if filled else None
