"""Rows of a batch as JSON text, through Python's values."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pyarrow as pa

from coordinator.dispatch.cells import Cells, encode_column
from shared.plan.types import Type

_encode_json = msgspec.json.Encoder().encode


def encode_rows(batch: pa.RecordBatch, types: tuple[Type, ...], nested_as_text: bool) -> bytes:
    """The rows as JSON arrays joined by commas, without the enclosing brackets; empty for no rows.

    Raises pyarrow.ArrowInvalid when values do not fit their type.
    """
    if not types:
        return b",".join([b"[]"] * batch.num_rows)
    columns: Iterator[Cells] = (
        encode_column(column, presto_type, nested_as_text)
        for column, presto_type in zip(batch.columns, types, strict=True)
    )
    return _encode_json(list(zip(*columns, strict=True)))[1:-1]
