"""A text's tokens as words one can step over, and Presto's refusal of the word that does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordinator.sql.lexer import Kind, Tokens, matching
from coordinator.sql.tree.expressions import Expression, Identifier
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.expressions import SourceLocation

if TYPE_CHECKING:
    from coordinator.sql.tree.queries import Query

Expected = tuple[str, ...]

EXPRESSION: Expected = ("<expression>",)
IDENTIFIER: Expected = ("<identifier>",)
_NAMES = frozenset(("name", "quoted", "backquoted", "digits"))
_DIGITS = "identifiers must not start with a digit; surround the identifier with double quotes"
_BACKQUOTED = "backquoted identifiers are not supported; use double quotes to quote identifiers"


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules that hold one another: calls have expressions inside, expressions calls and queries."""

    expression: Callable[[Words], Expression]
    value: Callable[[Words], Expression]
    query: Callable[[Words], Query]


class Words:
    """A place among the tokens of a text. ``parameters`` counts the question marks so far."""

    def __init__(self, text: str, rules: Rules) -> None:
        self.text = text
        self.tokens = Tokens(text)
        self.words = self.tokens.words
        self.kinds = self.tokens.kinds
        self.rules = rules
        self.position = 0
        self.parameters = 0
        self._closing: dict[int, int] | None = None

    @property
    def word(self) -> str:
        """The next word in upper case, a sign, a number, or an empty text for other literals, names and the end."""
        return self.words[self.position]

    @property
    def kind(self) -> Kind:
        return self.kinds[self.position]

    def ahead(self, count: int) -> str:
        """The word ``count`` behind the next one."""
        index = self.position + count
        return self.words[index] if index < len(self.words) else ""

    def kind_ahead(self, count: int) -> Kind:
        index = self.position + count
        return self.kinds[index] if index < len(self.kinds) else "end"

    @property
    def closing(self) -> dict[int, int]:
        """By the index of an opening parenthesis that of its closing one."""
        if self._closing is None:
            self._closing = matching(self.words)
        return self._closing

    def after_parenthesis(self, index: int) -> int:
        """The index behind the parenthesis that closes the one at ``index``; that of the end where none does."""
        return self.closing.get(index, len(self.words) - 2) + 1

    def is_closed(self) -> bool:
        """Whether a parenthesis comes next that is closed somewhere."""
        return self.position in self.closing

    def place(self, index: int | None = None) -> SourceLocation:
        """Where a token stands: the next one, or the one at ``index``."""
        line, column = self.tokens.line_and_column(self.tokens.starts[self.position if index is None else index])
        return SourceLocation(line, column)

    @property
    def location(self) -> ErrorLocation:
        """Where the next token stands, or the place after the last character."""
        return self.tokens.location(self.tokens.starts[self.position])

    def source(self, start: int, end: int | None = None) -> str:
        """The text from the token at ``start`` up to the one before ``end``, or before the next one."""
        last = (self.position if end is None else end) - 1
        return self.text[self.tokens.starts[start] : self.tokens.ends[last]]

    def accept(self, *words: str) -> bool:
        """Steps over the words when they come next."""
        for count, word in enumerate(words):
            if self.ahead(count) != word:
                return False
        self.position += len(words)
        return True

    def expect(self, *words: str) -> str:
        """Steps over one of the words; a closing parenthesis may be missing after more than itself."""
        found = self.words[self.position]
        if found not in words or not found:
            raise self.mismatch(tuple(f"'{word}'" for word in words))
        self.position += 1
        return found

    def is_identifier(self, count: int = 0) -> bool:
        """Whether a name may stand there: quoted, or a word that is not reserved."""
        return self.kind_ahead(count) in _NAMES

    def is_identifier_at(self, index: int) -> bool:
        """The same for the token at an index."""
        return self.kinds[index] in _NAMES

    def identifier(self, expected: Expected = IDENTIFIER, *, may_be_empty: bool = False) -> Identifier:
        """The name that comes next; refuses what Presto's lexer takes for one and its parser does not."""
        position = self.position
        type_ = self.kinds[position]
        if type_ == "name":
            written = self.text[self.tokens.starts[position] : self.tokens.ends[position]]
            if "@" in written or ":" in written:
                sign = next(c for c in written if c in "@:")
                raise self.error(f"identifiers must not contain '{sign}'")
            self.position += 1
            return Identifier(location=self.place(position), value=written)
        if type_ not in _NAMES:
            raise self.mismatch(expected)
        if type_ != "quoted":
            raise self.error(_DIGITS if type_ == "digits" else _BACKQUOTED)
        written = self.text[self.tokens.starts[position] + 1 : self.tokens.ends[position] - 1]
        if not written and not may_be_empty:
            raise self.error("Zero-length delimited identifier not allowed")
        self.position += 1
        return Identifier(location=self.place(position), value=written.replace('""', '"'), delimited=True)

    def string(self) -> str:
        """The value of a plain string literal."""
        if self.kind != "string":
            raise self.mismatch(("<string>",))
        value = self.text[self.tokens.starts[self.position] + 1 : self.tokens.ends[self.position] - 1]
        self.position += 1
        return value.replace("''", "'")

    def mismatch(self, expected: Expected) -> ProcessionError:
        """``mismatched input 'x'. Expecting: …`` at the next word, with what a rule here knows.

        All that could stand there is told by ``sql/expected``, but for clauses of ours and for texts that are too long.
        """
        if self.kind == "backquoted":
            return self.error(_BACKQUOTED)
        found = "<EOF>" if self.kind == "end" else self.source(self.position, self.position + 1)
        return self.error(f"mismatched input '{found}'. Expecting: {', '.join(sorted(expected))}")

    def error(self, message: str) -> ProcessionError:
        """A SYNTAX_ERROR at the next word."""
        return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=self.location)
