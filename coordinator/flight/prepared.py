"""Prepared statements that clients keep here: a bounded number for each user, forgotten when nobody uses them."""

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


class PreparedStatements:
    """By handle. Belongs to one event loop."""

    def __init__(
        self, most_of_user: int, idle: float, clock: Callable[[], float] = monotonic, size_of_user: int = 16 << 20
    ) -> None:
        """``size_of_user``: characters of one user's statements and parameters together."""
        self._most, self._idle, self._clock, self._size = most_of_user, idle, clock, size_of_user
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, owner: Caller, prepared: Prepared) -> bytes:
        """Its handle. Past a limit those go that its user has not used for longest."""
        self._forget_idle()
        made = token_bytes(18)
        self._kept[made] = _Kept(owner, prepared, self._clock())
        self._make_room(owner, made)
        return made

    def _make_room(self, owner: Caller, newest: bytes) -> None:
        own = {h: kept.prepared.size for h, kept in self._kept.items() if kept.owner.session.user == owner.session.user}
        for handle in tuple(own):
            if handle == newest or (len(own) <= self._most and sum(own.values()) <= self._size):
                return
            del own[handle], self._kept[handle]

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
        prepared = self.find(caller, handle)
        self._kept[handle] = replace(self._kept[handle], prepared=replace(prepared, bound=rows))
        self._make_room(caller, handle)

    def close(self, caller: Caller, handle: bytes) -> None:
        """Forget it; one that is not there, or is somebody else's, stays so."""
        kept = self._kept.get(handle)
        if kept is not None and caller.owns(kept.owner.session):
            del self._kept[handle]

    def _forget_idle(self) -> None:
        limit = self._clock() - self._idle
        while self._kept:
            handle, kept = next(iter(self._kept.items()))
            if kept.used > limit:
                return
            del self._kept[handle]
