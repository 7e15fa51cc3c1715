"""Which argument each position of a call means, where a procedure has the orders of several engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coordinator.sql.call_argument import CallArgument
from coordinator.sql.parser import parse_expression
from coordinator.sql.tree.expressions import (
    ArithmeticUnaryExpression,
    Expression,
    Identifier,
    LongLiteral,
    StringLiteral,
)
from coordinator.sql.tree.names import qualified_name
from shared.errors import ProcessionError
from shared.spi.connector import TableMetadata
from shared.spi.procedure import ProcedureDeclaration


def literal_text(written: CallArgument) -> str | None:
    """The text of an argument that is one plain text."""
    return written.value.value if isinstance(written.value, StringLiteral) else None


def names_in(text: str) -> tuple[str, ...] | None:
    """The parts of a name that a text holds, as written; None for any other text."""
    try:
        parts: tuple[Identifier, ...] | None = qualified_name(parse_expression(text))
    except ProcessionError:
        return None
    return None if parts is None else tuple(part.value for part in parts)


def presto_order(
    declaration: ProcedureDeclaration, arguments: Sequence[CallArgument], table: Callable[[], TableMetadata | None]
) -> Sequence[str]:
    """The declared order, or Presto's where the third argument is a value that the declared one does not allow.

    That is a number where a boolean is declared, or another text than its choices. A word that is neither allowed nor
    a column of ``table`` is a wrong value of the declared argument.
    """
    names = [argument.name for argument in declaration.arguments]
    order = declaration.presto_order
    if order and len(arguments) > 2 and declaration.arguments[2].type == "boolean":
        if not _is_number(arguments[2].value):
            return names
        return [*names[:2], *order, *(name for name in names[2:] if name not in order)]
    text = literal_text(arguments[2]) if order and len(arguments) > 2 else None
    if text is None:
        return names
    if text.strip().lower() in declaration.arguments[2].choices or _is_foreign_word(text, table):
        return names
    return [*names[:2], *order, *(name for name in names[2:] if name not in order)]


def _is_number(value: Expression) -> bool:
    return isinstance(value.value if isinstance(value, ArithmeticUnaryExpression) else value, LongLiteral)


def _is_foreign_word(text: str, look_up: Callable[[], TableMetadata | None]) -> bool:
    names = names_in(text)
    if names is None or len(names) != 1:
        return False
    table = look_up()
    return table is not None and names[0].lower() not in {column.name.lower() for column in table.columns}
