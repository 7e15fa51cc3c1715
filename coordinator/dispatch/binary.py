"""Arrow batches as Presto's SerializedPages, for clients that ask for ``binaryResults``."""

from __future__ import annotations

import base64
import ipaddress
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pyarrow as pa

from coordinator.kernels.functions.zones import zone_of
from shared.errors import ErrorCode, ProcessionError
from shared.plan.serialized_page import serialize_page
from shared.plan.types import Type


def encode_page(batch: pa.RecordBatch, types: tuple[Type, ...]) -> bytes:
    """The batch as a JSON string of a base64 page; raises ProcessionError for values that no block can hold."""
    try:
        columns = [
            (str(presto_type), [_constant(value, presto_type) for value in column.to_pylist()])
            for column, presto_type in zip(batch.columns, types, strict=True)
        ]
        page = serialize_page(columns, batch.num_rows)
    except (ValueError, KeyError) as error:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Binary results cannot hold a value: {error}") from error
    return b'"' + base64.b64encode(page) + b'"'


def _constant(value: Any, presto_type: Type) -> object:
    """What Arrow gives for a cell as ``shared.plan.blocks`` takes it."""
    if value is None:
        return None
    match presto_type.base:
        case "array":
            return tuple(_constant(item, presto_type.arguments[0]) for item in value)
        case "map":
            key, item = presto_type.arguments
            return {_constant(k, key): _constant(v, item) for k, v in value}
        case "row":
            return tuple(_constant(v, t) for v, t in zip(value.values(), presto_type.arguments, strict=True))
        case "uuid":
            return UUID(bytes=value) if isinstance(value, bytes) else UUID(value)
        case "ipaddress":
            return ipaddress.ip_address(value)
        case "ipprefix":
            return ipaddress.ip_network(value, strict=False)
        case "interval day to second" if isinstance(value, int):
            return timedelta(milliseconds=value)
        case "timestamp with time zone" if isinstance(value, str):
            instant, _, zone = value.rpartition(" ")
            return datetime.fromisoformat(instant).replace(tzinfo=zone_of(zone))
        case _:
            return value
