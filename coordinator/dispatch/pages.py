"""Result pages: column descriptions, and batches cut into encoded chunks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa

from coordinator.dispatch.binary import encode_page
from coordinator.dispatch.encode import encode_rows
from coordinator.dispatch.json_columns import cut, json_rows
from coordinator.vocabulary.planned_statement import Column
from shared.plan.types import UNBOUNDED_LENGTH, Field, Type, parse_type
from shared.protocol.headers import Family

_MANY = 1000
"""Rows from which Arrow's calls, some five a column, are less than Python's values."""
_AT_ONCE_ROWS, _AT_ONCE = 8192, 4 << 20
"""Rows, and bytes of Arrow, that are text at the same time."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Encoded rows, the unit of buffering: JSON arrays, or one string with a binary page, joined by commas; or one
    message of an Arrow stream.
    """

    data: bytes | memoryview
    rows: int


def encode_batch(
    batch: pa.RecordBatch,
    types: tuple[Type, ...],
    *,
    max_rows: int,
    max_size: int,
    nested_as_text: bool,
    binary: bool = False,
) -> Iterator[Chunk]:
    """Chunks of at most ``max_rows`` rows and about ``max_size`` bytes (a single larger row is a chunk of its own)."""
    if batch.num_rows == 0:
        return
    average = max(1, batch.nbytes // batch.num_rows) + sum(map(_padded, types))
    at_once = min(_AT_ONCE_ROWS, _AT_ONCE // average, batch.num_rows)
    if at_once >= _MANY and types and not binary:
        for start in range(0, batch.num_rows, at_once):
            rows = json_rows(batch.slice(start, at_once).columns, types, nested_as_text)
            yield from (Chunk(data, count) for data, count in cut(rows, max_rows, max_size))
        return
    step = max(1, min(max_rows, max_size // average))
    for start in range(0, batch.num_rows, step):
        part = batch.slice(start, step)
        encoded = encode_page(part, types) if binary else encode_rows(part, types, nested_as_text)
        yield Chunk(encoded, part.num_rows)


def _padded(column_type: Type) -> int:
    """Bytes that clients get of each value however short it is."""
    return column_type.numbers[0] if column_type.base == "char" and column_type.numbers else 0


def describe_columns(columns: Sequence[Column], family: Family) -> bytes:
    """The ``columns`` of QueryResults as JSON."""
    describe = _trino_column if family == "Trino" else _presto_column
    return msgspec.json.encode([describe(column.name, parse_type(column.type)) for column in columns])


def _presto_column(name: str, column_type: Type) -> dict[str, object]:
    return {"name": name, "type": str(column_type), "typeSignature": presto_signature(column_type)}


_DEEPEST_REPEATED = 6
"""Levels of types in types: each doubles what is said, and the text of a row stands in it once more."""


def presto_signature(column_type: Type) -> dict[str, object]:
    """Presto's typeSignature, its two deprecated members included: old clients read those.

    Of types that nest deeply, which would not end otherwise, ``typeArguments`` stays empty.
    """
    is_row = column_type.base == "row"
    repeated = column_type.arguments if column_type.depth <= _DEEPEST_REPEATED else ()
    return {
        "rawType": column_type.base,
        "typeArguments": [presto_signature(argument) for argument in repeated],
        "literalArguments": [field.name for field in column_type.fields] if is_row else [],
        "arguments": [_presto_argument(parameter) for parameter in _parameters(column_type)],
    }


def _presto_argument(parameter: int | Type | Field) -> dict[str, object]:
    match parameter:
        case int():
            return {"kind": "LONG_LITERAL", "value": parameter}
        case Type():
            return {"kind": "TYPE_SIGNATURE", "value": presto_signature(parameter)}
        case Field():
            value: dict[str, object] = {}
            if parameter.name is not None:
                value["fieldName"] = {"name": parameter.name, "delimited": parameter.delimited}
            value["typeSignature"] = str(parameter.type)
            return {"kind": "NAMED_TYPE_SIGNATURE", "value": value}


_WITH_PRECISION = {"time", "timestamp", "time with time zone", "timestamp with time zone"}


def _trino_column(name: str, column_type: Type) -> dict[str, object]:
    return {"name": name, "type": trino_type_text(column_type), "typeSignature": trino_signature(column_type)}


def trino_type_text(column_type: Type) -> str:
    """Trino's spelling: times carry their precision, ``timestamp(3) with time zone``."""
    if column_type.base in _WITH_PRECISION:
        word, _, rest = column_type.base.partition(" ")
        precision = column_type.numbers[0] if column_type.numbers else 3
        return f"{word}({precision}){' ' + rest if rest else ''}"
    if not column_type.arguments:
        return str(column_type)
    return f"{column_type.base}({', '.join(_trino_parameter_text(p) for p in column_type.parameters)})"


def _trino_parameter_text(parameter: int | Type | Field) -> str:
    match parameter:
        case int():
            return str(parameter)
        case Type():
            return trino_type_text(parameter)
        case Field(name=None):
            return trino_type_text(parameter.type)
        case Field():
            escaped = (parameter.name or "").replace('"', '""')
            name = f'"{escaped}"' if parameter.delimited else parameter.name
            return f"{name} {trino_type_text(parameter.type)}"


def trino_signature(column_type: Type) -> dict[str, object]:
    """Trino's typeSignature: shorter kind names, and full signatures inside rows."""
    parameters: tuple[int | Type | Field, ...] = _parameters(column_type)
    if column_type.base in _WITH_PRECISION and not parameters:
        parameters = (3,)
    return {"rawType": column_type.base, "arguments": [_trino_argument(parameter) for parameter in parameters]}


def _trino_argument(parameter: int | Type | Field) -> dict[str, object]:
    match parameter:
        case int():
            return {"kind": "LONG", "value": parameter}
        case Type():
            return {"kind": "TYPE", "value": trino_signature(parameter)}
        case Field():
            value: dict[str, object] = {}
            if parameter.name is not None:
                value["fieldName"] = {"name": parameter.name}
            value["typeSignature"] = trino_signature(parameter.type)
            return {"kind": "NAMED_TYPE", "value": value}


def _parameters(column_type: Type) -> tuple[int | Type | Field, ...]:
    if column_type.base == "varchar" and not column_type.parameters:
        return (UNBOUNDED_LENGTH,)
    return column_type.parameters
