"""Partitions in words."""

from __future__ import annotations

from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import UnknownType


def partition_values(file: DataFile, spec: PartitionSpec, schema: Schema) -> list[tuple[str, str]]:
    """Names of partition fields with their values as people write them; empty for an unpartitioned file."""
    found = []
    for position, field in enumerate(spec.fields):
        value = file.partition[position]
        try:
            kind = schema.find_type(field.source_id)
        except ValueError:  # the source column was dropped
            kind = UnknownType()
        text = str(value) if isinstance(kind, UnknownType) else field.transform.to_human_string(kind, value)
        found.append((field.name, text))
    return found


def partition_text(file: DataFile, spec: PartitionSpec, schema: Schema) -> str:
    """``region=EU/day=2026-01-31``, or the empty text."""
    return "/".join(f"{name}={value}" for name, value in partition_values(file, spec, schema))
