"""Keys of maps that clients send: Arrow does not promise that they differ, and engines disagree where they do not."""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa


def check_keys(array: pa.Array) -> None:
    """Raises ValueError for a map, at any depth, that has a key twice; keys of nested types are not compared."""
    kind = array.type
    if pa.types.is_map(kind):
        _check_map(cast(pa.MapArray, array))
        check_keys(array.items)
    elif pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            check_keys(array.field(i))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        check_keys(array.values)


def _check_map(array: pa.MapArray) -> None:
    if pa.types.is_nested(array.type.key_type) or not len(array):
        return
    offsets = np.asarray(array.offsets)
    keys = array.keys[offsets[0] : offsets[-1]]
    # Of a map that is NULL the keys are nobody's: each is told apart from all others.
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    lengths = np.diff(offsets)
    rows = np.repeat(np.arange(len(array)), lengths)
    unused = np.repeat(~valid, lengths)
    rows[unused] = -1 - np.flatnonzero(unused)
    groups = pa.table({"row": rows, "key": keys}).group_by(["row", "key"], use_threads=False).aggregate([])
    if groups.num_rows < len(keys):
        raise ValueError("a map has a key twice")
