"""Which argument each position of a call means, where a procedure has the orders of several engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coordinator.sql.call_argument import CallArgument
from coordinator.sql.tokens import is_identifier, is_string, tokenize
from shared.errors import ProcessionError
from shared.spi.connector import TableMetadata
from shared.spi.procedure import ProcedureDeclaration


def is_literal(written: CallArgument) -> bool:
    """Whether the argument is one plain text."""
    return len(written.tokens) == 1 and is_string(written.tokens[0])


def presto_order(
    declaration: ProcedureDeclaration, arguments: Sequence[CallArgument], table: Callable[[], TableMetadata | None]
) -> Sequence[str]:
    """The declared order, or Presto's where the third argument is a text that the declared one does not allow.

    A word that is neither allowed nor a column of ``table`` is a wrong value of the declared argument.
    """
    names = [argument.name for argument in declaration.arguments]
    order = declaration.presto_order
    if not order or len(arguments) < 3 or not is_literal(arguments[2]):
        return names
    text = str(arguments[2].tokens[0].text)
    declared = declaration.arguments[2]
    if text.strip().lower() in declared.choices or _is_foreign_word(text, table):
        return names
    return [*names[:2], *order, *(name for name in names[2:] if name not in order)]


def _is_foreign_word(text: str, look_up: Callable[[], TableMetadata | None]) -> bool:
    try:
        tokens = tokenize(text)
    except ProcessionError:
        return False
    if len(tokens) != 1 or not is_identifier(tokens[0]):
        return False
    table = look_up()
    return table is not None and tokens[0].text.lower() not in {column.name.lower() for column in table.columns}
