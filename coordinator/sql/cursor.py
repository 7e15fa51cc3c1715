"""The words of a statement around its queries and expressions: names in lower case, and what could have stood there."""

from __future__ import annotations

from coordinator.sql.grammar.expressions import expression, value
from coordinator.sql.grammar.queries import END, query
from coordinator.sql.grammar.words import Rules, Words
from coordinator.sql.tree.expressions import Expression
from coordinator.sql.tree.queries import Query
from shared.errors import ProcessionError

RULES = Rules(expression=expression, value=value, query=query)
_UNNAMED = ("COMMENT", "NOT", "VERBOSE")
"""What ANTLR's list leaves out: parts of a column's definition, and a word of ours."""


class Cursor(Words):
    """Every refusal is a located SYNTAX_ERROR in Presto's words."""

    def __init__(self, text: str) -> None:
        super().__init__(text, RULES)
        self._tried: dict[int, set[str]] = {}
        """What could have stood at a position and did not: its refusal names that too, as ANTLR's does."""

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.kind == "end"

    def skip_to_end(self) -> None:
        """Steps over all that is left."""
        self.position = len(self.words) - 1

    def settle(self) -> None:
        """Forgets what else could have stood here."""
        self._tried.pop(self.position, None)

    def optional(self, *words: str) -> bool:
        """Steps over the words when they come next, in this order; else remembers the first of them."""
        if self.accept(*words):
            return True
        if self.word != words[0] and words[0] not in _UNNAMED:
            self._tried.setdefault(self.position, set()).add(f"'{words[0]}'")
        return False

    def require(self, *words: str) -> str:
        """Steps over one of the words; raises SYNTAX_ERROR naming all of them."""
        found = self.word
        if found not in words or not found:
            raise self.refuse(*(f"'{word}'" for word in words))
        self.position += 1
        return found

    def name(self) -> str:
        """The next identifier, lower case as Presto compares names; quoted ones too."""
        if not self.is_identifier():
            raise self.refuse("<identifier>")
        return self.identifier().value.lower()

    def qualified_name(self) -> tuple[str, ...]:
        """``a``, ``a.b``, ``a.b.c`` …"""
        parts = [self.name()]
        while self.optional("."):
            parts.append(self.name())
        return tuple(parts)

    def any_name(self) -> str:
        """The next word as a lower case name, reserved or not: names of arguments, where nothing else can stand."""
        if self.kind != "word":
            return self.name()
        self.position += 1
        return self.words[self.position - 1].lower()

    def text_of_string(self) -> str:
        """The value of a string literal."""
        if self.kind != "string":
            raise self.refuse("<string>")
        return self.string()

    def read_expression(self) -> Expression:
        """The expression that comes next."""
        if self.kind == "end" or self.word in (",", ")"):
            raise self.refuse("<expression>")
        return expression(self)

    def expression_with_text(self) -> tuple[Expression, str]:
        """The expression that comes next, and how it is written."""
        start = self.position
        made = self.read_expression()
        return made, self.source(start)

    def read_query(self) -> Query:
        """The query that comes next."""
        if self.at_end:
            raise self.refuse("<query>")
        return query(self)

    def query_to_end(self) -> Query:
        """The query from here to the end of the text."""
        made = self.read_query()
        if not self.at_end:
            raise self.mismatch(END)
        return made

    def text_to_end(self) -> str:
        """All that is left, as written."""
        return self.text[self.tokens.starts[self.position] :].strip()

    def end(self) -> None:
        """Raises SYNTAX_ERROR unless nothing is left."""
        if not self.at_end:
            raise self.refuse("<EOF>")

    def refuse(self, *expecting: str) -> ProcessionError:
        """``mismatched input 'x'. Expecting: …`` at the next word, with what else was tried there."""
        return self.mismatch((*{*expecting, *self._tried.get(self.position, ())},))
