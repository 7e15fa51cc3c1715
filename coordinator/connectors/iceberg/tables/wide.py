"""Tables of many columns: Parquet's writers keep a dictionary for each column, which must fit into memory together.

Java's writer takes some eight bytes of heap for each byte of a dictionary that it has not given up yet, and by default
up to 2 MB of each column: 200 columns of texts that do not repeat take 3 GB for each task.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.schema import Schema
from pyiceberg.types import PrimitiveType

DICTIONARY = "write.parquet.dict-size-bytes"
_ALL_DICTIONARIES = 32 << 20
_DEFAULT = 1 << 20
"""From which size on a dictionary is left as it is: few tables have columns that all repeat so little."""
_LEAST = 16 << 10


def writer_properties(schema: Schema, given: Mapping[str, str]) -> dict[str, str]:
    """What a table with this schema needs beyond the properties that it is given."""
    leaves = sum(isinstance(schema.find_type(number), PrimitiveType) for number in schema.field_ids)
    size = max(_LEAST, _ALL_DICTIONARIES // max(leaves, 1))
    if size >= _DEFAULT or DICTIONARY in given or given.get("write.format.default", "parquet").lower() != "parquet":
        return {}
    return {DICTIONARY: str(size)}
