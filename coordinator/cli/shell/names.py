"""What may be typed: catalogs, tables, columns, functions, procedures; asked of the server and kept a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from coordinator.cli.client import ServerUnreachableError, StatementClient, StatementError
from shared.spi.session_function import NAMESPACE

_SECONDS = 60.0
_RETRY_SECONDS = 5.0
_PROCEDURES = (
    "SELECT procedure_cat, procedure_schem, procedure_name, column_name, type_name, column_type "
    "FROM system.jdbc.procedure_columns ORDER BY procedure_cat, procedure_name, ordinal_position"
)
_ARGUMENT = 1
"""``column_type`` of JDBC for what a procedure takes."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """``arguments``: names with their types, in order."""

    catalog: str
    schema: str
    name: str
    arguments: tuple[tuple[str, str], ...]


Row = Sequence[object]


def quoted(*parts: str) -> str:
    """A name of SQL with its quotes."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


class Names:
    """Asks by a connection of its own; what the server refuses is an empty answer. May be used by several threads."""

    def __init__(self, connect: Callable[[], StatementClient], own: Callable[[], Iterable[str]] = tuple) -> None:
        """``own``: the temporary functions of the session, by the ids under which it keeps them."""
        self._connect, self._own = connect, own
        self._client: StatementClient | None = None
        self._kept: dict[str, tuple[float, list[tuple[object, ...]]]] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the connection, also while a thread waits for an answer."""
        if self._client is not None:
            self._client.__exit__(None, None, None)

    def forget(self) -> None:
        """Something was created, changed or dropped."""
        self._kept.clear()

    def catalogs(self) -> list[str]:
        return self._firsts("SHOW CATALOGS")

    def schemas(self, catalog: str) -> list[str]:
        return self._firsts(f"SHOW SCHEMAS FROM {quoted(catalog)}")

    def tables(self, catalog: str, schema: str) -> list[str]:
        return self._firsts(f"SHOW TABLES FROM {quoted(catalog, schema)}")

    def columns(self, catalog: str, schema: str, table: str) -> list[tuple[str, str]]:
        """Names and types."""
        rows = self._rows(f"SHOW COLUMNS FROM {quoted(catalog, schema, table)}")
        return [(str(row[0]), str(row[1])) for row in rows]

    def functions(self) -> list[str]:
        """Each name once, those of the session too."""
        own = {each.strip('"').partition(";")[0].removeprefix(NAMESPACE) for each in self._own()}
        return sorted(own.union(self._firsts("SHOW FUNCTIONS")))

    def properties(self) -> list[tuple[str, str]]:
        """Session properties and what they mean."""
        return [(str(row[0]), str(row[-1])) for row in self._rows("SHOW SESSION")]

    def procedures(self) -> list[Procedure]:
        found: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
        for catalog, schema, name, column, type_, kind in self._rows(_PROCEDURES):
            arguments = found.setdefault((str(catalog), str(schema), str(name)), [])
            if kind == _ARGUMENT:
                arguments.append((str(column), str(type_)))
        return [Procedure(*key, tuple(arguments)) for key, arguments in found.items()]

    def _firsts(self, sql: str) -> list[str]:
        return [str(row[0]) for row in self._rows(sql)]

    def _rows(self, sql: str) -> list[tuple[object, ...]]:
        with self._lock:
            until, rows = self._kept.get(sql, (0.0, []))
            if time.monotonic() < until:
                return rows
            try:
                rows, seconds = self._ask(sql), _SECONDS
            except (StatementError, ServerUnreachableError):
                rows, seconds = [], _RETRY_SECONDS
            self._kept[sql] = time.monotonic() + seconds, rows
            return rows

    def _ask(self, sql: str) -> list[tuple[object, ...]]:
        if self._client is None:
            self._client = self._connect()
        return [row for page in self._client.execute(sql) for row in page.rows]
