"""Literals: numbers, texts, bytes, intervals, and texts with a type before them."""

from __future__ import annotations

import re

from coordinator.sql.grammar.words import Words
from coordinator.sql.tree.expressions import (
    BinaryLiteral,
    DecimalLiteral,
    DoubleLiteral,
    Expression,
    GenericLiteral,
    IntervalLiteral,
    LongLiteral,
    StringLiteral,
)
from shared.errors import ErrorCode, ErrorLocation, ProcessionError

_FIELDS = frozenset(("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"))
_UNITS = ("'DAY'", "'HOUR'", "'MINUTE'", "'MONTH'", "'SECOND'", "'YEAR'")
_MOST_DIGITS = 19
_LARGEST = (1 << 63) - 1
_BLANKS = re.compile(r"[ \r\n\t]")
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]*")
_NO_ESCAPE = frozenset("+'\" \t\r\n0123456789abcdefABCDEF")


def number(words: Words) -> Expression:
    """Digits are a bigint or an integer, with a point a decimal, with an exponent a double."""
    place, text = words.place(), words.word
    words.position += 1
    if text.isdigit():
        return LongLiteral(location=place, value=_integer(text))
    if "e" in text or "E" in text:
        return DoubleLiteral(location=place, value=text)
    return DecimalLiteral(location=place, value=text)


def _integer(text: str) -> int:
    """One more than the largest bigint is left to the analyzer: a minus may stand before it."""
    digits = text.lstrip("0")
    if len(digits) > _MOST_DIGITS or (value := int(digits or "0")) > _LARGEST + 1:
        # Presto's parser locates it nowhere.
        raise _refused(f"Invalid numeric literal: {text}", ErrorLocation(1, 1))
    return value


def text_literal(words: Words) -> StringLiteral:
    """``'…'`` or ``U&'…' [UESCAPE 'c']``."""
    place = words.place()
    if words.kind == "string":
        return StringLiteral(location=place, value=words.string())
    at = words.location
    start, end = words.tokens.starts[words.position], words.tokens.ends[words.position]
    written = words.text[start + 3 : end - 1].replace("''", "'")
    words.position += 1
    escape = "\\"
    if words.accept("UESCAPE"):
        escape = words.string()
        if not escape:
            raise _refused("Empty Unicode escape character", at)
        if len(escape) > 1 or escape in _NO_ESCAPE:
            raise _refused(f"Invalid Unicode escape character: {escape}", at)
    return StringLiteral(location=place, value=_decoded(written, escape, at))


def _refused(message: str, at: ErrorLocation) -> ProcessionError:
    return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=at)


def _decoded(written: str, escape: str, at: ErrorLocation) -> str:
    parts: list[str] = []
    position = 0
    while True:
        found = written.find(escape, position)
        if found < 0:
            return "".join((*parts, written[position:]))
        parts.append(written[position:found])
        following = written[found + 1 : found + 2]
        if following == escape:
            parts.append(escape)
            position = found + 2
            continue
        start, length = (found + 2, 6) if following == "+" else (found + 1, 4)
        parts.append(_code_point(written[start : start + length], length, at))
        position = start + length


def _code_point(digits: str, length: int, at: ErrorLocation) -> str:
    hexadecimal = _HEXADECIMAL.match(digits)
    valid = "" if hexadecimal is None else hexadecimal[0]
    if not valid and length == 4 and digits:
        raise _refused(f"Invalid hexadecimal digit: {digits[0]}", at)
    if len(valid) < length:
        raise _refused("Incomplete escape sequence: " + valid, at)
    code = int(digits, 16)
    if code > 0x10FFFF:
        raise _refused("Invalid escaped character: " + digits, at)
    if 0xD800 <= code <= 0xDFFF:
        message = f"Invalid escaped character: {digits}. Escaped character is a surrogate. Use '\\+123456' instead."
        raise _refused(message, at)
    return chr(code)


def binary(words: Words) -> BinaryLiteral:
    """``X'…'``, with blanks anywhere."""
    start, end = words.tokens.starts[words.position], words.tokens.ends[words.position]
    digits = _BLANKS.sub("", words.text[start + 2 : end - 1])
    if _HEXADECIMAL.fullmatch(digits) is None:
        raise words.error("Binary literal can only contain hexadecimal digits")
    if len(digits) % 2:
        raise words.error("Binary literal must contain an even number of digits")
    place = words.place()
    words.position += 1
    return BinaryLiteral(location=place, value=bytes.fromhex(digits))


def typed(words: Words, length: int = 1) -> GenericLiteral:
    """A type of ``length`` words, and the text of its value."""
    place = words.place()
    name = words.source(words.position, words.position + 1)
    words.identifier()
    words.position += length - 1
    return GenericLiteral(location=place, type=name, value=text_literal(words).value)


def interval(words: Words) -> IntervalLiteral:
    """``INTERVAL [+ | -] 'value' start [TO end]``."""
    begin = words.position
    place = words.place()
    words.position += 1
    signed = words.word in ("+", "-")
    negative = words.word == "-"
    words.position += signed
    value = text_literal(words).value
    start = words.word
    if start not in _FIELDS:
        if signed:
            raise words.mismatch(_UNITS)
        words.position = begin  # a literal of a type of that name
        raise words.error(f"Unknown type: {words.source(begin, begin + 1)}")
    words.position += 1
    end = None
    if words.word == "TO" and words.is_identifier(1):
        end = words.ahead(1).lower()
        words.position += 2
    return IntervalLiteral(location=place, value=value, sign=-1 if negative else 1, start=start.lower(), end=end)
