"""Partitions in words."""

from __future__ import annotations

from datetime import time
from typing import Any
from urllib.parse import quote_plus

import numpy as np
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec, _to_partition_representation
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, HourTransform, Transform
from pyiceberg.typedef import Record
from pyiceberg.types import DateType, IcebergType, TimeType, UnknownType
from pyiceberg.utils.datetime import time_to_micros


def _stored_time(_type: IcebergType, value: object) -> object:
    """PyIceberg expects a time here, also of the number that a bucket is."""
    return time_to_micros(value) if isinstance(value, time) else value


_to_partition_representation.register(TimeType)(_stored_time)


def partition_values(file: DataFile, spec: PartitionSpec, schema: Schema) -> list[tuple[str, str]]:
    """Names of partition fields with their values as people write them; empty for an unpartitioned file."""
    found = []
    for position, field in enumerate(spec.fields):
        value = file.partition[position]
        try:
            kind = schema.find_type(field.source_id)
        except ValueError:  # the source column was dropped
            kind = UnknownType()
        found.append((field.name, shown_value(field.transform, kind, value)))
    return found


def partition_path(values: Record, spec: PartitionSpec, schema: Schema) -> str:
    """The folder of a partition below a table's data, as Iceberg names it."""
    types = spec.partition_type(schema).fields
    parts = [
        (field.name, shown_value(field.transform, kind.field_type, values[position]))
        for position, (field, kind) in enumerate(zip(spec.fields, types, strict=True))
    ]
    return "/".join("=".join(quote_plus(part, safe="") for part in pair) for pair in parts)


def shown_value(transform: Transform[Any, Any], type_: IcebergType, value: Any) -> str:
    """A value of a partition field as people write it; ``type_`` is that of the column or of the field."""
    if isinstance(type_, UnknownType):
        return "null" if value is None else str(value)
    try:
        return transform.to_human_string(type_, value)
    except OverflowError:  # behind the year 9999, where Python has no dates
        if isinstance(transform, HourTransform):
            return str(np.datetime64(int(value), "h")).replace("T", "-")
        days = isinstance(transform, DayTransform) or isinstance(type_, DateType)
        return str(np.datetime64(int(value), "D" if days else "us"))


def partition_text(file: DataFile, spec: PartitionSpec, schema: Schema) -> str:
    """``region=EU/day=2026-01-31``, or the empty text."""
    return "/".join(f"{name}={value}" for name, value in partition_values(file, spec, schema))
