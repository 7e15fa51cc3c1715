"""The words of a statement around its queries and expressions, with names in lower case."""

from __future__ import annotations

from coordinator.sql.grammar.expressions import expression, value
from coordinator.sql.grammar.queries import END, query
from coordinator.sql.grammar.words import Rules, Words
from coordinator.sql.tree.expressions import Expression
from coordinator.sql.tree.queries import Query
from shared.errors import ProcessionError

RULES = Rules(expression=expression, value=value, query=query)


class Cursor(Words):
    """Every refusal is a located SYNTAX_ERROR in Presto's words."""

    def __init__(self, text: str) -> None:
        super().__init__(text, RULES)

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.kind == "end"

    def skip_to_end(self) -> None:
        """Steps over all that is left."""
        self.position = len(self.words) - 1

    def name(self) -> str:
        """The next identifier, lower case as Presto compares names; quoted ones too."""
        if not self.is_identifier():
            raise self.refuse("<identifier>")
        return self.identifier().value.lower()

    def qualified_name(self) -> tuple[str, ...]:
        """``a``, ``a.b``, ``a.b.c`` …"""
        parts = [self.name()]
        while self.accept("."):
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
        """``mismatched input 'x'. Expecting: …`` at the next word."""
        return self.mismatch(expecting)
