"""This coordinator among the others: it says that it lives, and knows them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from time import monotonic

import structlog
from sqlalchemy.exc import SQLAlchemyError

from coordinator.cluster.store import ClusterStore, NameTakenError, Node
from shared.properties import ConfigurationError

_log = structlog.get_logger(__name__)
_LOOK_AGAIN_SECONDS = 0.2
"""At most so often are the others looked for between two heartbeats, however many unknown ids are asked for."""


class Membership:
    """From ``join`` to ``leave``; ``peer`` answers from memory."""

    def __init__(
        self,
        store: ClusterStore,
        me: Node,
        *,
        interval: float,
        term: float,
        gone: Callable[[Node], None] = lambda _node: None,
    ) -> None:
        """``gone`` is told once of each other coordinator that has ended, also of those before this one began."""
        self._gone, self._told = gone, set[str]()
        self._store, self.me = store, me
        self._interval, self._term = interval, term
        self._known: Mapping[str, Node] = {}
        self._renewed = self._looked = float("-inf")
        self._leases: dict[str, float] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._live, name="cluster-heartbeat", daemon=True)

    def join(self) -> None:
        """Raises ConfigurationError."""
        try:
            if not self._store.register(self.me, self._term):
                raise ConfigurationError(f"the end {self.me.suffix} of query ids was used before; start again")
            self._renewed = monotonic()
            self._look()
        except NameTakenError as error:
            raise ConfigurationError(f"{error}; node.id and node.internal-address are each one's own") from error
        except SQLAlchemyError as error:
            raise ConfigurationError(f"the database of state.url cannot be reached: {_line(error)}") from error
        self._thread.start()

    def leave(self) -> None:
        """Others are told at once; blocks for seconds at most."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=20)
            try:
                self._store.release(self.me.suffix)
                self._store.leave(self.me.suffix)
            except SQLAlchemyError as error:
                _log.warning("the other coordinators could not be told", reason=_line(error))
        self._store.close()

    @property
    def connected(self) -> bool:
        """Whether the others take this coordinator to live, as far as it knows."""
        return monotonic() - self._renewed < self._term

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Those that live, this one among them."""
        return (self.me, *self.others())

    def others(self) -> tuple[Node, ...]:
        """Those that live, beside this one."""
        return tuple(node for node in self._known.values() if node.alive and node.suffix != self.me.suffix)

    def peer(self, suffix: str) -> Node | None:
        """Another coordinator, which may be gone; None for this one and for who is not known."""
        return None if suffix == self.me.suffix else self._known.get(suffix)

    def look_again(self, suffix: str) -> Node | None:
        """As ``peer`` after a look into the database, for one that began a moment ago. Blocks."""
        if monotonic() - self._looked > _LOOK_AGAIN_SECONDS:
            try:
                self._look()
            except SQLAlchemyError as error:
                _log.warning("other coordinators cannot be looked for", reason=_line(error))
        return self.peer(suffix)

    def take(self, query_id: str) -> str:
        """Whose the query of a foreign id is, this one's if nobody else took it. Blocks. Raises SQLAlchemyError."""
        return self._store.place(query_id, self.me.suffix)

    def placed(self, query_id: str) -> Node | None:
        """The other coordinator that took a query of a foreign id. Blocks."""
        try:
            suffix = self._store.placed(query_id)
        except SQLAlchemyError as error:
            _log.warning("whose a query is cannot be looked up", reason=_line(error))
            return None
        return None if suffix is None else self.peer(suffix) or self.look_again(suffix)

    def holds(self, lease: str) -> bool:
        """Whether what one coordinator at a time does is this one's; it is asked for from the first call on.

        The answer changes by this machine's clock before the database's lets another one take it.
        """
        return monotonic() < self._leases.setdefault(lease, float("-inf"))

    def _live(self) -> None:
        while not self._stopping.wait(self._interval):
            was_connected = self.connected
            try:
                if self._store.renew(self.me.suffix, self._term):
                    self._renewed = monotonic()
                else:
                    _log.error("another coordinator has the node.id and the address of this one", node=self.me.node_id)
                self._lease()
                self._look()
            except SQLAlchemyError as error:
                _log.warning("the database of the coordinators cannot be reached", reason=_line(error))
            if was_connected and not self.connected:
                _log.error("the other coordinators take this one for gone", seconds=self._term)

    def _lease(self) -> None:
        for name in tuple(self._leases):
            asked = monotonic()
            held = self._store.lease(name, self.me.suffix, self._term) is not None
            self._leases[name] = asked + self._term - self._interval if held else float("-inf")

    def _look(self) -> None:
        self._looked = monotonic()
        self._known = {node.suffix: node for node in self._store.nodes()}
        for node in self._known.values():
            if not node.alive and node.suffix not in self._told:
                self._gone(node)
                self._told.add(node.suffix)


def _line(error: Exception) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split())
