"""Presto types as Arrow types, and rows of Python values as record batches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import pyarrow as pa

from coordinator.kernels.functions import arrow_forms
from coordinator.kernels.functions.arrow_forms import PLAIN
from shared.plan.types import Type, parse_type


class TypedColumn(Protocol):
    """A result column; ``type`` is Presto type text."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...


_RESULTS: dict[str, pa.DataType] = {**PLAIN, "interval day to second": pa.duration("ms"), "unknown": pa.null()}
_SOURCES: dict[str, pa.DataType] = {**_RESULTS, "timestamp with time zone": pa.timestamp("us", "UTC")}


def arrow_type(presto_type: str | Type) -> pa.DataType:
    """The Arrow form of a Presto type between engines and pages; text for every type without one of its own."""
    return arrow_forms.arrow_type(_parsed(presto_type), _RESULTS)


def source_type(presto_type: str | Type) -> pa.DataType:
    """The Arrow form in which connectors give values of a type: those with a time zone are instants."""
    return arrow_forms.arrow_type(_parsed(presto_type), _SOURCES)


def _parsed(presto_type: str | Type) -> Type:
    return parse_type(presto_type) if isinstance(presto_type, str) else presto_type


def rows_to_batch(columns: Sequence[TypedColumn], rows: Sequence[Sequence[object]]) -> pa.RecordBatch:
    """``rows`` of Python values as one batch whose fields are named and typed by ``columns``."""
    arrays = [
        pa.array([_to_arrow(row[i], column.type) for row in rows], arrow_type(column.type))
        for i, column in enumerate(columns)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])


def _to_arrow(value: object, presto_type: str) -> object:
    if isinstance(value, datetime) and value.tzinfo is not None and presto_type == "timestamp with time zone":
        return f"{value.replace(tzinfo=None).isoformat(sep=' ', timespec='milliseconds')} {value.tzinfo}"
    if value is not None and presto_type in ("uuid", "ipaddress", "ipprefix"):
        return str(value)
    return value
