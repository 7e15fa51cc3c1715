"""Calls: their arguments in all of SQL's forms, FILTER, and the windows of OVER."""

from __future__ import annotations

from typing import Literal

from coordinator.sql.grammar.words import EXPRESSION, Words
from coordinator.sql.tree.expressions import (
    CurrentTime,
    DereferenceExpression,
    Expression,
    Extract,
    FrameBound,
    FunctionCall,
    GroupingOperation,
    Identifier,
    SortItem,
    StringLiteral,
    Window,
    WindowFrame,
)
from shared.errors import ProcessionError
from shared.plan.expressions import SourceLocation

_FRAMES = ("GROUPS", "RANGE", "ROWS")
_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
_TRIMMED = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
_MOMENTS = {
    "CURRENT_DATE": "current_date",
    "CURRENT_TIME": "current_time",
    "CURRENT_TIMESTAMP": "current_timestamp",
    "LOCALTIME": "localtime",
    "LOCALTIMESTAMP": "localtimestamp",
    "CURRENT_USER": "current_user",
    "CURRENT_ROLE": "current_role",
}
NILADIC = frozenset(_MOMENTS)
"""Reserved words that are called without parentheses."""


def expressions(words: Words) -> tuple[Expression, ...]:
    """One or more, separated by commas."""
    expression = words.rules.expression
    found = [expression(words)]
    while words.accept(","):
        found.append(expression(words))
    return tuple(found)


def current_time(words: Words) -> CurrentTime:
    """``CURRENT_DATE`` and its like; a precision where one is written."""
    place, function = words.place(), _MOMENTS[words.word]
    words.position += 1
    precision = None
    if words.accept("("):
        if words.word.isdigit():
            precision = int(words.word)
            words.position += 1
        words.expect(")")
    return CurrentTime(location=place, function=function, precision=precision)  # type: ignore[arg-type]


def extract(words: Words) -> Extract:
    """``EXTRACT(field FROM value)``."""
    place = words.place()
    words.position += 1
    words.expect("(")
    field = words.identifier().value
    words.expect("FROM")
    value = words.rules.value(words)
    words.expect(")")
    return Extract(location=place, field=field, expression=value)


def normalize(words: Words) -> FunctionCall:
    """``NORMALIZE(value [, form])``."""
    begin = words.position
    words.position += 2
    arguments = [words.rules.value(words)]
    form = "NFC"
    if words.accept(","):
        form = words.expect(*_FORMS)
    words.expect(")")
    place = words.place(begin)
    arguments.append(StringLiteral(location=place, value=form))
    name = Identifier(location=place, value="normalize")
    return FunctionCall(location=place, name=(name,), arguments=tuple(arguments))


def grouping(words: Words) -> GroupingOperation:
    """``GROUPING(column, …)``."""
    place = words.place()
    words.position += 2
    if words.kind == "end" or not words.is_identifier():
        raise words.mismatch(EXPRESSION)
    columns: list[Expression] = []
    while words.word != ")":
        columns.append(_column(words))
        if words.word not in (",", ")"):
            raise words.mismatch(("')'", "','"))
        words.accept(",")
    words.position += 1
    return GroupingOperation(location=place, columns=tuple(columns))


def _column(words: Words) -> Expression:
    column: Expression = words.identifier()
    while words.accept("."):
        column = DereferenceExpression(location=column.location, base=column, field=words.identifier())
    return column


def call(words: Words, name: tuple[Identifier, ...], place: SourceLocation) -> FunctionCall:
    """A call from its opening parenthesis on."""
    special = _SPECIAL.get(words.ahead(-1))
    words.position += 1
    distinct = star = False
    arguments: list[Expression] = []
    order: tuple[SortItem, ...] = ()
    if words.word == "*":
        words.position += 1
        star = True
    elif words.word != ")":
        if words.word in ("DISTINCT", "ALL"):
            distinct = words.word == "DISTINCT"
            words.position += 1
        form, arguments = ("", [words.rules.expression(words)]) if special is None else special(words)
        if form:
            name = (Identifier(location=place, value=form),)
        else:
            order = _more_arguments(words, arguments)
    words.expect(")")
    return _after_call(words, name, tuple(arguments), place, star, distinct, order)


def _more_arguments(words: Words, arguments: list[Expression]) -> tuple[SortItem, ...]:
    while words.accept(","):
        arguments.append(words.rules.expression(words))
    if not words.accept("ORDER"):
        return ()
    words.expect("BY")
    return sort_items(words)


def _position(words: Words) -> tuple[str, list[Expression]]:
    """``a IN b``, which is strpos(b, a)."""
    first = words.rules.value(words)
    if words.accept("IN"):
        return "strpos", [words.rules.value(words), first]
    return "", [first]


def _substring(words: Words) -> tuple[str, list[Expression]]:
    """``a FROM b [FOR c]``."""
    arguments = [words.rules.expression(words)]
    if not words.accept("FROM"):
        return "", arguments
    arguments.append(words.rules.expression(words))
    if words.accept("FOR"):
        arguments.append(words.rules.expression(words))
    return "substr", arguments


