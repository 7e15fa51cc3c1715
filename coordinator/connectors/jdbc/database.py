"""The remote database as metadata: schemas, tables, columns, collations and estimates, through SQLAlchemy."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import NoSuchTableError

from coordinator.connectors.jdbc.dialects.dialect import Collation, Dialect, MappedType, TableStatistics
from coordinator.connectors.jdbc.failures import mapped_failures, remote_error
from coordinator.connectors.jdbc.settings import JdbcSettings
from shared.errors import ErrorCode, ProcessionError


@dataclass(frozen=True, slots=True)
class RemoteColumn:
    """A column of the remote table that Presto can hold; ``collation`` is None for all but text."""

    name: str
    remote_type: str
    mapped: MappedType
    nullable: bool
    comment: str | None
    collation: Collation | None


@dataclass(frozen=True, slots=True)
class RemoteTable:
    """A table or view; ``skipped`` are the columns whose types Presto cannot hold, as ``name type``."""

    schema: str
    name: str
    columns: tuple[RemoteColumn, ...]
    primary_key: tuple[str, ...]
    statistics: TableStatistics
    comment: str | None = None
    skipped: tuple[str, ...] = ()


class Database:
    """A bounded pool of connections to one database. Opens nothing before the first question; thread-safe."""

    def __init__(self, settings: JdbcSettings, dialect: Dialect) -> None:
        self.settings = settings
        self.dialect = dialect
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection of the pool; raises ProcessionError for whatever goes wrong with it or while it is used."""
        with mapped_failures(self.settings), self._pool().connect() as connection:
            yield connection

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """A connection outside of the pool, which may be exhausted by what it shall end."""
        with mapped_failures(self.settings):
            engine = self._engine_of(sa.NullPool)
            with engine.connect() as connection:
                yield connection

    def schemas(self) -> list[str]:
        with self.connection() as connection:
            names = sa.inspect(connection).get_schema_names()
        hidden = self.dialect.hidden_schemas
        return sorted(n for n in names if n.lower() not in hidden and not n.startswith("pg_"))

    def tables(self, schema: str) -> list[str]:
        with self.connection() as connection:
            found = sa.inspect(connection)
            return sorted({*found.get_table_names(schema=schema), *found.get_view_names(schema=schema)})

    def table(self, schema: str, name: str) -> RemoteTable | None:
        """The table, or None when there is none of that name."""
        with self.connection() as connection:
            inspector = sa.inspect(connection)
            try:
                reflected = inspector.get_columns(name, schema=schema)
            except NoSuchTableError:
                return None
            if not reflected:
                return None
            keyed = inspector.get_pk_constraint(name, schema=schema).get("constrained_columns", ())
            schema, name = _real(connection, schema), _real(connection, name)
            collations = self.dialect.collations(connection, schema, name)
            key = [_real(connection, column) for column in keyed]
            reflected = [{**column, "name": _real(connection, str(column["name"]))} for column in reflected]
            columns = [(c, self._mapped(c["type"])) for c in reflected]
            statistics = self.dialect.statistics(connection, schema, name)
        return RemoteTable(
            schema=schema,
            name=name,
            columns=tuple(_column(c, mapped, collations) for c, mapped in columns if mapped is not None),
            primary_key=tuple(key),
            statistics=statistics,
            skipped=tuple(f"{c['name']} {c['type']}" for c, mapped in columns if mapped is None),
        )

    def close(self) -> None:
        """Closes the pool's connections."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
                self._engine = None

    def _mapped(self, type_: sa.types.TypeEngine[object]) -> MappedType | None:
        mapped = self.dialect.map_type(type_)
        if mapped is None and self.settings.unsupported_types == "CONVERT_TO_VARCHAR":
            return MappedType("varchar", self.dialect.as_text)
        return mapped

    def _pool(self) -> Engine:
        with self._lock:
            if self._engine is None:
                # Every planner process has a pool: what is not in use is closed but for one.
                self._engine = self._engine_of(
                    sa.QueuePool,
                    pool_size=1,
                    max_overflow=self.settings.max_connections - 1,
                    pool_timeout=self.settings.connect_timeout_seconds,
                    pool_pre_ping=True,
                    pool_recycle=600,
                )
            return self._engine

    def _engine_of(self, pool: type[sa.Pool], **settings: object) -> Engine:
        try:
            engine = sa.create_engine(
                self.settings.url,
                poolclass=pool,
                connect_args=self.connect_arguments(),
                execution_options={"isolation_level": "AUTOCOMMIT"},
                hide_parameters=True,
                **settings,
            )
        except (ImportError, sa.exc.NoSuchModuleError) as error:
            raise self._without_driver() from error
        sa.event.listen(engine, "connect", self._connected)
        return engine

    def connect_arguments(self) -> dict[str, object]:
        """What the Python driver is given besides address and password."""
        settings = self.settings
        return dict(self.dialect.connect_arguments(settings.connect_timeout_seconds, settings.parameters))

    def _connected(self, connection: object, _record: object) -> None:
        try:
            self.dialect.connected(connection, self.settings.parameters)
        except ValueError as error:
            raise remote_error(self.settings, str(error)) from error

    def _without_driver(self) -> ProcessionError:
        name = self.settings.catalog
        advice = f"pip install 'procession[{self.dialect.name}]'"
        message = f"Catalog {name}: the Python driver of {self.dialect.name} is not installed: {advice}"
        return ProcessionError(ErrorCode.JDBC_ERROR, message)


def _real(connection: Connection, name: str) -> str:
    """The name as the database spells it: SQLAlchemy writes Oracle's and Db2's capitals as small letters."""
    dialect = connection.dialect
    return str(dialect.denormalize_name(name)) if dialect.requires_name_normalize else name


def _column(found: Mapping[str, object], mapped: MappedType, collations: Mapping[str, Collation]) -> RemoteColumn:
    name = str(found["name"])
    comment = found.get("comment")
    return RemoteColumn(
        name=name,
        remote_type=str(found["type"]),
        mapped=mapped,
        nullable=bool(found.get("nullable", True)),
        comment=None if comment is None else str(comment),
        collation=collations.get(name),
    )
