"""``CALL system.help()``: what can be called and how, printed from the declarations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    Argument,
    Arguments,
    OutputColumn,
    Procedure,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureResult,
)
from shared.spi.procedure_arguments import Declared, declared_arguments, record_of


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpArguments:
    """What the call says."""

    procedure: Annotated[str | None, Declared("varchar", "Procedure to describe, with or without its catalog.")] = None


DECLARATION = ProcedureDeclaration(
    name="help",
    kind=ProcedureKind.COORDINATOR,
    summary="List every procedure, or describe one.",
    arguments=declared_arguments(HelpArguments),
    output=(
        OutputColumn("procedure", "varchar", "Qualified name to CALL."),
        OutputColumn("kind", "varchar", "COORDINATOR, TABLE_DATA_REWRITE or MAINTENANCE: where it runs."),
        OutputColumn("summary", "varchar", "What it does."),
        OutputColumn("arguments", "varchar", "Names, types and defaults; with docs when one procedure is asked for."),
        OutputColumn("returns", "varchar", "Columns of its result rows."),
        OutputColumn("example", "varchar", "A call to start from."),
    ),
    example="CALL system.help(procedure => 'rewrite_data_files')",
)


class Help:
    """Reads the declarations when it is called, so that it always tells what can be called now."""

    declaration = DECLARATION

    def __init__(self, procedures: Callable[[], Sequence[tuple[str, Procedure]]]) -> None:
        self._procedures = procedures

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:  # noqa: ARG002  (the SPI's)
        """One row a procedure, by name; raises PROCEDURE_NOT_FOUND when the asked one does not exist."""
        asked = record_of(HelpArguments, arguments).procedure
        found = {qualified_name(catalog, p.declaration): p.declaration for catalog, p in self._procedures()}
        if asked is not None:
            found = _matching(found, asked)
        return ProcedureResult(rows=[_row(name, found[name], detailed=asked is not None) for name in sorted(found)])


def qualified_name(catalog: str, declaration: ProcedureDeclaration) -> str:
    """The name to CALL: built-in procedures need no catalog."""
    return f"system.{declaration.name}" if catalog == "system" else f"{catalog}.system.{declaration.name}"


def argument_text(argument: Argument) -> str:
    """``name type``, with the default of an optional argument."""
    text = f"{argument.name} {argument.type}"
    if argument.required:
        return text
    return f"{text} = {default_text(argument.default)}"


def default_text(value: object) -> str:
    """A default as one would write it in SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case dict():
            keys, values = ", ".join(map(default_text, value)), ", ".join(map(default_text, value.values()))
            return f"MAP(ARRAY[{keys}], ARRAY[{values}])" if value else "MAP()"
        case tuple() | list():
            return f"ARRAY[{', '.join(map(default_text, value))}]"
        case _:
            return str(value)


def _matching(found: dict[str, ProcedureDeclaration], asked: str) -> dict[str, ProcedureDeclaration]:
    folded = asked.strip().lower()
    matching = {name: d for name, d in found.items() if name == folded or name.endswith(f".{folded}")}
    if matching:
        return matching
    message = f"Procedure not registered: {asked}"
    near = get_close_matches(folded.rpartition(".")[2], sorted({d.name for d in found.values()}), n=2, cutoff=0.6)
    if near:
        message += f". Did you mean {' or '.join(near)}?"
    raise ProcessionError(ErrorCode.PROCEDURE_NOT_FOUND, message)


def _row(name: str, declaration: ProcedureDeclaration, *, detailed: bool) -> tuple[str, ...]:
    if detailed:
        arguments = "\n".join(f"{argument_text(a)}: {a.doc}" for a in declaration.arguments)
        returns = "\n".join(f"{c.name} {c.type}: {c.doc}".removesuffix(": ") for c in declaration.output)
    else:
        arguments = ", ".join(argument_text(a) for a in declaration.arguments)
        returns = ", ".join(f"{c.name} {c.type}" for c in declaration.output)
    return (name, declaration.kind.value, declaration.summary, arguments, returns, declaration.example)
