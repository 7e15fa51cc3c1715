"""Arrays without elements as Arrow wants them: with one offset, which Java's Arrow leaves out.

pyarrow takes them for valid and reads the offset nevertheless: of what stands beside it in memory, and, in arrays of
arrays of texts and in arrays of maps, at a place that this names, which ends the process.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as kinds


def with_offsets(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows; a batch in which no array is without elements stays the same object."""
    given = batch.columns
    made = [_complete(column) for column in given]
    if all(new is old for new, old in zip(made, given, strict=True)):
        return batch
    return pa.RecordBatch.from_arrays(made, schema=batch.schema)


def _complete(array: pa.Array) -> pa.Array:
    type_ = array.type
    if _has_offsets(type_) and len(array) == 0:
        return pa.array([], type_)
    if _is_list(type_):
        items = array.values
        complete = _complete(items)
        if complete is items:
            return array
        own = array.buffers()[:2]
        return pa.Array.from_buffers(type_, len(array), own, array.null_count, array.offset, [complete])
    if kinds.is_struct(type_):
        fields = [array.field(i) for i in range(type_.num_fields)]
        made = [_complete(field) for field in fields]
        if all(new is old for new, old in zip(made, fields, strict=True)):
            return array
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(made, fields=list(type_), mask=mask)
    return array


def _is_list(type_: pa.DataType) -> bool:
    return bool(kinds.is_list(type_) or kinds.is_large_list(type_) or kinds.is_map(type_))


def _has_offsets(type_: pa.DataType) -> bool:
    texts = (kinds.is_string, kinds.is_large_string, kinds.is_binary, kinds.is_large_binary)
    return _is_list(type_) or any(test(type_) for test in texts)
