"""What is read once more because its vended keys ended on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from coordinator.kernels.file_scan import FileScan
from coordinator.kernels.vended import is_refused, vended_storage
from shared.errors import ProcessionError

T = TypeVar("T")


def with_newer_keys(read: Callable[[], Iterator[T]], scans: Iterable[FileScan]) -> Iterator[T]:
    """What ``read`` gives; once more when a store refused its keys, nothing was given yet, and there are newer ones."""
    vended = [storage for scan in scans if (storage := vended_storage(scan.task)) is not None]
    sent = [storage.fresh() for storage in vended]
    delivered = False
    try:
        for item in read():
            delivered = True
            yield item
        return
    except ProcessionError as error:
        if delivered or not is_refused(error.code.name, error.message):
            raise
        if all(storage.renewed_after(old) == old for storage, old in zip(vended, sent, strict=True)):
            raise
    yield from read()
