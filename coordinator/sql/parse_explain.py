"""``EXPLAIN [ANALYZE] [VERBOSE] [(TYPE …, FORMAT …)] statement``."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeVar

from coordinator.sql.cursor import Cursor
from coordinator.sql.statements import Explain, ExplainFormat, ExplainType, Statement
from shared.errors import ErrorCode, ProcessionError

Option = TypeVar("Option", bound=Enum)


def parse_explain(cursor: Cursor, parse: Callable[[Cursor], Statement]) -> Explain:
    """An EXPLAIN from its keyword on; ``parse`` reads the explained statement."""
    location = cursor.location
    cursor.expect("EXPLAIN")
    analyze = cursor.accept("ANALYZE")
    verbose = cursor.accept("VERBOSE")
    explain_type: ExplainType | None = None
    explain_format: ExplainFormat | None = None
    if cursor.word == "(" and cursor.ahead(1) in {"TYPE", "FORMAT"}:
        cursor.expect("(")
        while True:
            if cursor.expect("FORMAT", "TYPE") == "TYPE":
                explain_type = _option(cursor, ExplainType, explain_type)
            else:
                explain_format = _option(cursor, ExplainFormat, explain_format)
            if cursor.expect(",", ")") == ")":
                break
    text = cursor.text_to_end()
    statement = parse(cursor)
    cursor.skip_to_end()
    return Explain(
        statement=statement,
        text=text,
        analyze=analyze,
        verbose=verbose,
        type=explain_type or (ExplainType.DISTRIBUTED if analyze else ExplainType.LOGICAL),
        format=explain_format or _default_format(explain_type),
        location=location,
    )


def _default_format(explain_type: ExplainType | None) -> ExplainFormat:
    return ExplainFormat.JSON if explain_type is ExplainType.IO else ExplainFormat.TEXT


def _option(cursor: Cursor, type_: type[Option], previous: Option | None) -> Option:
    location = cursor.location
    names = {option.name: option for option in type_}
    option = names[cursor.expect(*sorted(names))]
    if previous is not None and previous is not option:
        message = f"EXPLAIN {type_.__name__.removeprefix('Explain').upper()} is given twice"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    return option
