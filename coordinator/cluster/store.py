"""What coordinators tell each other through their database; every call blocks, for seconds at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import case, create_engine, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from coordinator.cluster.schema import LEASES, NODES, PLACED, migrate_cluster
from coordinator.values.migrations import NewerSchemaError
from coordinator.values.storable_texts import keep_storable
from shared.properties import ConfigurationError

_KEPT = timedelta(days=1)
"""How long a coordinator that is gone is remembered, so that whoever asks for its queries is told so."""
_CONNECTION = {
    "connect_timeout": 5,
    "options": "-c statement_timeout=5000 -c lock_timeout=5000 -c idle_in_transaction_session_timeout=10000",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # of what was sent and nobody has acknowledged, which keepalives do not look after
}


def _address(url: str) -> URL:
    """What is wrong with it is told without it: a password is in it."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None or parsed.drivername != "postgresql":
        raise ConfigurationError("state.url is not of the form postgresql://user:password@host/database")
    return parsed.set(drivername="postgresql+psycopg2")


@dataclass(frozen=True, slots=True)
class Node:
    """One start of a coordinator. ``address`` is where the others reach it, without a slash at its end."""

    suffix: str
    node_id: str
    address: str
    version: str
    alive: bool = True


class NameTakenError(Exception):
    """Another coordinator that lives has the same ``node.id`` or the same address."""


class ClusterStore:
    """Owns its connections; any thread may call."""

    def __init__(self, url: str) -> None:
        """Opens the database and brings it up to date. Raises ConfigurationError."""
        self.engine = create_engine(
            _address(url),
            pool_pre_ping=True,
            pool_size=2,
            max_overflow=10,
            pool_timeout=5,
            connect_args=_CONNECTION,
        )
        keep_storable(self.engine)
        try:
            migrate_cluster(self.engine)
        except (SQLAlchemyError, NewerSchemaError) as error:
            self.engine.dispose()
            reason = " ".join(str(getattr(error, "orig", None) or error).split())
            raise ConfigurationError(f"the database of state.url cannot be used: {reason}") from error

    def register(self, node: Node, term: float) -> bool:
        """Add a coordinator that lives for ``term`` seconds; False when its suffix was used before.

        Whoever stood under the same name and address has ended, since only one can listen there.
        Raises NameTakenError and SQLAlchemyError.
        """
        same = (NODES.c.address == node.address) & (NODES.c.node_id == node.node_id)
        either = (NODES.c.address == node.address) | (NODES.c.node_id == node.node_id)
        with self.engine.begin() as connection:
            connection.execute(update(NODES).where(same).values(until=func.now(), replaced=True))
            living = select(NODES.c.node_id, NODES.c.address).where(either, NODES.c.until > func.now())
            other = connection.execute(living).first()
            if other is not None:
                raise NameTakenError(f"the coordinator {other.node_id} at {other.address} has this name or address")
            connection.execute(delete(NODES).where(NODES.c.until < func.now() - _KEPT))
            connection.execute(delete(PLACED).where(PLACED.c.placed < func.now() - _KEPT))
            made = insert(NODES).values(
                suffix=node.suffix,
                node_id=node.node_id,
                address=node.address,
                version=node.version,
                started=func.now(),
                until=func.now() + timedelta(seconds=term),
            )
            return bool(connection.execute(made.on_conflict_do_nothing()).rowcount)

    def renew(self, suffix: str, term: float) -> bool:
        """Live on for ``term`` seconds; False when another one has taken its place. Raises SQLAlchemyError."""
        mine = (NODES.c.suffix == suffix) & NODES.c.replaced.is_(False)
        lives = update(NODES).where(mine).values(until=func.now() + timedelta(seconds=term))
        with self.engine.begin() as connection:
            return bool(connection.execute(lives).rowcount)

    def leave(self, suffix: str) -> None:
        """It has ended. Raises SQLAlchemyError."""
        with self.engine.begin() as connection:
            connection.execute(update(NODES).where(NODES.c.suffix == suffix).values(until=func.now()))

    def nodes(self) -> Sequence[Node]:
        """All that live or lived lately, by when they started. Raises SQLAlchemyError."""
        alive = (NODES.c.until > func.now()).label("alive")
        asked = select(NODES.c.suffix, NODES.c.node_id, NODES.c.address, NODES.c.version, alive)
        with self.engine.connect() as connection:
            return [Node(*row) for row in connection.execute(asked.order_by(NODES.c.started, NODES.c.suffix))]

    def place(self, query_id: str, suffix: str) -> str:
        """Whose query it is: that of ``suffix``, or of who took it before. Raises SQLAlchemyError."""
        taken = insert(PLACED).values(query_id=query_id, suffix=suffix, placed=func.now()).on_conflict_do_nothing()
        with self.engine.begin() as connection:
            connection.execute(taken)
            return str(connection.execute(select(PLACED.c.suffix).where(PLACED.c.query_id == query_id)).scalar_one())

    def placed(self, query_id: str) -> str | None:
        """Whose query of a foreign id it is. Raises SQLAlchemyError."""
        with self.engine.connect() as connection:
            return connection.execute(select(PLACED.c.suffix).where(PLACED.c.query_id == query_id)).scalar()

    def lease(self, name: str, suffix: str, term: float) -> int | None:
        """Take or keep a lease for ``term`` seconds: its epoch, None while another has it. Raises SQLAlchemyError."""
        until = func.now() + timedelta(seconds=term)
        asked = insert(LEASES).values(name=name, suffix=suffix, epoch=1, until=until)
        taken_over = case((LEASES.c.suffix == suffix, LEASES.c.epoch), else_=LEASES.c.epoch + 1)
        taken = asked.on_conflict_do_update(
            index_elements=[LEASES.c.name],
            set_={"suffix": suffix, "epoch": taken_over, "until": until},
            where=(LEASES.c.suffix == suffix) | (LEASES.c.until < func.now()),
        ).returning(LEASES.c.epoch)
        with self.engine.begin() as connection:
            epoch = connection.execute(taken).scalar()
        return None if epoch is None else int(epoch)

    def release(self, suffix: str) -> None:
        """Give up all leases of a coordinator. Raises SQLAlchemyError."""
        with self.engine.begin() as connection:
            connection.execute(update(LEASES).where(LEASES.c.suffix == suffix).values(until=func.now()))

    def close(self) -> None:
        self.engine.dispose()
