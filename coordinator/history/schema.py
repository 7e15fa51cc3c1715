"""The tables of the history, and the numbered steps that lead to them; SQLite takes them, and so does PostgreSQL.

Moments are microseconds since 1970 in UTC, durations milliseconds, lists and maps JSON, long texts zlib.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    text,
)

from coordinator.values.migrations import Migration, migrate

METADATA = MetaData()

QUERIES = Table(
    "history_queries",
    METADATA,
    Column("query_id", String(64), primary_key=True),
    Column("node_id", Text, nullable=False),
    Column("state", String(32), nullable=False),
    Column("user_name", Text, nullable=False),
    Column("principal", Text),
    Column("groups", Text),
    Column("source", Text),
    Column("client_info", Text),
    Column("client_tags", Text),
    Column("remote_address", Text),
    Column("resource_group", Text),
    Column("catalog", Text),
    Column("schema_name", Text),
    Column("query_type", String(32)),
    Column("update_type", Text),
    Column("query", Text, nullable=False),
    Column("query_truncated", Boolean, nullable=False),
    Column("prepared_query", Text),
    Column("session_properties", Text),
    Column("trace_token", Text),
    Column("trace_id", String(32)),
    Column("created", BigInteger, nullable=False),
    Column("started", BigInteger),
    Column("ended", BigInteger),
    Column("elapsed_ms", BigInteger),
    Column("queued_ms", BigInteger),
    Column("cpu_ms", BigInteger),
    Column("verbs", Text),
    Column("engine", String(32)),
    Column("engine_reason", Text),
    Column("verdicts", Text),
    Column("attempt", Integer),
    Column("runs_again", Integer),
    Column("error_code", Integer),
    Column("error_name", String(64)),
    Column("error_type", String(32)),
    Column("error_message", Text),
    Column("error_line", Integer),
    Column("error_column", Integer),
    Column("warnings", Text),
    Column("input_rows", BigInteger),
    Column("input_bytes", BigInteger),
    Column("output_rows", BigInteger),
    Column("output_bytes", BigInteger),
    Column("written_rows", BigInteger),
    Column("peak_memory_bytes", BigInteger),
    Column("splits", BigInteger),
    Column("spark_operations", Text),
    Column("spark_jobs", Text),
    Column("plan", LargeBinary),
    Column("json_plan", LargeBinary),
    Column("size", Integer, nullable=False),
)
TABLES = Table(
    "history_tables",
    METADATA,
    Column("query_id", String(64), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("access", String(8), nullable=False),
    Column("operation", Text),
    Column("catalog", Text, nullable=False),
    Column("schema_name", Text, nullable=False),
    Column("table_name", Text, nullable=False),
    Column("columns", Text),
    Column("snapshot_id", BigInteger),
    Column("committed_snapshot_id", BigInteger),
    Column("created", BigInteger, nullable=False),
)
PROCEDURES = Table(
    "history_procedures",
    METADATA,
    Column("query_id", String(64), primary_key=True),
    Column("node_id", Text, nullable=False),
    Column("procedure", Text, nullable=False),
    Column("table_name", Text),
    Column("user_name", Text, nullable=False),
    Column("state", String(32), nullable=False),
    Column("started", BigInteger, nullable=False),
    Column("ended", BigInteger),
    Column("phase", Text),
    Column("completed", BigInteger),
    Column("total", BigInteger),
    Column("error", Text),
)
_INDEXES = (
    Index("history_queries_created", QUERIES.c.created, QUERIES.c.query_id),
    Index("history_queries_user", QUERIES.c.user_name, QUERIES.c.created),
    Index("history_queries_open", QUERIES.c.node_id, QUERIES.c.ended),
    Index("history_tables_table", TABLES.c.table_name, TABLES.c.created),
    Index("history_procedures_started", PROCEDURES.c.started, PROCEDURES.c.query_id),
)


def _first(connection: Connection) -> None:
    METADATA.create_all(connection, [QUERIES, TABLES, PROCEDURES])


def _committed_snapshots(connection: Connection) -> None:
    known = {column["name"] for column in inspect(connection).get_columns(TABLES.name)}
    if "committed_snapshot_id" not in known:  # a database that this version began has it from the first step
        connection.execute(text(f"ALTER TABLE {TABLES.name} ADD COLUMN committed_snapshot_id BIGINT"))


def _spark_ids(connection: Connection) -> None:
    known = {column["name"] for column in inspect(connection).get_columns(QUERIES.name)}
    for name in ("spark_operations", "spark_jobs"):
        if name not in known:
            connection.execute(text(f"ALTER TABLE {QUERIES.name} ADD COLUMN {name} TEXT"))


MIGRATIONS: tuple[Migration, ...] = (_first, _committed_snapshots, _spark_ids)
"""In their order."""
_LOCK = 0x70726F63


def migrate_history(engine: Engine) -> None:
    """Bring a database to the newest schema. Raises NewerSchemaError and SQLAlchemy's errors."""
    migrate(engine, "history_migrations", MIGRATIONS, _LOCK)
