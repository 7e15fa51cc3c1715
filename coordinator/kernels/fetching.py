"""Small files of object stores, fetched while earlier ones are decoded: a request takes longer than its bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from .storage import is_local, resolve
from .tasks import Input

T = TypeVar("T")
R = TypeVar("R")

WHOLE_FILE_BYTES = 32 << 20
"""Up to this size a file is fetched in one piece."""
_AHEAD_BYTES, _AHEAD_FILES = 64 << 20, 8

Fetched = Future[Any]
"""A whole file as an Arrow buffer, or why it could not be read."""


def fetched_ahead(inputs: Sequence[Input], storage: Mapping[str, str]) -> Iterator[tuple[Input, Fetched | None]]:
    """Each input in its order, small ones of stores with their bytes on the way; None for the others."""
    running: deque[tuple[Input, Fetched | None]] = deque()
    ahead = 0
    with ThreadPoolExecutor(_AHEAD_FILES) as pool:
        try:
            for item in inputs:
                while running and (ahead + item.size > _AHEAD_BYTES or len(running) >= _AHEAD_FILES):
                    ahead -= running[0][0].size
                    yield running.popleft()
                running.append((item, pool.submit(_whole, item, storage) if _is_fetched_whole(item) else None))
                ahead += item.size
            while running:
                yield running.popleft()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def side_by_side(do: Callable[[T], R], items: Sequence[T], location: Callable[[T], str]) -> list[R]:
    """What ``do`` makes of each item, which reads ``location``: some at once where that is in a store."""
    if len(items) < 2 or all(is_local(location(item)) for item in items):
        return [do(item) for item in items]
    with ThreadPoolExecutor(_AHEAD_FILES) as pool:
        return list(pool.map(do, items))


def _is_fetched_whole(item: Input) -> bool:
    return not is_local(item.path) and item.size <= WHOLE_FILE_BYTES


def _whole(item: Input, storage: Mapping[str, str]) -> Any:
    filesystem, path = resolve(item.path, storage)
    with filesystem.open_input_file(path) as source:
        return source.read()
