"""Kernel ``join:run``: the row groups of several files as one file, pages copied as they are."""

from __future__ import annotations

from .errors import writing
from .lineage_chunks import Lineage
from .outputs import discard, open_copy, read_metrics
from .rowgroups import Source, copy_row_groups
from .schema import leaves
from .tasks import Fragment, Input, JoinTask
from .wire import decode, encode


def run(payload: bytes) -> bytes:
    """The Fragment of a JoinTask; raises KernelError. Its inputs stay: the coordinator removes them."""
    task = decode(JoinTask, payload)
    location, sink = open_copy(task.output, task.storage)
    try:
        with writing(location):
            sources = [Source(item.path, item.groups, _lineage(item)) for item in task.parts]
            footer = copy_row_groups(sources, sink, task.storage)
            size = sink.tell()
            sink.close()
    except BaseException:
        discard(location, sink, task.storage)
        raise
    found = read_metrics(location, size, leaves(task.fields), task.modes, task.nan_counts, task.storage)
    rows = footer[3][1]
    return encode(Fragment(task.tag, location, rows, size, rows, task.nan_counts, found))


def _lineage(item: Input) -> Lineage | None:
    """Of a data file of a table of format version 3; parts that we wrote hold it."""
    known = item.first_row_id is not None and item.sequence is not None
    return Lineage(item.first_row_id or 0, item.sequence or 0) if known else None
