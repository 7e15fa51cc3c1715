"""The body of a temporary function, ``RETURN expression``, as its client keeps it."""

from __future__ import annotations

from coordinator.sql.cursor import Cursor
from coordinator.sql.lexer import too_large
from coordinator.sql.tree.expressions import Expression
from shared.errors import ErrorLocation


def parse_return(text: str) -> Expression:
    """The expression; raises a located SYNTAX_ERROR for anything else."""
    cursor = Cursor(text)
    try:
        cursor.expect("RETURN")
        made = cursor.read_expression()
        cursor.end()
    except RecursionError as error:
        raise too_large(ErrorLocation(1, 1)) from error
    return made
