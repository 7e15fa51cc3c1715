"""Many rows as JSON text, built by Arrow a column at a time.

A Python object for each value costs as much, and holds the interpreter's lock while it does: with thirty results under
way the server's loop waited for it before every answer. Arrow works without the lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coordinator.dispatch.cells import encode_column, has_json_values
from coordinator.dispatch.json_values import json_values, plain
from shared.plan.types import Type

_encode_json = msgspec.json.Encoder().encode
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
"""The backslash first: the others bring their own."""


@dataclass(frozen=True, slots=True)
class _JsonColumn:
    """``texts`` without NULLs; ``quoted`` when quotation marks have to stand around them."""

    texts: pa.Array
    quoted: bool


def json_rows(columns: Sequence[pa.Array], types: Sequence[Type], nested_as_text: bool) -> pa.Array:
    """Each row as a JSON array with a comma behind it; of at least one column.

    Raises pyarrow.ArrowInvalid when values do not fit their type.
    """
    parts = [_json_column(array, type_, nested_as_text) for array, type_ in zip(columns, types, strict=True)]
    groups = [_joined(quoted, [part.texts for part in group]) for quoted, group in groupby(parts, lambda p: p.quoted)]
    ends = ["[", *[","] * (len(groups) - 1), "],"]
    pieces: list[object] = [ends[0]]
    for group, end in zip(groups, ends[1:], strict=True):
        pieces += (group.texts, end)
    return pc.binary_join_element_wise(*_with_marks(pieces, [group.quoted for group in groups]), "")


def cut(rows: pa.Array, max_rows: int, max_size: int) -> Iterator[tuple[bytes, int]]:
    """``json_rows`` in pieces, without the comma behind each, and of how many rows: at most ``max_rows``, and not over
    ``max_size`` bytes unless one row is.
    """
    ends, data = _ends(rows), memoryview(rows.buffers()[2] or b"")
    first = 0
    while first < len(rows):
        fitting = int(np.searchsorted(ends, int(ends[first]) + max_size, side="right")) - 1
        last = min(max(fitting, first + 1), first + max_rows, len(rows))
        begin = int(ends[first])
        yield bytes(data[begin : int(ends[last]) - 1]), last - first
        first = last


def _joined(quoted: bool, columns: list[pa.Array]) -> _JsonColumn:
    """Neighbours of one kind as one column: a separator they share costs less than one of each."""
    if len(columns) == 1:
        return _JsonColumn(columns[0], quoted)
    return _JsonColumn(pc.binary_join_element_wise(*columns, '","' if quoted else ","), quoted)


def _with_marks(pieces: list[object], quoted: list[bool]) -> list[object]:
    """The quotation marks of quoted groups moved into the literals around them, which stand at even places."""
    marked = list(pieces)
    for number, is_quoted in enumerate(quoted):
        if is_quoted:
            marked[2 * number] = f'{marked[2 * number]}"'
            marked[2 * number + 2] = f'"{marked[2 * number + 2]}'
    return marked


def _ends(texts: pa.Array) -> npt.NDArray[np.int32]:
    """Where each text begins in the data, and where the last one ends."""
    return np.frombuffer(memoryview(texts.buffers()[1] or b""), np.int32)[texts.offset : texts.offset + len(texts) + 1]


def _json_column(array: pa.Array, type_: Type, nested_as_text: bool) -> _JsonColumn:
    array = plain(array)
    made = _texts(json_values(array, type_)) if has_json_values(array, type_) else None
    if made is None:
        cells = encode_column(array, type_, nested_as_text)
        return _JsonColumn(pa.array([_encode_json(cell) for cell in cells], pa.string()), quoted=False)
    if made.texts.null_count == 0:
        return made
    texts = pc.binary_join_element_wise('"', made.texts, '"', "") if made.quoted else made.texts
    return _JsonColumn(pc.fill_null(texts, "null"), quoted=False)


def _texts(values: pa.Array) -> _JsonColumn | None:
    """With NULLs; None for values that Arrow does not write as JSON has them."""
    if pa.types.is_string(values.type):
        texts = _escaped(values)
        return None if texts is None else _JsonColumn(texts, quoted=True)
    texts = _doubles(values) if pa.types.is_floating(values.type) else pc.cast(values, pa.string())
    return None if texts is None else _JsonColumn(texts, quoted=False)


def _doubles(values: pa.Array) -> pa.Array | None:
    """The shortest texts that mean the same double: clients tell 1 and 1.0 apart.

    Whole ones get a ``.0`` but for large ones, which Arrow writes with an exponent.
    """
    if _is_false_once(pc.is_finite(values)):
        return None
    texts, whole = pc.cast(values, pa.string()), pc.equal(pc.floor(values), values)
    if not pc.any(whole).as_py():
        return texts
    bare = pc.and_(whole, pc.invert(pc.match_substring(texts, "e")))
    return pc.if_else(bare, pc.binary_join_element_wise(texts, ".0", ""), texts)


def _is_false_once(truths: pa.Array) -> bool:
    return pc.all(truths).as_py() is False


def _escaped(texts: pa.Array) -> pa.Array | None:
    """None for control characters that have no short escape, and for bytes that are no UTF-8."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return None
    found = _special_bytes(texts)
    if any(byte < 0x20 and chr(byte) not in _ESCAPES for byte in found):
        return None
    for character, escape in _ESCAPES.items():
        if ord(character) in found:
            texts = pc.replace_substring(texts, character, escape)
    return texts


def _special_bytes(texts: pa.Array) -> frozenset[int]:
    """Those of ASCII that JSON escapes and the texts hold; bytes of longer characters are never these."""
    data = texts.buffers()[2]
    if data is None or len(texts) == 0:
        return frozenset()
    ends = _ends(texts)
    held = np.frombuffer(memoryview(data), np.uint8)[int(ends[0]) : int(ends[-1])]
    special = held[(held < 0x20) | (held == ord('"')) | (held == ord("\\"))]
    return frozenset(np.unique(special).tolist())
