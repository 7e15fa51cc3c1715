"""A statement's tokens as words one can step over, and Presto's refusal of the word that does not fit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot.tokens import Token, TokenType

from coordinator.sql.tokens import RESERVED, is_quoted, location_of
from shared.errors import ErrorCode, ProcessionError

Expected = tuple[str, ...]

EXPRESSION: Expected = ("<expression>",)
OPERATORS: Expected = ("'%'", "'*'", "'+'", "'-'", "'.'", "'/'", "'AT'", "'['", "'||'")
IDENTIFIER: Expected = ("<identifier>",)
AFTER_EXPRESSION: Expected = ("'%'", "'*'", "'+'", "'-'", "'.'", "'/'", "'AT'", "'['", "'||'", "<expression>")
"""What ANTLR names after an expression that is complete."""
AFTER_PREDICATE: Expected = ("'%'", "'*'", "'+'", "'-'", "'.'", "'/'", "'AND'", "'AT'", "'OR'", "'['", "'||'")

_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_LITERALS = {TokenType.STRING: "string", TokenType.NUMBER: "number", TokenType.HEX_STRING: "literal"}
_LITERALS |= {TokenType.UNICODE_STRING: "unicode"}


class Words:
    """The words of a query. ``kinds`` are word, quoted, string, unicode, literal, number, sign; ``end`` at the end.

    ``expected`` is what could follow the construct that was read last.
    """

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self.words: list[str] = []
        self.kinds: list[str] = []
        self.places: list[tuple[int, int]] = []
        for token in tokens:
            self._add(token)
        self.words.append("")
        self.kinds.append("end")
        self.places.append((len(text), len(text)))
        self.position = 0
        self.expected: Expected = ()
        self.follow: Expected = ()
        """What may stand behind the condition that is read now."""
        self._closing = _closing(self.words)

    def _add(self, token: Token) -> None:
        kind = _LITERALS.get(token.token_type)
        if kind is None and token.token_type is TokenType.IDENTIFIER:
            kind = "quoted"
        if kind is not None or is_quoted(token):
            self._put(token.text if kind == "number" else "", kind or "literal", token.start, token.end)
            return
        word = token.text.upper()
        if not word[:1].isalpha() or len(word.split()) == 1:
            self._put(word, "word" if _is_word(word) else "sign", token.start, token.end)
            return
        offset = token.start
        for part in self.text[token.start : token.end + 1].split():  # GROUP BY and its like are one token
            offset = self.text.index(part, offset)
            self._put(part.upper(), "word", offset, offset + len(part) - 1)

    def _put(self, word: str, kind: str, start: int, end: int) -> None:
        self.words.append(word)
        self.kinds.append(kind)
        self.places.append((start, end))

    @property
    def word(self) -> str:
        """The next word in upper case, a sign, or an empty text for literals, quoted names and the end."""
        return self.words[self.position]

    @property
    def kind(self) -> str:
        return self.kinds[self.position]

    def ahead(self, count: int) -> str:
        """The word ``count`` behind the next one."""
        index = self.position + count
        return self.words[index] if index < len(self.words) else ""

    def kind_ahead(self, count: int) -> str:
        index = self.position + count
        return self.kinds[index] if index < len(self.kinds) else "end"

    def after_parenthesis(self, index: int) -> int:
        """The index behind the parenthesis that closes the one at ``index``; that of the end where none does."""
        return self._closing.get(index, len(self.words) - 2) + 1

    def is_closed(self) -> bool:
        """Whether a parenthesis comes next that is closed somewhere."""
        return self.position in self._closing

    def accept(self, *words: str) -> bool:
        """Steps over the words when they come next."""
        for count, word in enumerate(words):
            if self.ahead(count) != word:
                return False
        self.position += len(words)
        return True

    def expect(self, *words: str) -> str:
        """Steps over one of the words; a closing parenthesis may be missing after more than itself."""
        found = self.word
        if found not in words or not found:
            wanted = tuple(f"'{word}'" for word in words)
            if words == (")",) and self.expected:
                # Where an expression may go on, ANTLR names nothing behind it.
                closing = () if "<expression>" in self.expected else ("')'",)
                wanted = tuple(sorted({*closing, *self.expected} - {"<EOF>"}))
            raise self.mismatch(wanted)
        self.position += 1
        return found

    def is_identifier(self, count: int = 0) -> bool:
        """Whether a name may stand there: quoted, or a word that is not reserved."""
        kind = self.kind_ahead(count)
        return kind == "quoted" or (kind == "word" and self.ahead(count) not in RESERVED)

    def identifier(self, expected: Expected = IDENTIFIER) -> None:
        """Steps over a name; refuses what Presto's lexer takes for one and its parser does not."""
        if not self.is_identifier():
            raise self.mismatch(expected)
        if self.kind == "word":
            self._refuse_inside()
        self.position += 1

    def _refuse_inside(self) -> None:
        sign = self.ahead(1)
        if sign in ("@", ":") and self.places[self.position + 1][0] == self.places[self.position][1] + 1:
            raise self.error(f"identifiers must not contain '{sign}'")

    def mismatch(self, expected: Expected) -> ProcessionError:
        """``mismatched input 'x'. Expecting: …`` at the next word."""
        if self.word == "`":
            return self.error("backquoted identifiers are not supported; use double quotes to quote identifiers")
        start, end = self.places[self.position]
        found = self._behind() if self.kind == "end" else self.text[start : end + 1]
        return self.error(f"mismatched input '{found}'. Expecting: {', '.join(sorted(expected))}")

    def _behind(self) -> str:
        """What stands behind the tokens, where they are a part of the statement."""
        start = self.places[-2][1] + 1 if len(self.places) > 1 else 0
        rest = _COMMENT.sub(lambda comment: " " * len(comment[0]), self.text[start:])
        found = re.search(r"\w+|\S", rest)
        if found is None:
            return "<EOF>"
        self.places[-1] = (start + found.start(), start + found.end() - 1)
        return found[0]

    def error(self, message: str) -> ProcessionError:
        """A SYNTAX_ERROR at the next word."""
        location = location_of(self.text, self.places[self.position][0])
        return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)


def _closing(words: Sequence[str]) -> dict[int, int]:
    found, stack = {}, []
    for index, word in enumerate(words):
        if word == "(":
            stack.append(index)
        elif word == ")" and stack:
            found[stack.pop()] = index
    return found


def _is_word(word: str) -> bool:
    return word[:1].isalpha() or word[:1] == "_"
