"""Bounds of columns as manifests tell them: anybody's bytes."""

from __future__ import annotations

import struct
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.types import IcebergType, PrimitiveType

from coordinator.connectors.iceberg.opaque_types import is_opaque


def bound_value(type_: IcebergType, encoded: bytes | None) -> Any:
    """The value as Iceberg counts it; None where there is none, or bytes that are no value of the type."""
    if encoded is None or not isinstance(type_, PrimitiveType) or is_opaque(type_):
        return None
    try:
        return from_bytes(type_, encoded)
    except (struct.error, ValueError, OverflowError):
        return None
