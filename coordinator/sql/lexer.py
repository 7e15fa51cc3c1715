"""Presto's tokens, by one regular expression: words, literals and signs with the offsets where they stand."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

from coordinator.sql.reserved_words import RESERVED
from shared.errors import ErrorCode, ErrorLocation, ProcessionError

MAX_NESTING = 100
"""Open parentheses, brackets and CASEs at once. Parser, analyzer and planner recurse; Python's stack ends."""

MAX_PREFIX_OPERATORS = 100
"""Signs and NOTs in a row, which nest as deeply as parentheses do."""

MAX_TEXT_LENGTH = 16_000_000
"""Characters. Far above the server's query.max-length; bounds what reaches the lexer from elsewhere."""

Kind = Literal["name", "word", "sign", "string", "number", "quoted", "unicode", "binary", "digits", "backquoted", "end"]
"""``name`` is a word that is not reserved, ``word`` a reserved one; ``digits`` begins with a digit, as in ``1a``."""

_BLANK = r"[ \t\r\n]+|--[^\r\n]*"
_COMMENT = r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/"
_SOLID = r"""
    ([A-Za-z_][A-Za-z0-9_@:]*+(?!'|&'))
    |((?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-][0-9]+|[0-9]+(?:[eE][0-9]+)?(?![A-Za-z0-9_@:]))
    |(<>|!=|<=|>=|->|=>|\|\||[(),.=<>+\-*%?\[\];]|/(?!\*))
    |('[^']*(?:''[^']*)*')
    |("[^"]*(?:""[^"]*)*")
    |([uU]&'[^']*(?:''[^']*)*')
    |([xX]'[^']*')
    |([A-Za-z_][A-Za-z0-9_@:]*)
    |([0-9][A-Za-z0-9_@:]+)
    |(`[^`]*(?:``[^`]*)*`)
    |(.)
    |(\Z)
"""
_TOKEN = re.compile(rf"(?:{_BLANK}|{_COMMENT})*(?:{_SOLID})", re.DOTALL | re.VERBOSE)
_TOKEN_OUTSIDE_COMMENTS = re.compile(rf"(?:{_BLANK})*(?:{_SOLID})", re.DOTALL | re.VERBOSE)
"""For what follows a ``/*`` that nothing closes: no later one is closed either, and looking for each end takes long."""
_WORD, _NUMBER, _SIGN = 1, 2, 3
_WORD_BEFORE_STRING, _UNKNOWN, _END = 8, 11, 12
_KINDS: tuple[Kind, ...] = (
    "end", "name", "number", "sign", "string", "quoted", "unicode", "binary", "name", "digits", "backquoted",
    "sign", "end",
)  # fmt: skip


class Tokens:
    """The tokens of a text, as lists of one length; the last is the end, behind the last character.

    ``words`` are upper case for words and as written for signs and numbers; empty for quoted names, texts and the end.
    A quote that nothing closes is a sign, which no rule of the grammar takes.
    """

    __slots__ = ("_line_ends", "ends", "kinds", "starts", "text", "words")

    def __init__(self, text: str) -> None:
        if len(text) > MAX_TEXT_LENGTH:
            message = f"Query text length ({len(text)}) exceeds the maximum length ({MAX_TEXT_LENGTH})"
            raise ProcessionError(ErrorCode.QUERY_TEXT_TOO_LARGE, message)
        self.text = text
        self.words: list[str] = []
        self.kinds: list[Kind] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self._line_ends: list[int] | None = None
        self._read()
        self._check_nesting()

    def _read(self) -> None:
        if not self._read_on(_TOKEN, 0):
            self._read_on(_TOKEN_OUTSIDE_COMMENTS, self.ends[-1])

    def _read_on(self, token: re.Pattern[str], start: int) -> bool:
        """Whether all is read; otherwise the last token is the slash of a comment that nothing closes."""
        words, kinds, starts, ends = self.words, self.kinds, self.starts, self.ends
        for match in token.finditer(self.text, start):
            group = match.lastindex or 0
            word = match[group]
            kind = _KINDS[group]
            if group in (_WORD, _WORD_BEFORE_STRING):
                word = word.upper()
                if word in RESERVED:
                    kind = "word"
            elif group not in (_SIGN, _NUMBER, _UNKNOWN):
                word = ""
            words.append(word)
            kinds.append(kind)
            starts.append(match.start(group))
            ends.append(match.end(group))
            if group == _END or (group == _UNKNOWN and word == "/" and token is _TOKEN):
                return group == _END
        return True

    def _check_nesting(self) -> None:
        text, words = self.text, self.words
        openings = text.count("(") + text.count("[") + words.count("CASE")
        if openings <= MAX_NESTING and text.count("-") + text.count("+") + words.count("NOT") <= MAX_PREFIX_OPERATORS:
            return
        depth = signs = 0
        for index, word in enumerate(words):
            if word in ("(", "[", "CASE"):
                depth += 1
            elif word in (")", "]", "END"):
                depth -= 1
            signs = signs + 1 if word in ("NOT", "-", "+") else 0
            if depth > MAX_NESTING or signs > MAX_PREFIX_OPERATORS:
                raise too_large(self.location(self.starts[index]))

    def location(self, offset: int) -> ErrorLocation:
        """The line and column of an offset."""
        line, column = self.line_and_column(offset)
        return ErrorLocation(line, column)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Both count from 1; only a line feed ends a line, as in ANTLR."""
        ends = self._line_ends
        if ends is None:
            ends = self._line_ends = [i for i, c in enumerate(self.text) if c == "\n"] if "\n" in self.text else []
        if not ends:
            return 1, offset + 1
        line = bisect_left(ends, offset)
        return line + 1, offset - (ends[line - 1] if line else -1)


def location_of(text: str, offset: int) -> ErrorLocation:
    """The 1-based line and column of a character offset; only a line feed ends a line, as in ANTLR."""
    return ErrorLocation(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def matching(words: Sequence[str]) -> dict[int, int]:
    """The index of the parenthesis that closes each opening one; none for those left open."""
    found: dict[int, int] = {}
    stack: list[int] = []
    for index, word in enumerate(words):
        if word == "(":
            stack.append(index)
        elif word == ")" and stack:
            found[stack.pop()] = index
    return found


def too_large(location: ErrorLocation) -> ProcessionError:
    """Presto's error for a statement that nests too deeply."""
    message = "statement is too large (stack overflow while parsing)"
    return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
