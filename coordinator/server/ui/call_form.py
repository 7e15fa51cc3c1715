"""CALL statements from forms: every value is a literal of its argument's type, whatever was typed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from coordinator.server.ui.statements import identifier, text
from shared.plan.types import Type, parse_type
from shared.spi.procedure import Argument, ProcedureDeclaration

PREFIX = "arg."
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")
_INTEGERS = frozenset({"tinyint", "smallint", "integer", "bigint"})


class FormError(ValueError):
    """What was typed is no value of the argument; the text is for people."""


def call_statement(catalog: str, declaration: ProcedureDeclaration, fields: Mapping[str, str], *, dry_run: bool) -> str:
    """Fields that are empty are left out. Raises FormError."""
    arguments = []
    for argument in declaration.arguments:
        typed = fields.get(PREFIX + argument.name, "").strip()
        if argument.name == "dry_run":
            typed = "true" if dry_run else typed
        if not typed:
            if argument.required:
                raise FormError(f"{argument.name} is needed")
            continue
        arguments.append(f"{identifier(argument.name)} => {_literal(argument, typed)}")
    listed = ",\n    ".join(arguments)
    name = f"{identifier(catalog)}.system.{identifier(declaration.name)}"
    return f"CALL {name}(\n    {listed}\n)" if arguments else f"CALL {name}()"


def takes_dry_run(declaration: ProcedureDeclaration) -> bool:
    return any(argument.name == "dry_run" for argument in declaration.arguments)


def hint(argument: Argument) -> str:
    """How the value of an argument is typed."""
    base = parse_type(argument.type).base
    return {"array": "values, with commas between them", "map": "key=value, one a line", "date": "2026-11-23"}.get(
        base, "2026-11-23 06:00:00" if base.startswith("timestamp") else ""
    )


def _literal(argument: Argument, typed: str) -> str:
    return literal(parse_type(argument.type), typed, argument.name)


def literal(type_: Type, typed: str, name: str) -> str:
    """SQL of a value. Raises FormError.

    >>> literal(parse_type("array(varchar)"), "a, b'c", "x")
    "ARRAY['a', 'b''c']"
    """
    base = type_.base
    if base == "boolean":
        if typed.lower() not in ("true", "false"):
            raise FormError(f"{name}: expected true or false")
        return typed.lower()
    if base in _INTEGERS:
        if not _INTEGER.fullmatch(typed):
            raise FormError(f"{name}: expected an integer")
        return typed
    if base in ("double", "real", "decimal"):
        if not _NUMBER.fullmatch(typed):
            raise FormError(f"{name}: expected a number")
        return f"{base.upper()} {text(typed)}" if base != "decimal" else f"DECIMAL {text(typed)}"
    if base == "array":
        parts = [part.strip() for part in typed.split(",") if part.strip()]
        return f"ARRAY[{', '.join(literal(type_.arguments[0], part, name) for part in parts)}]"
    if base == "map":
        return _map_literal(type_, typed, name)
    if base == "date" or base.startswith(("timestamp", "time")):
        return f"{base.split(' ')[0].upper()} {text(typed)}"
    return text(typed)


def _map_literal(type_: Type, typed: str, name: str) -> str:
    pairs = [line.partition("=") for line in typed.splitlines() if line.strip()]
    if any(not separator for _, separator, _ in pairs):
        raise FormError(f"{name}: expected key=value, one a line")
    keys = ", ".join(literal(type_.arguments[0], key.strip(), name) for key, _, _ in pairs)
    values = ", ".join(literal(type_.arguments[1], value.strip(), name) for _, _, value in pairs)
    return f"MAP(ARRAY[{keys}], ARRAY[{values}])"
