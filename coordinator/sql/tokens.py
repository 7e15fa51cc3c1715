"""Tokens with exact positions, and a cursor over them.

sqlglot's tokenizer swallows the rest of a statement that begins with CALL, EXPLAIN, SHOW and the like. A closing
parenthesis put in front hides that beginning from it; positions are shifted back afterwards, so that tokens, and the
trees that sqlglot builds of them, point into the text as the user sent it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlglot.dialects.trino import Trino
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType

from shared.errors import ErrorCode, ErrorLocation, ProcessionError

MAX_NESTING = 100
"""Open parentheses, brackets and CASEs at once. sqlglot and the analyzer recurse; Python's stack ends near 200."""

MAX_PREFIX_OPERATORS = 100
"""Signs and NOTs in a row, which nest as deeply as parentheses do."""

MAX_TEXT_LENGTH = 16_000_000
"""Characters. Far above the server's query.max-length; bounds what reaches the tokenizer from elsewhere."""

_QUOTED = re.compile(r"""\b[xX]'(?P<hex>[0-9a-fA-F\s]*)'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_GUARD = ")\n"
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}
_PREFIX = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}

_RESERVED_WORDS = """
ALTER AND AS BETWEEN BY CASE CAST CONSTRAINT CREATE CROSS CUBE CURRENT_DATE CURRENT_ROLE CURRENT_TIME
CURRENT_TIMESTAMP CURRENT_USER DEALLOCATE DELETE DESCRIBE DISTINCT DROP ELSE END ESCAPE EXCEPT EXECUTE EXISTS
EXTRACT FALSE FOR FROM FULL GROUP GROUPING HAVING IN INNER INSERT INTERSECT INTO IS JOIN LEFT LIKE LOCALTIME
LOCALTIMESTAMP NATURAL NORMALIZE NOT NULL ON OR ORDER OUTER PREPARE RECURSIVE RIGHT ROLLUP SELECT TABLE THEN
TRUE UESCAPE UNION UNNEST USING VALUES WHEN WHERE WITH
"""
RESERVED = frozenset(_RESERVED_WORDS.split())
"""Words that are no identifiers unless quoted (Presto's SqlBase grammar without its nonReserved rule)."""


@cache
def dialect() -> Any:
    """sqlglot's Trino dialect, which reads everything that the Presto one does and more."""
    return Trino()


def location_of(text: str, offset: int) -> ErrorLocation:
    """The 1-based line and column of a character offset; only a line feed ends a line, as in ANTLR."""
    return ErrorLocation(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def tokenize(text: str) -> list[Token]:
    """The tokens of ``text``; ``start`` and ``end`` are offsets of its first and last character.

    Raises ProcessionError SYNTAX_ERROR for what is no token, and for nesting beyond what can be parsed safely.
    """
    if len(text) > MAX_TEXT_LENGTH:
        message = f"Query text length ({len(text)}) exceeds the maximum length ({MAX_TEXT_LENGTH})"
        raise ProcessionError(ErrorCode.QUERY_TEXT_TOO_LARGE, message)
    tokens = _tokens(text)
    ends = [i for i, character in enumerate(text) if character == "\n"] if "\n" in text else []
    for token in tokens:
        if token.token_type is TokenType.APPLY:
            token.token_type = TokenType.VAR  # no word of Presto's grammar
        token.start -= len(_GUARD)
        token.end -= len(_GUARD)
        # Recomputed, since sqlglot does not count the line feed in "GROUP\nBY".
        line = bisect_left(ends, token.end)
        token.line = line + 1
        token.col = token.end - (ends[line - 1] if line else -1)
    _check_nesting(text, tokens)
    return _split_commands(tokens)


def _tokens(text: str) -> list[Token]:
    try:
        found: list[Token] = dialect().tokenize(_GUARD + text)[1:]
    except TokenError as error:
        # sqlglot knows no blanks inside X'…'; moved behind it, every other token stays where it is.
        closed = _QUOTED.sub(_without_blanks, text)
        if closed == text:
            raise _token_error(text) from error
        return _tokens(closed)
    return found


def _without_blanks(found: re.Match[str]) -> str:
    if found["hex"] is None:
        return found[0]
    digits = "".join(found["hex"].split())
    return f"{found[0][0]}'{digits}'{' ' * (len(found['hex']) - len(digits))}"


def _split_commands(tokens: list[Token]) -> list[Token]:
    """``RESET SESSION`` and its like are one token to sqlglot wherever they stand, with whatever blanks between."""
    if not any(t.token_type is TokenType.COMMAND and " " in t.text for t in tokens):
        return tokens
    words: list[Token] = []
    for token in tokens:
        first, _, second = token.text.partition(" ")
        if token.token_type is not TokenType.COMMAND or not second:
            words.append(token)
            continue
        second = second.strip()
        split = token.end - len(second) + 1
        end = token.start + len(first) - 1
        words.append(Token(TokenType.VAR, first, token.line, token.col - (token.end - end), token.start, end))
        words.append(Token(TokenType.VAR, second, token.line, token.col, split, token.end))
    return words


def _check_nesting(text: str, tokens: Sequence[Token]) -> None:
    depth = signs = 0
    for token in tokens:
        kind = token.token_type
        if kind in _OPENING:
            depth += 1
        elif kind in _CLOSING:
            depth -= 1
        signs = signs + 1 if kind in _PREFIX else 0
        if depth > MAX_NESTING or signs > MAX_PREFIX_OPERATORS:
            raise too_large(location_of(text, token.start))


def too_large(location: ErrorLocation) -> ProcessionError:
    """Presto's error for a statement that nests too deeply."""
    message = "statement is too large (stack overflow while parsing)"
    return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)


def _token_error(text: str) -> ProcessionError:
    """Finds what was left open: sqlglot's own message has no position."""
    position = 0
    while position < len(text):
        two, one = text[position : position + 2], text[position]
        if two == "--":
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif two == "/*":
            end = text.find("*/", position + 2)
            if end < 0:
                return _open_error(text, position, "/*", "'*/'")
            position = end + 2
        elif one in "'\"":
            end = text.find(one, position + 1)
            if end < 0:
                return _open_error(text, position, one, "a closing " + one)
            position = end + 1
        else:
            position += 1
    offset = max(0, len(text) - 1)
    return ProcessionError(ErrorCode.SYNTAX_ERROR, "a literal is malformed", location=location_of(text, offset))


def _open_error(text: str, offset: int, opening: str, expecting: str) -> ProcessionError:
    message = f"mismatched input '{opening}'. Expecting: {expecting}"
    return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location_of(text, offset))


def is_string(token: Token) -> bool:
    """Whether the token is a plain ``'…'`` literal."""
    return token.token_type is TokenType.STRING


def is_identifier(token: Token) -> bool:
    """Whether the token may name something: quoted, or a word that is not reserved."""
    if token.token_type is TokenType.IDENTIFIER:
        return True
    text = token.text
    word = text[:1].isalpha() or text[:1] == "_"
    return word and not is_quoted(token) and text.upper() not in RESERVED


def is_quoted(token: Token) -> bool:
    """Whether the token is any literal in quotes, so that its text is no keyword."""
    return token.end - token.start + 1 != len(token.text) or token.token_type in {
        TokenType.STRING,
        TokenType.IDENTIFIER,
        TokenType.NUMBER,
    }


_UNNAMED = ("COMMENT", "NOT", "VERBOSE")
"""What ANTLR's list leaves out: parts of a column's definition, and a word of ours."""


class Cursor:
    """Reads tokens one after another; every refusal is a located SYNTAX_ERROR in Presto's words."""

    def __init__(self, text: str, tokens: Sequence[Token], position: int = 0) -> None:
        self.text = text
        self.tokens = tokens
        self.position = position
        self._tried: dict[int, set[str]] = {}
        """What could have stood at a position and did not: its refusal names that too, as ANTLR's does."""

    @property
    def current(self) -> Token | None:
        """The next token, or None at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    @property
    def location(self) -> ErrorLocation:
        """Where the next token stands, or the place after the last character."""
        token = self.current
        return location_of(self.text, len(self.text) if token is None else token.start)

    def keyword(self, ahead: int = 0) -> str:
        """The token ``ahead`` of the next one in upper case when it is a word or sign, else an empty string."""
        index = self.position + ahead
        if index >= len(self.tokens) or is_quoted(self.tokens[index]):
            return ""
        return str(self.tokens[index].text.upper())

    def settle(self) -> None:
        """Forgets what else could have stood here."""
        self._tried.pop(self.position, None)

    def accept(self, *keywords: str) -> bool:
        """Steps over the words when they come next, in this order."""
        if all(self.keyword(i) == keyword for i, keyword in enumerate(keywords)):
            self.position += len(keywords)
            return True
        if self.keyword() != keywords[0] and keywords[0] not in _UNNAMED:
            self._tried.setdefault(self.position, set()).add(f"'{keywords[0]}'")
        return False

    def expect(self, *keywords: str) -> str:
        """Steps over one of the words; raises SYNTAX_ERROR naming all of them."""
        found = self.keyword()
        if found not in keywords:
            raise self.mismatch(*(f"'{keyword}'" for keyword in keywords))
        self.position += 1
        return found

    def identifier(self) -> str:
        """The next identifier, lower case as Presto compares names; quoted ones too."""
        token = self.current
        if token is None or not is_identifier(token):
            raise self.mismatch("<identifier>")
        self.position += 1
        return str(token.text).lower()

    def qualified_name(self) -> tuple[str, ...]:
        """``a``, ``a.b``, ``a.b.c`` …"""
        parts = [self.identifier()]
        while self.accept("."):
            parts.append(self.identifier())
        return tuple(parts)

    def word(self) -> str:
        """The next word as a lower case name, reserved or not: names of arguments, where nothing else can stand."""
        token = self.current
        if token is not None and not is_quoted(token) and token.text.upper() in RESERVED:
            self.position += 1
            return str(token.text).lower()
        return self.identifier()

    def string(self) -> str:
        """The value of a string literal."""
        token = self.current
        if token is None or not is_string(token):
            raise self.mismatch("<string>")
        self.position += 1
        return str(token.text)

    def end(self) -> None:
        """Raises SYNTAX_ERROR unless nothing is left."""
        if self.current is not None:
            raise self.mismatch("<EOF>")

    def mismatch(self, *expecting: str) -> ProcessionError:
        """``mismatched input 'x'. Expecting: …`` at the next token."""
        token = self.current
        found = "<EOF>" if token is None else self.text[token.start : token.end + 1]
        wanted = sorted({*expecting, *self._tried.get(self.position, ())})
        message = f"mismatched input '{found}'. Expecting: {', '.join(wanted)}"
        return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=self.location)
