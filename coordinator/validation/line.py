"""A waiting line that is fair between users: one statement of each in turn."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class FairLine(Generic[K, T]):
    """Items wait under a key; ``get`` serves the keys round robin, and items of one key in their order.

    Items of a key that is ``held`` wait on; who changes what that says calls ``look_again``.
    """

    def __init__(self, held: Callable[[K], bool] = lambda _key: False) -> None:
        self._held = held
        self._waiting: OrderedDict[K, deque[T]] = OrderedDict()
        self._count = 0
        self._news = asyncio.Event()

    def __len__(self) -> int:
        return self._count

    def __contains__(self, item: T) -> bool:
        return any(item in items for items in self._waiting.values())

    def put(self, key: K, item: T) -> None:
        """Stand in line; whether there is room is for the caller to say, who knows ``len``."""
        self._waiting.setdefault(key, deque()).append(item)
        self._count += 1
        self._news.set()

    def look_again(self) -> None:
        """Keys may be held no more."""
        self._news.set()

    def discard(self, key: K, item: T) -> None:
        """Leave the line; nothing happens when the item has left already."""
        items = self._waiting.get(key)
        if items is None or item not in items:
            return
        items.remove(item)
        self._count -= 1
        if not items:
            del self._waiting[key]

    async def get(self) -> T:
        """The next item, as soon as there is one."""
        while True:
            for key in self._waiting:
                if not self._held(key):
                    return self._next(key)
            self._news.clear()
            await self._news.wait()

    def drain(self) -> list[T]:
        """Empty the line."""
        items = []
        while self._count:
            items.append(self._next(next(iter(self._waiting))))
        return items

    def _next(self, key: K) -> T:
        items = self._waiting.pop(key)
        item = items.popleft()
        if items:
            self._waiting[key] = items  # to the end: the next key is served first
        self._count -= 1
        return item
