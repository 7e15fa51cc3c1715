"""Where Presto points for a tree node: at the operator of an infix expression, else at its first token.

sqlglot keeps the position of names, calls and literals alone. Keywords and operators are found among the statement's
tokens, stepping back from the part that follows them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot.tokens import Token

from coordinator.sql.tokens import tokenize
from shared.errors import ErrorLocation, ProcessionError
from shared.plan.expressions import SourceLocation

_TRANSPARENT = ("Paren", "Ordered", "Where", "Having", "Alias", "Escape", "From")
"""Their place is that of what they hold."""

_PREFIX = {
    "Case": ("case",), "Not": ("not",), "Exists": ("exists",), "Neg": ("-",), "Array": ("array",),
    "Select": ("select",), "Values": ("values",), "With": ("with",), "Unnest": ("unnest",), "Interval": ("interval",),
    "Subquery": ("(",), "Tuple": ("(",), "Paren": ("(",), "Order": ("order",),
    "Lateral": ("lateral",), "Cube": ("cube",), "Rollup": ("rollup",), "GroupingSets": ("grouping",),
}  # fmt: skip
"""The keyword before the first part that has a position."""

_INFIX = {
    "Add": ("+",), "Sub": ("-",), "Mul": ("*",), "Div": ("/",), "Mod": ("%",), "EQ": ("=",), "NEQ": ("<>", "!="),
    "LT": ("<",), "LTE": ("<=",), "GT": (">",), "GTE": (">=",), "And": ("and",), "Or": ("or",), "DPipe": ("||",),
    "NullSafeEQ": ("is",), "NullSafeNEQ": ("is",), "Is": ("is",), "Like": ("like",), "Between": ("between",),
    "In": ("in",), "Union": ("union",), "Except": ("except",), "Intersect": ("intersect",),
}  # fmt: skip
"""The keyword between the first part and the others; NOT before it belongs to it."""

_PLACELESS = ("null", "true", "false", ",", "-", "+", "not", "->", ")")
"""What may stand behind an opening parenthesis before the first part that has a position."""

_REACH = 8
"""How many tokens a keyword may stand before what follows it: parentheses, DISTINCT, the signs of a number."""


@dataclass(slots=True)
class Places:
    """The tokens of one statement, and what stands where in it; made once a statement, read for each of its parts."""

    text: str
    tokens: Sequence[Token] | None = None
    columns: set[str] = field(default_factory=set)
    """Variables that are columns of tables, where each reference has its own place; others stand where made."""
    _starts: list[int] = field(default_factory=list, init=False)

    def of(self, node: Any) -> SourceLocation | None:
        """The place of ``node``, or None for a part that keeps no position, such as TRUE."""
        token = self._token(node)
        if token is None:
            return None
        return SourceLocation(token.line, max(1, token.col - (token.end - token.start)))

    def error_location(self, node: Any) -> ErrorLocation | None:
        """The same for an error."""
        found = self.of(node)
        return None if found is None else ErrorLocation(found.line, found.column)

    def _token(self, node: Any) -> Token | None:
        kind = type(node).__name__
        while kind in _TRANSPARENT:
            node = node.this
            kind = type(node).__name__
        words = _INFIX.get(kind)
        if words is not None:
            found = self._infix(node, words)
            if found is not None:
                return found
        if kind == "Not":
            inner = self._negated(node.this)
            if inner is not None:
                return inner
        index = self._first(node)
        return None if index is None else self._all()[index]

    def _negated(self, node: Any) -> Token | None:
        """The NOT of ``x NOT IN …``, which the tree has around the whole."""
        words = _INFIX.get(type(node).__name__)
        found = None if words is None or type(node).__name__ == "Is" else self._infix(node, words)
        return found if found is not None and found.text.lower() == "not" else None

    def _infix(self, node: Any, words: tuple[str, ...]) -> Token | None:
        tokens = self._all()
        index = self._operator(node, words)
        if index is None:
            return None
        before = tokens[index - 1] if index else None
        return before if before is not None and words[0].isalpha() and before.text.lower() == "not" else tokens[index]

    def _operator(self, node: Any, words: tuple[str, ...]) -> int | None:
        right = _right(node)
        index = None if right is None else self._first(right)
        if index is not None:
            return self._back(index, words)
        # TRUE, NULL and their like have no place of their own.
        left = self._last(node.this)
        return None if left is None else self._ahead(left + 1, words)

    def _first(self, node: Any) -> int | None:
        """The index of the first token of ``node``."""
        kind = type(node).__name__
        while kind in _INFIX and node.this is not None:  # walked, not recursed: chains may be thousands long
            node = node.this
            kind = type(node).__name__
        words = _PREFIX.get(kind)
        meta = node.meta
        if "start" in meta and (meta["start"] or kind != "Star"):  # VALUES has a star of the parser's own
            return self._index(meta["start"])
        if kind == "Lambda":
            return self._first_of_lambda(node)
        if words is None:
            return self._first_inside(node)
        inner = self._first_inside(node)
        if inner is None:
            return None
        found = self._back(inner, words)
        return inner if found is None else found

    def _first_of_lambda(self, node: Any) -> int | None:
        """The first parameter, or the parenthesis around them; the tree has the body first."""
        index = self._first(node.expressions[0] if node.expressions else node.this)
        if index is None:
            return None
        tokens = self._all()
        enclosed = not node.expressions or tokens[index + 1].text != "->"
        return self._back(index, ("(",)) if enclosed else index

    def _first_inside(self, node: Any) -> int | None:
        if type(node).__name__ in ("Column", "Table"):
            # The arguments stand in another order than the text.
            starts = [part.meta["start"] for part in node.args.values() if _positioned(part)]
            return self._index(min(starts)) if starts else None
        for value in node.args.values():
            for child in value if isinstance(value, list) else (value,):
                if hasattr(child, "args"):
                    found = self._first(child)
                    if found is not None:
                        return found
        return None

    def _last(self, node: Any) -> int | None:
        ends = [inner.meta["start"] for inner in node.walk() if "start" in inner.meta]
        return self._index(max(ends)) if ends else None

    def _back(self, index: int, words: tuple[str, ...]) -> int | None:
        tokens = self._all()
        for candidate in range(index - 1, max(index - 1 - _REACH, -1), -1):
            found = _keyword(tokens[candidate])
            if found in words:
                return candidate
            if words == ("(",) and found not in _PLACELESS:
                return None
        return None

    def _ahead(self, index: int, words: tuple[str, ...]) -> int | None:
        tokens = self._all()
        for candidate in range(index, min(index + _REACH, len(tokens))):
            if _keyword(tokens[candidate]) in words:
                return candidate
        return None

    def _index(self, offset: int) -> int | None:
        self._all()
        found = bisect_right(self._starts, offset) - 1
        return found if found >= 0 else None

    def _all(self) -> Sequence[Token]:
        if self.tokens is None:
            try:
                self.tokens = tokenize(self.text)
            except ProcessionError:
                self.tokens = ()
        if not self._starts and self.tokens:
            self._starts = [token.start for token in self.tokens]
        return self.tokens


def _keyword(token: Token) -> str:
    """``ORDER BY`` and its like are one token, whatever stands between."""
    text = str(token.text).lower()
    return text.split(None, 1)[0] if text[:1].isalpha() else text


def _right(node: Any) -> Any:
    """What follows the keyword of an infix expression."""
    match type(node).__name__:
        case "In":
            items = node.expressions
            return items[0] if items else node.args.get("query")
        case "Between":
            return node.args["low"]
        case _:
            return node.args.get("expression")


def _positioned(part: Any) -> bool:
    return hasattr(part, "meta") and "start" in part.meta
