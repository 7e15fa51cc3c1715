"""Constants of a plan and values of the Python kernels: the same values, some in another Python form."""

from __future__ import annotations

from datetime import timedelta, tzinfo
from ipaddress import ip_address, ip_network
from typing import Any
from uuid import UUID

from coordinator.expressions.clock import note_clock
from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.casts import caster
from coordinator.kernels.functions.date_texts import clock_of, clock_text
from shared.errors import ErrorCode, ProcessionError
from shared.plan.types import Type

_MILLISECOND = timedelta(milliseconds=1)
_CLOCK_WITH_ZONE = "time with time zone"
_SAME = frozenset(
    (
        "boolean", "tinyint", "smallint", "integer", "bigint", "real", "double", "decimal", "varchar", "char",
        "varbinary", "json", "date", "time", "timestamp", "timestamp with time zone", "interval year to month",
    )
)  # fmt: skip


def to_kernel(value: Any, type_: Type) -> object:
    """The kernels' form of a value of ``shared.spi.procedure.Arguments``."""
    if value is None or type_.base in _SAME:
        return value
    match type_.base:
        case "array":
            return tuple(to_kernel(v, type_.arguments[0]) for v in value)
        case "row":
            return tuple(to_kernel(v, a) for v, a in zip(value, type_.arguments, strict=True))
        case "map":
            key, item = type_.arguments
            return {to_kernel(k, key): to_kernel(v, item) for k, v in value.items()}
        case "interval day to second":
            return value // _MILLISECOND
        case "time with time zone":
            return clock_text(value, value.tzinfo)
        case "uuid" | "ipaddress" | "ipprefix":
            return str(value)
        case _:
            return value


def from_kernel(value: Any, type_: Type) -> object:
    """The inverse of ``to_kernel``; raises ValueError or OverflowError for what Python cannot hold."""
    if value is None or type_.base in _SAME:
        return value
    match type_.base:
        case "array":
            return tuple(from_kernel(v, type_.arguments[0]) for v in value)
        case "row":
            return tuple(from_kernel(v, a) for v, a in zip(value, type_.arguments, strict=True))
        case "map":
            key, item = type_.arguments
            return {from_kernel(k, key): from_kernel(v, item) for k, v in value.items()}
        case "interval day to second":
            return timedelta(milliseconds=value)
        case "time with time zone":
            clock, zone = clock_of(value)
            return clock.replace(tzinfo=zone)
        case "uuid":
            return UUID(value)
        case "ipaddress":
            return ip_address(value)
        case "ipprefix":
            return ip_network(value, strict=False)
        case _:
            return value


def cast_constant(value: object, source: Type, target: Type, zone: tzinfo) -> object:
    """The value of a cast, both as in ``shared.spi.procedure.Arguments``; raises ProcessionError as Presto does."""
    if value is None or source == target:
        return value
    if _CLOCK_WITH_ZONE in (source.base, target.base):
        # Its distance from UTC is today's.
        note_clock()
    try:
        cast = caster(source, target, zone)
        return from_kernel(cast(to_kernel(value, source)), target)
    except KernelError as error:
        raise raised(error) from error


def raised(error: KernelError) -> ProcessionError:
    """A kernel's error as the coordinator's."""
    return ProcessionError(ErrorCode[error.name], error.message)
