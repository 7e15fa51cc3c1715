"""DATE_FORMAT with a literal pattern: MySQL's letters in the words of Spark."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from coordinator.unparser.trees import call, text

# MySQL's letter: Java's DateTimeFormatter. The others are left to the kernels.
_MYSQL = {
    "Y": "yyyy", "y": "yy", "m": "MM", "c": "M", "d": "dd", "e": "d", "H": "HH", "k": "H", "h": "hh", "I": "hh",
    "l": "h", "i": "mm", "s": "ss", "S": "ss", "f": "SSSSSS", "p": "a", "M": "MMMM", "b": "MMM", "W": "EEEE",
    "a": "EEE", "j": "DDD", "T": "HH:mm:ss", "r": "hh:mm:ss a", "%": "%",
}  # fmt: skip


def _literal(tree: exp.Expr) -> str:
    """The text of a literal; TypeError for anything computed."""
    if not isinstance(tree, exp.Literal) or not tree.is_string:
        raise TypeError("the format is not a literal")
    return str(tree.this)


def _from_mysql(pattern: str) -> str:
    made, position = "", 0
    while position < len(pattern):
        character = pattern[position]
        if character == "%" and position + 1 < len(pattern):
            letter = pattern[position + 1]
            if letter not in _MYSQL:
                raise TypeError(f"format letter {letter}")
            made += _MYSQL[letter]
            position += 2
            continue
        made += f"'{character}'" if character.isalpha() or character in "[]{}#'" else character
        position += 1
    return made.replace("''", "")


def _date_format(instant: exp.Expr, pattern: exp.Expr) -> exp.Expr:
    return call("date_format", instant, text(_from_mysql(_literal(pattern))))


SPARK_DATES: dict[str, Callable[..., exp.Expr]] = {"date_format": _date_format}
