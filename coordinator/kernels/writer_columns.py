"""How the columns of an output file are written: dictionaries, Arrow's options, and the counts of NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .errors import reading
from .reader import dictionary_columns
from .schema import FieldJson, Leaf, arrow_field
from .tasks import Output, WriteTask

_PLAIN_DICTIONARY = 2 << 20
"""Bytes of a dictionary where a table asks for nothing."""


def nan_counts_of(table: pa.Table, floating: Sequence[Leaf]) -> dict[str, int]:
    """By field id, of columns of floating point."""
    found = {}
    for leaf in floating:
        assert leaf.names is not None
        column = table.column(leaf.names[0])
        if len(leaf.names) > 1:
            column = pc.struct_field(column, list(leaf.names[1:]))
        found[str(leaf.id)] = pc.sum(pc.is_nan(column)).as_py() or 0
    return found


def dictionaries(task: WriteTask) -> tuple[set[str], set[str]]:
    """Paths worth a dictionary, and the top-level text columns among them that can stay dictionaries in memory."""
    if not task.inputs:
        return set(), set()
    first = task.inputs[0]
    with reading(first.path):
        worth, text = dictionary_columns(first, task.storage)
    if task.output.dictionary_bytes < _PLAIN_DICTIONARY:
        return worth, set()  # what comes as a dictionary is written as one, however large
    columns = {field["name"] for field in task.fields if field["type"] == "string"}
    return worth, text & columns


def writer_field(field: FieldJson, text: set[str]) -> pa.Field:
    """The Arrow field that is written, a dictionary for the columns of ``text``."""
    made = arrow_field(field)
    return made.with_type(pa.dictionary(pa.int32(), pa.string())) if field["name"] in text else made


def fitted(array: pa.Array, field: pa.Field) -> pa.Array:
    """Dictionary or plain as the file's writer wants it; files may differ in names and so in what was kept."""
    is_dictionary = pa.types.is_dictionary(array.type)
    if pa.types.is_dictionary(field.type) == is_dictionary:
        return array
    return array.dictionary_decode() if is_dictionary else array.dictionary_encode()


def writer_options(output: Output, worth: list[str], fields: Sequence[Leaf]) -> dict[str, Any]:
    measured = [leaf.path for leaf in fields if leaf.id not in output.without_statistics]
    return {
        "compression": None if output.codec in ("none", "uncompressed") else output.codec,
        "compression_level": output.level,
        "use_dictionary": worth or False,
        "dictionary_pagesize_limit": output.dictionary_bytes,
        "data_page_size": output.page_bytes,
        "max_rows_per_page": output.page_rows,
        "write_page_index": True,
        "write_statistics": True if len(measured) == len(fields) else measured or False,
        "data_page_version": output.page_version,
        "store_schema": False,
        "version": "2.6",
        "bloom_filter_options": {
            path: {"ndv": values, "fpp": share} for path, (values, share) in output.bloom_filters.items()
        }
        or None,
    }
