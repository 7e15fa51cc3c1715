"""Row groups that a query cannot need, by the statistics in the footers: a look-up reads one of many.

Source: parquet.thrift, ``Statistics``. Floating point is left out, whose statistics say nothing of NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pyarrow.parquet as pq

from .cache import FOOTERS
from .errors import reading
from .fetching import WHOLE_FILE_BYTES
from .mapping import NameMapping, with_ids
from .schema import field_id
from .storage import is_local, resolve
from .tasks import Input, WriteTask

Range = tuple[int | str | date | None, int | str | date | None]
"""Least and greatest value that a query wants, both included; None where there is no such bound."""
Ranges = Mapping[int, Sequence[Range]]
"""By field id. No row with NULL in such a column is wanted."""


def with_needed_groups(task: WriteTask, ranges: Ranges) -> WriteTask:
    """The task without row groups that hold no value of ``ranges``. Small files of stores are fetched whole anyway."""
    if not ranges:
        return task
    return replace(task, inputs=[part for item in task.inputs for part in _parts(item, task, ranges)])


def _parts(item: Input, task: WriteTask, ranges: Ranges) -> Iterator[Input]:
    if is_local(item.path) or item.size > WHOLE_FILE_BYTES:
        yield from needed_parts(item, task, ranges)
    else:
        yield item


def needed_parts(item: Input, task: WriteTask, ranges: Ranges) -> Iterator[Input]:
    """The row groups of a data file that may hold a value of each of ``ranges``; a part of a file as it is."""
    if item.groups is not None or not ranges:
        yield item
        return
    with reading(item.path):
        metadata = footer_of(item, task.storage)
        columns = _columns(metadata, task.name_mapping, item.path, ranges)
    needed = [_may_match(metadata.row_group(i), columns) for i in range(metadata.num_row_groups)]
    start = None
    for number, wanted in enumerate([*needed, False]):
        if wanted and start is None:
            start = number
        elif not wanted and start is not None:
            yield item if all(needed) else replace(item, groups=(start, number))
            start = None


def footer_of(item: Input, storage: Mapping[str, str]) -> Any:
    """The footer of a data file, which is kept."""
    metadata = FOOTERS.get(item.path, item.size)
    if metadata is None:
        filesystem, path = resolve(item.path, storage)
        with filesystem.open_input_file(path) as source:
            metadata = pq.read_metadata(source)
        FOOTERS.put(item.path, item.size, metadata)
    return metadata


def _columns(
    metadata: Any, mapping: NameMapping | None, path: str, ranges: Ranges
) -> list[tuple[int, Sequence[Range]]]:
    """Places of the top-level columns of a file that ``ranges`` speaks of."""
    paths = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    fields = with_ids(metadata.schema.to_arrow_schema(), mapping, path)
    known = {field_id(field): paths[field.name] for field in fields if field.name in paths}
    return [(known[number], wanted) for number, wanted in ranges.items() if number in known]


def _may_match(group: Any, columns: Sequence[tuple[int, Sequence[Range]]]) -> bool:
    for place, wanted in columns:
        statistics = group.column(place).statistics
        if statistics is None or not statistics.has_min_max:
            continue
        if not any(_meet(statistics.min, statistics.max, *each) for each in wanted):
            return False
    return True


def _meet(low: Any, high: Any, least: Any, greatest: Any) -> bool:
    """Whether the two ranges have anything in common; of other types than expected one does not know."""
    try:
        return (least is None or high >= least) and (greatest is None or low <= greatest)
    except TypeError:
        return True
