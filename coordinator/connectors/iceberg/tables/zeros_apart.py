"""Rows whose partitions are two by their bits and one by comparison, in tables of their own.

PyIceberg finds the rows of each partition by comparing: those of 0.0 and -0.0 would be written for both of them, and
those of NaN for none.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import _get_field_from_arrow_table
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, FloatType


def zeros_apart(rows: pa.Table, schema: Schema, spec: PartitionSpec) -> Iterator[pa.Table]:
    """The rows of a table once. Raises NotImplementedError for a partition NaN."""
    names = [
        str(schema.find_column_name(field.source_id))
        for field in spec.fields
        if isinstance(schema.find_type(field.source_id), FloatType | DoubleType)
    ]
    parts = [rows]
    for name in names:
        parts = [piece for part in parts for piece in _by_sign(part, name)]
    yield from parts


def _by_sign(rows: pa.Table, name: str) -> list[pa.Table]:
    values = _get_field_from_arrow_table(rows, name).to_numpy()
    valid = ~np.asarray(_get_field_from_arrow_table(rows, name).is_null())
    if np.isnan(values[valid]).any():
        raise NotImplementedError("NaN is a partition of its own, which PyIceberg does not write")
    below = (values == 0) & np.signbit(values)
    if not below.any() or below.all():
        return [rows]
    return [rows.filter(pa.array(~below)), rows.filter(pa.array(below))]
