"""Footers that contradict themselves, found before pyarrow is asked what they say of a column.

pyarrow ends its process there, where reading the column would be an error: whose process must not end looks here first.
Source: parquet.thrift (ColumnMetaData, Statistics, SizeStatistics, Repetition).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .errors import KernelError, reading
from .footer import Readable, read_footer
from .probe import CODECS
from .storage import resolve
from .tasks import Input
from .thrift import BINARY, I32, I64, LIST, STRUCT, Struct

_ELEMENTS, _GROUPS, _CHUNKS, _META = 2, 4, 1, 3
_TYPE, _LENGTH, _REPETITION, _CHILDREN = 1, 2, 3, 5
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
_CODEC, _STATISTICS, _SIZES = 4, 12, 16
_BOUNDS = (1, 2, 5, 6)
"""Of Statistics: max, min, max_value, min_value."""
_TEXT_BYTES, _REPETITION_LEVELS, _DEFINITION_LEVELS = 1, 2, 3
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
"""Of a value by physical type; BYTE_ARRAY has none."""
_BYTE_ARRAY, _FIXED = 6, 7


def require_sound(item: Input, storage: Mapping[str, str]) -> None:
    """Raises KernelError for a file whose footer says what cannot be."""
    filesystem, path = resolve(item.path, storage)
    with reading(item.path), filesystem.open_input_file(path) as source:
        _require_sound(source, source.size(), item.path)


def _require_sound(source: Readable, size: int, path: str) -> None:
    try:
        footer = read_footer(source, size)
        leaves = list(_leaves(_structs(footer, _ELEMENTS)))
        problems = [problem for group in _structs(footer, _GROUPS) for problem in _problems(group, leaves)]
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise KernelError("ICEBERG_BAD_DATA", f"File cannot be read: {path}: its footer is broken") from error
    if problems:
        raise KernelError("ICEBERG_BAD_DATA", f"File cannot be read: {path}: {problems[0]}")


def _has(fields: Struct, number: int, wire: int) -> bool:
    """Raises ValueError for a field of another type, which Arrow passes over."""
    if number in fields and fields[number][0] != wire:
        raise ValueError
    return number in fields


def _number(fields: Struct, number: int, default: int) -> int:
    return int(fields[number][1]) if _has(fields, number, I32) else default


def _struct(fields: Struct, number: int) -> Struct:
    found: Struct = fields[number][1] if _has(fields, number, STRUCT) else {}
    return found


def _structs(fields: Struct, number: int) -> list[Struct]:
    found: list[Struct] = fields[number][1][1] if _has(fields, number, LIST) else []
    if found and fields[number][1][0] != STRUCT:
        raise ValueError
    return found


def _length(fields: Struct, number: int) -> int:
    """Of a list of numbers."""
    if not _has(fields, number, LIST):
        return 0
    element, values = fields[number][1]
    if values and element != I64:
        raise ValueError
    return len(values)


def _leaves(elements: Sequence[Struct]) -> Iterator[tuple[int, int, int, int]]:
    """Of the columns of a schema type, least length of values, and most of repetition and definition levels."""
    above: list[list[int]] = []  # of each group around: children to come, repetition and definition levels
    for place, element in enumerate(elements):
        while above and not above[-1][0]:
            above.pop()
        repeated, defined = above[-1][1:] if above else (0, 0)
        if above:
            above[-1][0] -= 1
        repetition = _number(element, _REPETITION, 0) if place else 0
        if repetition not in (_REQUIRED, _OPTIONAL, _REPEATED):
            raise ValueError
        repeated, defined = repeated + (repetition == _REPEATED), defined + (repetition != _REQUIRED)
        if children := _number(element, _CHILDREN, 0):
            above.append([children, repeated, defined])
        else:
            physical = _number(element, _TYPE, -1)
            fixed = _number(element, _LENGTH, 0)
            yield physical, fixed if physical == _FIXED else _WIDTHS.get(physical, 0), repeated, defined


def _problems(group: Struct, leaves: Sequence[tuple[int, int, int, int]]) -> Iterator[str]:
    """What is wrong with the columns of a row group."""
    chunks = _structs(group, _CHUNKS)
    if len(chunks) != len(leaves):
        yield "a row group has other columns than the schema"
        return
    for chunk, (physical, width, repeated, defined) in zip(chunks, leaves, strict=True):
        meta = _struct(chunk, _META)
        if _number(meta, _TYPE, -1) != physical:
            yield "a column has another type than in the schema"
        if _number(meta, _CODEC, -1) not in range(len(CODECS)):
            yield "a column has an unknown codec"
        bounds = _struct(meta, _STATISTICS)
        if any(_has(bounds, number, BINARY) and len(bounds[number][1]) < width for number in _BOUNDS):
            yield "bounds of a column are shorter than its values"
        sizes = _struct(meta, _SIZES)
        if _TEXT_BYTES in sizes and physical != _BYTE_ARRAY:
            yield "a column without texts has a size of texts"
        for number, levels in ((_REPETITION_LEVELS, repeated), (_DEFINITION_LEVELS, defined)):
            if _length(sizes, number) not in (0, levels + 1):
                yield "sizes of a column are told for other levels than it has"
