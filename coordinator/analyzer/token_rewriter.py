"""Tokens of Presto's grammar as tokens that sqlglot reads the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot.tokens import Token, TokenType

from coordinator.analyzer.version_tokens import VERSION_KINDS, version_end
from coordinator.sql.tokens import location_of
from shared.errors import ErrorCode, ProcessionError

FUNCTION_PREFIX = "fn$"

REWRITTEN = "rewritten"
"""Marks the root of a tree made here, in its ``meta``."""

CAST, TRY_CAST, LITERAL, EXTRACT, POSITION = "$cast", "$try_cast", "$literal", "$extract", "$position"

ARRAY = "$array"
"""``ARRAY[…]`` as a call: sqlglot reads brackets twice, once as those of a type, and so nested ones 2^depth times."""

AS_OF, BEFORE = "$as_of", "$before"
"""Around the version of a table."""

PARAMETER = "parameter"
"""In the place of a literal's type: a ``?``, whose number stands in the place of the text."""

_STRUCTURAL = frozenset(
    [
        "select",
        "from",
        "where",
        "group",
        "having",
        "order",
        "by",
        "on",
        "using",
        "in",
        "exists",
        "and",
        "or",
        "not",
        "when",
        "then",
        "else",
        "case",
        "values",
        "all",
        "any",
        "some",
        "over",
        "within",
        "union",
        "except",
        "intersect",
        "join",
        "cross",
        "left",
        "right",
        "full",
        "inner",
        "outer",
        "natural",
        "lateral",
        "unnest",
        "table",
        "with",
        "as",
        "distinct",
        "limit",
        "offset",
        "fetch",
        "between",
        "like",
        "escape",
        "is",
        "partition",
        "rows",
        "range",
        "groups",
        "sets",
        "cube",
        "rollup",
        "interval",
        "array",
        "recursive",
        "tablesample",
        "end",
        "desc",
        "asc",
        "nulls",
        "window",
        "ordinality",
        "system_time",
        "for",
        "of",
    ]
)

_NO_CALL_BEFORE = {TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.ALIAS}

_LITERAL_TYPES = frozenset(
    [
        "decimal",
        "date",
        "time",
        "timestamp",
        "char",
        "varchar",
        "varbinary",
        "json",
        "uuid",
        "ipaddress",
        "ipprefix",
        "real",
        "double",
        "bigint",
        "tinyint",
        "smallint",
        "integer",
        "int",
        "boolean",
    ]
)

_NILADIC = frozenset(
    [
        "current_date",
        "current_timestamp",
        "current_time",
        "localtime",
        "localtimestamp",
        "current_user",
        "current_catalog",
        "current_schema",
    ]
)

_REFUSED = {
    TokenType.DCOLON, TokenType.ILIKE, TokenType.L_BRACE, TokenType.R_BRACE, TokenType.PARAMETER, TokenType.COLON,
    TokenType.QUALIFY, TokenType.PIVOT, TokenType.UNPIVOT, TokenType.RLIKE, TokenType.GLOB, TokenType.DQMARK,
    TokenType.DIV, TokenType.CARET, TokenType.PIPE, TokenType.AMP, TokenType.TILDE, TokenType.HASH,
    TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.SEMI, TokenType.ANTI,
    TokenType.SIMILAR_TO, TokenType.ASOF, TokenType.STRAIGHT_JOIN, TokenType.SEMICOLON,
}  # fmt: skip

_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET}

_CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET}

_SET_OPERATIONS = {TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT}

_BEHIND_ROWS = {*_SET_OPERATIONS, TokenType.R_PAREN, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET}

_AFTER_COMMA_REFUSED = {TokenType.FROM, TokenType.R_PAREN, TokenType.WHERE, TokenType.COMMA, TokenType.GROUP_BY}


def closing(tokens: Sequence[Token], start: int) -> int:
    return next((i for i, t in enumerate(tokens[start:]) if t.token_type is TokenType.R_PAREN), 0)


