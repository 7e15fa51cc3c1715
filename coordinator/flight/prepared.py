"""Prepared statements that clients keep here: so many for each user and for all, forgotten when nobody uses them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from secrets import token_bytes
from time import monotonic

import pyarrow as pa

from coordinator.flight.callers import Caller
from coordinator.flight.failures import not_found
from coordinator.flight.parameters import quoted

Literals = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """``columns`` is None for a statement that gives no rows, ``parameters`` for one that takes none.

    ``bound``: literals for the parameters, as a client has set them, row by row.
    """

    text: str
    columns: pa.Schema | None
    parameters: pa.Schema | None
    bound: tuple[Literals, ...] = ()

    def statement(self, values: Literals = ()) -> str:
        """The text to run."""
        if not values:
            return self.text
        return f"EXECUTE IMMEDIATE {quoted(self.text)} USING {', '.join(values)}"

    @property
    def size(self) -> int:
        """Characters."""
        return len(self.text) + sum(len(value) for row in self.bound for value in row)


@dataclass(frozen=True, slots=True)
class _Kept:
    owner: Caller
    prepared: Prepared
    used: float
    size: int


class PreparedStatements:
    """By handle. Belongs to one event loop."""

    def __init__(
        self,
        most_of_user: int,
        idle: float,
        clock: Callable[[], float] = monotonic,
        size_of_user: int = 16 << 20,
        most: int = 10_000,
        size: int = 128 << 20,
    ) -> None:
        """``size_of_user`` and ``size``: characters of statements and parameters together, one user's and all."""
        self._of_user, self._of_all, self._idle, self._clock = (most_of_user, size_of_user), (most, size), idle, clock
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, owner: Caller, prepared: Prepared) -> bytes:
        """Its handle. Past a limit those go that its user, or anybody, has not used for longest."""
        self._forget_idle()
        made = token_bytes(18)
        self._set(made, _Kept(owner, prepared, self._clock(), prepared.size))
        self._make_room(owner, made)
        return made

    def _make_room(self, owner: Caller, newest: bytes) -> None:
        user = owner.session.user
        own = {handle: kept.size for handle, kept in self._kept.items() if kept.owner.session.user == user}
        count, size = len(own), sum(own.values())
        for handle in own:
            if handle == newest or _fits(count, size, self._of_user):
                break
            count, size = count - 1, size - own[handle]
            self._drop(handle)
        while not _fits(len(self._kept), self._size, self._of_all):
            oldest = next(iter(self._kept))
            if oldest == newest:
                return
            self._drop(oldest)

    def _set(self, handle: bytes, kept: _Kept) -> None:
        before = self._kept.get(handle)
        self._size += kept.size - (0 if before is None else before.size)
        self._kept[handle] = kept

    def _drop(self, handle: bytes) -> None:
        self._size -= self._kept.pop(handle).size

    def find(self, caller: Caller, handle: bytes) -> Prepared:
        """Raises CallError for one that is not there, or is somebody else's."""
        self._forget_idle()
        kept = self._kept.get(handle)
        if kept is None or not caller.owns(kept.owner.session):
            raise not_found("Prepared statement not found")
        self._kept[handle] = replace(kept, used=self._clock())
        self._kept.move_to_end(handle)
        return kept.prepared

    def bind(self, caller: Caller, handle: bytes, rows: tuple[Literals, ...]) -> None:
        """Set its parameters. Raises CallError."""
        bound = replace(self.find(caller, handle), bound=rows)
        self._set(handle, replace(self._kept[handle], prepared=bound, size=bound.size))
        self._make_room(caller, handle)

    def close(self, caller: Caller, handle: bytes) -> None:
        """Forget it; one that is not there, or is somebody else's, stays so."""
        kept = self._kept.get(handle)
        if kept is not None and caller.owns(kept.owner.session):
            self._drop(handle)

    def _forget_idle(self) -> None:
        limit = self._clock() - self._idle
        while self._kept:
            handle, kept = next(iter(self._kept.items()))
            if kept.used > limit:
                return
            self._drop(handle)


def _fits(count: int, size: int, most: tuple[int, int]) -> bool:
    return count <= most[0] and size <= most[1]