def _trim(words: Words) -> tuple[str, list[Expression]]:
    """``[BOTH | LEADING | TRAILING] [characters] FROM source``."""
    name = ""
    if words.word in _TRIMMED and words.ahead(1) not in (",", ")", "."):
        name = _TRIMMED[words.word]
        words.position += 1
    first = [] if name and words.word == "FROM" else [words.rules.expression(words)]
    if words.word == "FROM":
        words.position += 1
        return name or "trim", [words.rules.expression(words), *first]
    return name, first


_SPECIAL = {"POSITION": _position, "SUBSTRING": _substring, "TRIM": _trim}


def _after_call(
    words: Words,
    name: tuple[Identifier, ...],
    arguments: tuple[Expression, ...],
    place: SourceLocation,
    star: bool,
    distinct: bool,
    order: tuple[SortItem, ...],
) -> FunctionCall:
    """FILTER, the treatment of NULLs and OVER."""
    condition = window = None
    nulls: Literal["IGNORE", "RESPECT"] | None = None
    if words.word == "FILTER" and words.ahead(1) == "(" and words.ahead(2) == "WHERE":
        words.position += 3
        condition = words.rules.expression(words)
        words.expect(")")
    if words.word in ("IGNORE", "RESPECT") and words.ahead(1) == "NULLS":
        nulls = "IGNORE" if words.word == "IGNORE" else "RESPECT"
        words.position += 2
    if words.word == "OVER" and (words.ahead(1) == "(" or words.is_identifier(1)):
        window = _over(words)
    return FunctionCall(
        location=place,
        name=name,
        arguments=arguments,
        star=star,
        distinct=distinct,
        order_by=order,
        filter=condition,
        nulls=nulls,
        window=window,
    )


def _over(words: Words) -> Window:
    place = words.place()
    words.position += 1
    if words.word != "(":
        return Window(location=place, name=words.identifier())
    begin = words.position
    try:
        return window_in_parentheses(words, place)
    except ProcessionError:
        if not _is_list_of_names(words, begin + 1):
            raise
    # ANTLR then takes OVER for an alias, behind which no parenthesis can stand.
    words.position = begin
    raise words.mismatch(("<EOF>",))


def _is_list_of_names(words: Words, begin: int) -> bool:
    """Whether up to here nothing but names and commas was read."""
    inside = range(begin, words.position)
    return all(words.is_identifier_at(i) if (i - begin) % 2 == 0 else words.words[i] == "," for i in inside)


def window_in_parentheses(words: Words, place: SourceLocation) -> Window:
    """``([name] [PARTITION BY …] [ORDER BY …] [frame])``."""
    words.expect("(")
    name = None
    if words.is_identifier() and words.word not in ("PARTITION", *_FRAMES):
        name = words.identifier()
    partition: tuple[Expression, ...] = ()
    order: tuple[SortItem, ...] = ()
    if words.accept("PARTITION", "BY"):
        partition = expressions(words)
    order_place = words.place()
    if words.accept("ORDER", "BY"):
        order = sort_items(words)
    frame = _frame(words) if words.word in _FRAMES else None
    words.expect(")")
    return Window(
        location=place,
        name=name,
        partition_by=partition,
        order_by=order,
        order_by_location=order_place if order else None,
        frame=frame,
    )


def _frame(words: Words) -> WindowFrame:
    place = words.place()
    kind = words.expect(*_FRAMES)
    if words.accept("BETWEEN"):
        start = _bound(words)
        words.expect("AND")
        end = _bound(words)
    else:
        start, end = _bound(words), None
    return WindowFrame(location=place, kind=kind, start=start, end=end)  # type: ignore[arg-type]


def _bound(words: Words) -> FrameBound:
    place = words.place()
    if words.accept("CURRENT", "ROW"):
        return FrameBound(location=place, kind="CURRENT ROW")
    if words.accept("UNBOUNDED"):
        following = words.expect("FOLLOWING", "PRECEDING") == "FOLLOWING"
        return FrameBound(location=place, kind="UNBOUNDED FOLLOWING" if following else "UNBOUNDED PRECEDING")
    if words.kind == "end":
        raise words.mismatch(("'CURRENT'", "'UNBOUNDED'", "<expression>"))
    value = words.rules.expression(words)
    if words.word not in ("FOLLOWING", "PRECEDING"):
        raise words.mismatch(("'FOLLOWING'", "'PRECEDING'"))
    following = words.word == "FOLLOWING"
    words.position += 1
    return FrameBound(location=place, kind="FOLLOWING" if following else "PRECEDING", value=value)


def sort_items(words: Words) -> tuple[SortItem, ...]:
    """``expression [ASC | DESC] [NULLS FIRST | LAST]``, …"""
    found: list[SortItem] = []
    while True:
        place = words.place()
        key = words.rules.expression(words)
        descending = words.word == "DESC"
        if descending or words.word == "ASC":
            words.position += 1
        first = words.accept("NULLS") and words.expect("FIRST", "LAST") == "FIRST"
        found.append(SortItem(location=place, sort_key=key, descending=descending, nulls_first=first))
        if not words.accept(","):
            return tuple(found)
