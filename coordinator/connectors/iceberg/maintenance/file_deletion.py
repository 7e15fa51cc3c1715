"""Deleting many files of a table at the same time, with progress; one that cannot be deleted stops nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice

from pyiceberg.io import FileIO

from coordinator.connectors.iceberg.storage import exact
from shared.spi.procedure import ArgumentError

logger = logging.getLogger(__name__)
_AT_THE_SAME_TIME = 8
_BATCH = 1000


def concurrent_deletes(asked: int | None) -> int:
    """The argument ``max_concurrent_deletes`` or its default; raises ArgumentError in Iceberg's words."""
    if asked is not None and asked < 1:
        raise ArgumentError("max_concurrent_deletes", f"max_concurrent_deletes should have value > 0, value: {asked}")
    return _AT_THE_SAME_TIME if asked is None else asked


def delete_all(io: FileIO, locations: Iterable[str], at_once: int) -> Iterator[list[bool]]:
    """Whether each file is gone, in batches in the order given; what was not there is gone too."""
    waiting, deleting = iter(locations), exact(io)
    with ThreadPoolExecutor(at_once) as pool:
        while batch := list(islice(waiting, _BATCH)):
            # Each in a copy of this thread's context: deletions are spans of the statement.
            begun = [pool.submit(copy_context().run, _delete, deleting, location) for location in batch]
            yield [each.result() for each in begun]


def _delete(io: FileIO, location: str) -> bool:
    try:
        io.delete(location)
    except FileNotFoundError:
        return True
    except (OSError, ValueError) as error:
        logger.warning("%s was not deleted: %s", location, error)
        return False
    return True
