"""The tables in which maintenance remembers, and what those of earlier releases lack."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import BigInteger, Column, Connection, Float, Index, Integer, MetaData, String, Table, text

KEY = ("catalog", "schema", "table")
"""The columns that name a table of the lake."""


def _key_columns(*, primary: bool) -> list[Column[object]]:
    return [Column(name, String, primary_key=primary, nullable=False) for name in KEY]


@dataclass(frozen=True, slots=True)
class StoreTables:
    metadata: MetaData
    looks: Table
    decisions: Table
    jobs: Table
    pauses: Table
    scans: Table


def store_tables(prefix: str) -> StoreTables:
    """``prefix`` where other rooms have tables beside them."""
    metadata = MetaData()
    decisions = Table(
        f"{prefix}decisions",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("moment", String, nullable=False, index=True),
        *_key_columns(primary=False),
        *(Column(name, String, nullable=False) for name in ("step", "verdict", "reason")),
        Column("priority", Float, nullable=False),
        Column("size", BigInteger, nullable=False),
        Column("seconds", Float, nullable=False),
    )
    pauses = Table(
        f"{prefix}pauses",
        metadata,
        Column("scope", String, primary_key=True),
        *(Column(name, String, nullable=False) for name in ("by", "since", "reason")),
    )
    scans = Table(
        f"{prefix}scans",
        metadata,
        Column("day", String, primary_key=True),
        *_key_columns(primary=True),
        Column("scans", BigInteger, nullable=False),
    )
    return StoreTables(metadata, _looks(prefix, metadata), decisions, _jobs(prefix, metadata), pauses, scans)


def _looks(prefix: str, metadata: MetaData) -> Table:
    return Table(
        f"{prefix}looks",
        metadata,
        *_key_columns(primary=True),
        *(Column(name, String, nullable=False) for name in ("uuid", "marker", "worst_partition", "policy", "state")),
        *(
            Column(name, BigInteger, nullable=False)
            for name in (
                "health", "worst", "files", "files_needed", "small_files", "delete_files", "size", "snapshots",
                "manifests", "appended", "rewritten",
            )
        ),
        Column("deleted_ratio", Float, nullable=False),
        Column("overlap_depth", BigInteger, nullable=False, server_default="0"),
        Column("reason", String, nullable=False),
        Column("looked", String, nullable=False),
        Column("next_look", String, nullable=False),
        Column("waiting_since", String),
    )  # fmt: skip


def _jobs(prefix: str, metadata: MetaData) -> Table:
    return Table(
        f"{prefix}jobs",
        metadata,
        Column("job_id", String, primary_key=True),
        *_key_columns(primary=False),
        *(Column(name, String, nullable=False) for name in ("procedure", "trigger", "state")),
        Column("started", String, nullable=False, index=True),
        Column("ended", String),
        Column("estimated_size", BigInteger, nullable=False),
        Column("estimated_seconds", Float, nullable=False),
        Column("files_before", BigInteger),
        Column("files_after", BigInteger),
        Column("size_before", BigInteger),
        Column("size_after", BigInteger),
        Column("error", String),
        Index(f"{prefix}jobs_of_table", *KEY, "started"),
    )


def add_missing(connection: Connection) -> None:
    """A file of an earlier release lacks what was added since."""
    known = {row.name for row in connection.execute(text("PRAGMA table_info(looks)"))}
    if "overlap_depth" not in known:
        connection.execute(text("ALTER TABLE looks ADD COLUMN overlap_depth INTEGER NOT NULL DEFAULT 0"))
    known = {row.name for row in connection.execute(text("PRAGMA table_info(jobs)"))}
    for name in ("size_before", "size_after"):
        if name not in known:
            connection.execute(text(f"ALTER TABLE jobs ADD COLUMN {name} BIGINT"))


def add_sizes(connection: Connection) -> None:
    for name in ("size_before", "size_after"):
        connection.execute(text(f"ALTER TABLE maintenance_jobs ADD COLUMN IF NOT EXISTS {name} BIGINT"))
