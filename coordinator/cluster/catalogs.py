"""Catalogs that statements made, in the database of the coordinators: all of them have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import structlog
from sqlalchemy import Connection, Engine, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import SQLAlchemyError

from coordinator.cluster.schema import CATALOGS
from coordinator.cluster.sealing import Sealing
from coordinator.connectors.managed import SharedDefinition
from coordinator.vocabulary.planned_statement import CatalogDefinition
from shared.errors import ErrorCode, ProcessionError

T = TypeVar("T")
_log = structlog.get_logger(__name__)


class SharedCatalogs:
    """Implements ``CatalogStore``; any thread may call, and every call blocks."""

    def __init__(self, engine: Engine, secret: str) -> None:
        self._engine, self._sealing = engine, Sealing(secret, "catalogs")
        self._complained: set[tuple[str, int]] = set()

    def all(self) -> Mapping[str, SharedDefinition]:
        """By their names; those that another secret has sealed have no definition."""

        def read() -> dict[str, SharedDefinition]:
            with self._engine.connect() as connection:
                rows = connection.execute(select(CATALOGS.c.name, CATALOGS.c.version, CATALOGS.c.sealed)).all()
            return {name: self._opened(name, version, sealed) for name, version, sealed in rows}

        return _asked(read)

    def _opened(self, name: str, version: int, sealed: str) -> SharedDefinition:
        content = self._sealing.open(name, sealed)
        if content is not None:
            return _shared(version, content)
        if (name, version) not in self._complained:
            self._complained.add((name, version))
            _log.error("another secret has sealed a catalog of the coordinators: it stays as it is here", catalog=name)
        return SharedDefinition(version, None)

    def add(self, name: str, definition: CatalogDefinition) -> int | None:
        """The version of what is new; None where one of this name is there."""
        sealed = self._sealed(name, definition)

        def write() -> int | None:
            with self._engine.begin() as connection:
                return _inserted(connection, name, sealed)

        return _asked(write)

    def replace(self, name: str, version: int, definition: CatalogDefinition) -> int | None:
        """The new version; None where another than ``version`` is there, or none."""
        sealed = self._sealed(name, definition)

        def write() -> int | None:
            with self._engine.begin() as connection:
                old = delete(CATALOGS).where(CATALOGS.c.name == name, CATALOGS.c.version == version)
                return _inserted(connection, name, sealed) if connection.execute(old).rowcount else None

        return _asked(write)

    def _sealed(self, name: str, definition: CatalogDefinition) -> str:
        return self._sealing.seal(name, {"connector": definition.connector, "properties": list(definition.properties)})

    def remove(self, name: str) -> None:
        def write() -> None:
            with self._engine.begin() as connection:
                connection.execute(delete(CATALOGS).where(CATALOGS.c.name == name))

        _asked(write)


def _inserted(connection: Connection, name: str, sealed: str) -> int | None:
    made = insert(CATALOGS).values(name=name, sealed=sealed, changed=func.now())
    found = connection.execute(made.on_conflict_do_nothing().returning(CATALOGS.c.version)).scalar()
    return None if found is None else int(found)


def _shared(version: int, content: Mapping[str, object]) -> SharedDefinition:
    properties = content["properties"]
    pairs = tuple((str(key), str(value)) for key, value in properties) if isinstance(properties, list) else ()
    return SharedDefinition(version, CatalogDefinition(str(content["connector"]), pairs))


def _asked(ask: Callable[[], T]) -> T:
    try:
        return ask()
    except SQLAlchemyError as error:
        message = "The database of the coordinators cannot be reached; try again"
        raise ProcessionError(ErrorCode.SERVER_STARTING_UP, message, retriable=True) from error