def syntax(text: str, offset: int, message: str) -> ProcessionError:
    """A SYNTAX_ERROR at a character offset."""
    return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location_of(text, offset))


class Rewriter:
    """One pass over a statement's tokens; holds the position and the output."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text, self.tokens = text, tokens
        self.closing: dict[int, int] = {}
        stack: list[int] = []
        for index, token in enumerate(tokens):
            if token.token_type in _OPEN:
                stack.append(index)
            elif token.token_type in _CLOSE and stack:
                self.closing[stack.pop()] = index
        self.replaced: dict[int, list[Token]] = {}
        self.out: list[Token] = []
        self.parameters = 0
        self.arrays = False
        self.before: dict[int, list[Token]] = {}
        self.after: dict[int, list[Token]] = {}

    def rewrite(self) -> list[Token]:
        for index, token in enumerate(self.tokens):
            if index not in self.replaced:
                self._refuse(index, token)
                self._visit(index, token)
        for index, token in enumerate(self.tokens):
            self.out += [*self.before.get(index, ()), *self.replaced.get(index, [token]), *self.after.get(index, ())]
        return self.out

    def _kind(self, index: int) -> Any:
        return self.tokens[index].token_type if 0 <= index < len(self.tokens) else None

    def _word(self, index: int) -> str:
        return str(self.tokens[index].text).lower() if 0 <= index < len(self.tokens) else ""

    def _refuse(self, index: int, token: Token) -> None:
        raw = self.text[token.start : token.end + 1]
        trailing = token.token_type is TokenType.COMMA and (
            self._kind(index + 1) in _AFTER_COMMA_REFUSED or index + 1 == len(self.tokens)
        )
        if trailing:
            index, token = index + 1, self.tokens[min(index + 1, len(self.tokens) - 1)]
            raw = self.text[token.start : token.end + 1] if index < len(self.tokens) else "<EOF>"
        if trailing or token.token_type in _REFUSED or raw == "==":
            offset = token.start if index < len(self.tokens) else len(self.text)
            raise syntax(self.text, offset, f"mismatched input '{raw}'. Expecting: <expression>")
        self._refuse_words(index, token, raw)

    def _refuse_words(self, index: int, token: Token, raw: str) -> None:
        """A digit before a word, as in ``1a``."""
        kind = token.token_type
        following = self.tokens[index + 1] if index + 1 < len(self.tokens) else None
        if raw[:1].isdigit() and (kind is not TokenType.NUMBER or _continues(token, following)):
            # Also 0x10 and 0b1, which are numbers to others.
            message = "identifiers must not start with a digit; surround the identifier with double quotes"
            raise syntax(self.text, token.start, message)

    def _visit(self, index: int, token: Token) -> None:
        kind, word = token.token_type, str(token.text).lower()
        quoted = kind is TokenType.IDENTIFIER
        following = self._kind(index + 1)
        if word in _NILADIC and not quoted and following is not TokenType.L_PAREN:
            self.replaced[index] = [*self._call(token, word), _make(token, TokenType.R_PAREN, ")")]
        elif word == "array" and following is TokenType.L_BRACKET and index + 1 in self.closing and not quoted:
            self._array(index, token)
        elif following is TokenType.STRING and word in _LITERAL_TYPES and not quoted:
            self._literal(index, word)
        elif following is TokenType.STRING and word.split() == ["double", "precision"]:
            self._literal(index, "double")
        elif word == "double" and self._word(index + 1) == "precision" and self._kind(index + 2) is TokenType.STRING:
            self.replaced[index] = []
            self._literal(index + 1, "double")
        elif following is TokenType.L_PAREN and kind is not TokenType.STRING and self._is_call(index, word, quoted):
            self._rename(index, token, word)
        elif kind is TokenType.PLACEHOLDER:
            self._parameter(index, token)
        elif word == "for" and self._word(index + 1) in VERSION_KINDS and not quoted:
            self._version(index + 1)
        elif word == "values" and not quoted and self._kind(index - 1) is TokenType.L_PAREN:
            self._values(index, token)

    def _array(self, index: int, token: Token) -> None:
        self.arrays = True
        opening, end = self.tokens[index + 1], self.closing[index + 1]
        self.replaced[index] = [_make(token, TokenType.IDENTIFIER, FUNCTION_PREFIX + ARRAY)]
        self.replaced[index + 1] = [_make(opening, TokenType.L_PAREN, "(")]
        self.replaced[end] = [_make(self.tokens[end], TokenType.R_PAREN, ")")]

    def _values(self, index: int, token: Token) -> None:
        """``(VALUES … UNION …)`` as a query over the rows, which sqlglot reads in parentheses."""
        end = index + 1
        while end < len(self.tokens) and self._kind(end) not in _BEHIND_ROWS:
            end = self.closing.get(end, end) + 1
        if self._kind(end) in _SET_OPERATIONS:
            words = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"))
            self.before[index] = [*(_make(token, *w) for w in words), _make(token, TokenType.L_PAREN, "(")]
            self.after[end - 1] = [_make(self.tokens[end - 1], TokenType.R_PAREN, ")")]

    def _version(self, index: int) -> None:
        """``FOR VERSION BEFORE x`` as ``FOR VERSION AS OF $before(x)``, which is all that sqlglot reads."""
        before = self._word(index + 1) == "before"
        start = index + (2 if before else 3)
        if start >= len(self.tokens) or not (before or self._word(index + 2) == "of"):
            return
        kind, operator = self.tokens[index], self.tokens[index + 1]
        if self._word(index) == "system_version":
            self.replaced[index] = [_make(kind, TokenType.VAR, "VERSION")]
        if before:
            self.replaced[index + 1] = [_make(operator, TokenType.ALIAS, "AS"), _make(operator, TokenType.VAR, "OF")]
        end = version_end(self.tokens, self.closing, start)
        self.before[start] = self._call(self.tokens[start], BEFORE if before else AS_OF)
        self.after[end] = [_make(self.tokens[end], TokenType.R_PAREN, ")")]

    def _parameter(self, index: int, token: Token) -> None:
        """Numbered here, since trees are not in the order of the text; LIMIT takes no call."""
        if self._word(index - 1) not in ("limit", "offset", "first"):
            self.replaced[index] = [
                *self._call(token, LITERAL),
                _make(token, TokenType.STRING, PARAMETER),
                _make(token, TokenType.COMMA, ","),
                _make(token, TokenType.STRING, str(self.parameters)),
                _make(token, TokenType.R_PAREN, ")"),
            ]
        self.parameters += 1

    def _is_call(self, index: int, word: str, quoted: bool) -> bool:
        before = self._kind(index - 1)
        zone = self._word(index - 1) == "zone" and self._word(index - 2) == "time"
        if (before in _NO_CALL_BEFORE and not zone) or self._word(index - 1) == "ordinality":
            return False
        if not quoted and (word in _STRUCTURAL or not word.replace("_", "a").replace("$", "a").isalnum()):
            return False
        if before is TokenType.TABLE_SAMPLE:
            return False
        end = self.closing.get(index + 1, -2)
        # A name with columns in WITH: ``name (a, b) AS (``.
        return not (self._kind(end + 1) is TokenType.ALIAS and self._kind(end + 2) is TokenType.L_PAREN)

    def _rename(self, index: int, token: Token, word: str) -> None:
        end = self.closing.get(index + 1)
        if end is None:
            return
        name = word
        if word in ("cast", "try_cast"):
            self._cast(index, end)
            name = f"${word}"
        elif word == "extract":
            self._extract(index)
            name = EXTRACT
        elif word == "position":
            self._separator(index, end, {"in"})
            name = POSITION
        elif word == "substring":
            self._separator(index, end, {"from", "for"})
        elif word == "normalize":
            self._normalize(index, end)
        elif word == "trim":
            name = self._trim(index, end)
        self.replaced[index] = [_make(token, TokenType.IDENTIFIER, FUNCTION_PREFIX + name)]

    def _call(self, token: Token, name: str) -> list[Token]:
        return [_make(token, TokenType.IDENTIFIER, FUNCTION_PREFIX + name), _make(token, TokenType.L_PAREN, "(")]

    def _literal(self, index: int, type_name: str) -> None:
        token, value = self.tokens[index], self.tokens[index + 1]
        self.replaced[index] = [
            *self._call(token, LITERAL),
            _make(token, TokenType.STRING, type_name),
            _make(token, TokenType.COMMA, ","),
        ]
        self.replaced[index + 1] = [value, _make(value, TokenType.R_PAREN, ")")]

    def _top_level(self, index: int, end: int) -> list[int]:
        inside, position = [], index + 2
        while position < end:
            inside.append(position)
            position = self.closing.get(position, position) + 1
        return inside

    def _cast(self, index: int, end: int) -> None:
        separator = next((i for i in self._top_level(index, end) if self._kind(i) is TokenType.ALIAS), None)
        if separator is None or separator + 1 >= end:
            raise syntax(self.text, self.tokens[end].start, "mismatched input ')'. Expecting: 'AS'")
        first, last = self.tokens[separator + 1], self.tokens[end - 1]
        type_text = self.text[first.start : last.end + 1]
        self.replaced[separator] = [_make(self.tokens[separator], TokenType.COMMA, ",")]
        for position in range(separator + 1, end):
            self.replaced[position] = []
        self.replaced[separator + 1] = [_make(first, TokenType.STRING, type_text)]

    def _extract(self, index: int) -> None:
        field, separator = index + 2, index + 3
        if self._word(separator) != "from":
            raise syntax(self.text, self.tokens[field].start, f"mismatched input '{self._word(separator)}'")
        self.replaced[field] = [_make(self.tokens[field], TokenType.STRING, self._word(field))]
        self.replaced[separator] = [_make(self.tokens[separator], TokenType.COMMA, ",")]

    def _separator(self, index: int, end: int, words: set[str]) -> None:
        for position in self._top_level(index, end):
            if self._word(position) in words and self._kind(position) is not TokenType.IDENTIFIER:
                self.replaced[position] = [_make(self.tokens[position], TokenType.COMMA, ",")]

    def _normalize(self, index: int, end: int) -> None:
        """``NORMALIZE(x [, NFC | NFD | NFKC | NFKD])``: the form is a word."""
        form, closing = end - 1, self.tokens[end]
        if self._kind(form - 1) is TokenType.COMMA and self._word(form) in ("nfc", "nfd", "nfkc", "nfkd"):
            self.replaced[form] = [_make(self.tokens[form], TokenType.STRING, self._word(form).upper())]
        elif not any(self._kind(i) is TokenType.COMMA for i in self._top_level(index, end)):
            more = [_make(closing, TokenType.COMMA, ","), _make(closing, TokenType.STRING, "NFC")]
            self.replaced[end] = [*more, closing]

    def _trim(self, index: int, end: int) -> str:
        name, first = "trim", index + 2
        if self._word(first) in ("both", "leading", "trailing"):
            name = {"both": "trim", "leading": "ltrim", "trailing": "rtrim"}[self._word(first)]
            self.replaced[first] = []
            first += 1
        separator = next((i for i in self._top_level(index, end) if self._word(i) == "from"), None)
        if separator == first:
            self.replaced[separator] = []
        elif separator is not None:
            self.replaced[separator] = [_make(self.tokens[separator], TokenType.COMMA, ",")]
            name = f"$from_{name}"
        return name


def _continues(number: Token, following: Token | None) -> bool:
    """Whether a word stands directly behind a number."""
    if following is None or following.start != number.end + 1 or following.token_type is TokenType.IDENTIFIER:
        return False
    return str(following.text)[:1].isidentifier()


def _make(at: Token, kind: Any, text: str) -> Token:
    return Token(kind, text, at.line, at.col, at.start, at.end)
