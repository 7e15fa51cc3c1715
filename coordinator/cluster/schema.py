"""The tables that coordinators share. Moments are the database's: no two machines' clocks are ever compared."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    DateTime,
    Engine,
    Identity,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    false,
    text,
)

from coordinator.values.migrations import Migration, migrate

METADATA = MetaData()
NODES = Table(
    "cluster_nodes",
    METADATA,
    Column("suffix", String(5), primary_key=True),
    Column("node_id", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("started", DateTime(timezone=True), nullable=False),
    Column("until", DateTime(timezone=True), nullable=False),
    Column("replaced", Boolean, nullable=False, server_default=false()),
)
"""A start of a coordinator: the end of its query ids, and until when it is taken to live."""
PLACED = Table(
    "cluster_placed_queries",
    METADATA,
    Column("query_id", String(64), primary_key=True),
    Column("suffix", String(5), nullable=False),
    Column("placed", DateTime(timezone=True), nullable=False),
)
"""Queries whose ids somebody else made, as gateways do, and which tell nothing of their coordinator."""
LEASES = Table(
    "cluster_leases",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("suffix", String(5), nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("until", DateTime(timezone=True), nullable=False),
)
"""What one coordinator at a time does; ``epoch`` grows with each that takes it over."""
GROUP_SHARES = Table(
    "cluster_group_shares",
    METADATA,
    Column("path", Text, primary_key=True),
    Column("suffix", String(5), primary_key=True),
    Column("wanted", Integer, nullable=False),
    Column("reserved", Integer, nullable=False),
    Column("places", Integer, nullable=False),
    Column("places_reserved", Integer, nullable=False),
    Column("cpu_millis", BigInteger, nullable=False, server_default="0"),
    Column("memory_bytes", BigInteger, nullable=False, server_default="0"),
)
"""What a coordinator wants of a resource group, and what the others must count as taken: to run, and to wait.

``path`` is the ``row_name`` of the group's.
"""
LOGINS = Table(
    "cluster_logins",
    METADATA,
    Column("hashed", String(64), primary_key=True),
    Column("sealed", Text, nullable=False),
    Column("ended", Boolean, nullable=False),
    Column("until", DateTime(timezone=True), nullable=False),
)
"""Logins by OAuth2 that are under way, by the hash of an id that the client alone knows; encrypted."""
CATALOGS = Table(
    "cluster_catalogs",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("version", BigInteger, Identity(), nullable=False),
    Column("sealed", Text, nullable=False),
    Column("changed", DateTime(timezone=True), nullable=False),
)
"""Catalogs that statements made; a version is never given out twice. Encrypted: passwords may stand in them."""
_INDEXES = (Index("cluster_placed_queries_placed", PLACED.c.placed),)


def _first(connection: Connection) -> None:
    METADATA.create_all(connection, [NODES, PLACED, LEASES])


def _second(connection: Connection) -> None:
    METADATA.create_all(connection, [GROUP_SHARES])


def _third(connection: Connection) -> None:
    METADATA.create_all(connection, [LOGINS, CATALOGS])


def _usage(connection: Connection) -> None:
    for name in ("cpu_millis", "memory_bytes"):
        connection.execute(
            text(f"ALTER TABLE {GROUP_SHARES.name} ADD COLUMN IF NOT EXISTS {name} BIGINT NOT NULL DEFAULT 0")
        )


MIGRATIONS: tuple[Migration, ...] = (_first, _second, _third, _usage)
"""In their order."""
_LOCK = 0x70726F64


def migrate_cluster(engine: Engine) -> None:
    """Bring a database to the newest schema. Raises NewerSchemaError and SQLAlchemy's errors."""
    migrate(engine, "cluster_migrations", MIGRATIONS, _LOCK)
