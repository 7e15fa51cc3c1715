"""The ways to write one call of a procedure, and what its declaration promises of the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.connectors.system import procedures as built_in
from shared.properties import Property
from shared.spi.procedure import Argument, ProcedureDeclaration
from tests.e2e.service import Service

_VALUES: dict[str, Callable[[Any], bool]] = {
    "bigint": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool) and abs(v) < 1 << 31,
    "double": lambda v: isinstance(v, float),
    "boolean": lambda v: isinstance(v, bool),
    "varchar": lambda v: isinstance(v, str),
    "timestamp with time zone": lambda v: isinstance(v, str) and v[:2] == "20" and " " in v,
    "array(bigint)": lambda v: isinstance(v, list) and all(isinstance(item, int) for item in v),
    "array(varchar)": lambda v: isinstance(v, list) and all(isinstance(item, str) for item in v),
}


@cache
def reference() -> dict[str, ProcedureDeclaration]:
    """Every declaration by name: those of a catalog, and the built-in ones."""
    values = {"iceberg.catalog.uri": "sqlite://", "iceberg.catalog.warehouse": "file:///nowhere"}
    properties = {k: Property(k, v, Path("lab.properties"), 2) for k, v in values.items()}
    found = [p.declaration for p in IcebergConnector("lab", properties).procedures()]
    modules = (import_module(f"{built_in.__name__}.{each.name}") for each in iter_modules(built_in.__path__))
    return {declaration.name: declaration for declaration in (*found, *(module.DECLARATION for module in modules))}


def called_by_name(name: str, table: str, arguments: Mapping[str, str]) -> str:
    """Iceberg's ``table =>``."""
    given = {"table": f"'{table}'", **arguments}
    return f"CALL iceberg.system.{name}({', '.join(f'{k} => {v}' for k, v in given.items())})"


def called_by_position(name: str, table: str, arguments: Mapping[str, str]) -> str:
    """Presto's order, schema and table first; gaps are filled with the defaults."""
    schema, _, plain = table.partition(".")
    written = fitted(name, {"schema": f"'{schema}'", "table_name": f"'{plain}'", **arguments})
    return f"CALL iceberg.system.{name}({', '.join(written)})"


def executed(name: str, table: str, arguments: Mapping[str, str]) -> str:
    """Trino's ``ALTER TABLE … EXECUTE``."""
    given = ", ".join(f"{k} => {v}" for k, v in arguments.items())
    return f"ALTER TABLE iceberg.{table} EXECUTE {name}({given})"


def called_as_in_iceberg(name: str, table: str, arguments: Mapping[str, str]) -> str:
    """One dotted name, then Iceberg's order, as its Spark procedures have it."""
    first = reference()[name].iceberg_order
    declared = [a.name for a in reference()[name].arguments[2:]]
    order = [*first, *(key for key in declared if key not in first)]
    written = [f"'{table}'", *fitted(name, arguments, order)]
    return f"CALL iceberg.system.{name}({', '.join(written)})"


SPELLINGS = {
    "name": called_by_name,
    "position": called_by_position,
    "iceberg": called_as_in_iceberg,
    "execute": executed,
}


def fitted(name: str, arguments: Mapping[str, str], order: Sequence[str] = ()) -> list[str]:
    """The arguments in their declared order, or in ``order``, up to the last one given."""
    declared = {argument.name: argument for argument in reference()[name].arguments}
    names = list(order or declared)
    last = max((names.index(key) for key in arguments), default=-1)
    return [arguments.get(key, _default(declared[key])) for key in names[: last + 1]]


def _default(argument: Argument) -> str:
    match argument.default:
        case None:
            return "NULL"
        case bool() as value:
            return str(value).lower()
        case str() as value:
            return f"'{value}'"
        case value:
            return str(value)


def check_result(service: Service, sql: str, name: str, arguments: Mapping[str, str]) -> list[list[Any]]:
    """The rows of the call, whose columns and values are of the declared names and types."""
    cursor = service.cursor()
    cursor.execute(sql)
    rows: list[list[Any]] = cursor.fetchall()
    declared = reference()[name].output_of({"dry_run": arguments.get("dry_run") == "true"})
    found = [(column[0], column[1]) for column in cursor.description]
    assert found == [(column.name, column.type) for column in declared], sql
    for row in rows:
        for value, column in zip(row, declared, strict=True):
            assert value is None or _VALUES[column.type](value), (sql, column, value)
    return rows
