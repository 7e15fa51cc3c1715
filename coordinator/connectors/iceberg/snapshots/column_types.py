"""Whether rows of a snapshot can be read as columns of the table as it is now.

A table that was replaced keeps the ids of columns by their names, whatever their types: its history is read under the
schemas of its own time, and nobody could read it as the table's present.
"""

from __future__ import annotations

from pyiceberg.exceptions import ResolveError
from pyiceberg.schema import promote
from pyiceberg.table import Table
from pyiceberg.types import DecimalType, FloatType, IcebergType, IntegerType, PrimitiveType

from shared.errors import ErrorCode, ProcessionError

_GROWING = (IntegerType, FloatType, DecimalType)


def read_as(written: IcebergType, now: IcebergType) -> bool:
    """Whether values of one type are values of the other: the same one, or a wider number."""
    if written == now or not isinstance(written, _GROWING):
        return written == now
    try:
        return promote(written, now) == now
    except ResolveError:
        return False


def check_types(table: Table, snapshot_id: int) -> None:
    """Raises NOT_SUPPORTED where a column of the snapshot has another type now."""
    snapshot = table.snapshot_by_id(snapshot_id)
    if snapshot is None or snapshot.schema_id is None or snapshot.schema_id == table.schema().schema_id:
        return
    written = table.schemas().get(snapshot.schema_id)
    if written is None:
        return
    now = {number: table.schema().find_type(number) for number in table.schema().field_ids}
    other = [
        written.find_column_name(number) or ""
        for number in written.field_ids
        if number in now and not _fits(written.find_type(number), now[number])
    ]
    if other:
        name = ".".join(table.name())
        message = (
            f"Snapshot {snapshot_id} has other types in columns ({', '.join(other)}) than table {name} has now: bring "
            f"it back by replacing the table by its rows (CREATE OR REPLACE TABLE, FOR VERSION AS OF {snapshot_id})"
        )
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def _fits(written: IcebergType, now: IcebergType) -> bool:
    """Of nested types each field is looked at by itself."""
    if isinstance(written, PrimitiveType) and isinstance(now, PrimitiveType):
        return read_as(written, now)
    return type(written) is type(now)
