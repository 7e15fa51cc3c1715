"""Functions of strings."""

from __future__ import annotations

import math
import unicodedata
import uuid
from collections.abc import Callable
from typing import Any

from ..errors import KernelError
from .failures import check, invalid
from .stems import word_stem
from .table import Signature, Table, plain, typed


def _pad(left: bool) -> Callable[..., object]:
    def pad(text: Any, size: int, fill: Any) -> object:
        check(0 <= size <= 2**31 - 1, "Target length must be in the range [0..2147483647]")
        check(len(fill) > 0, f"Padding {'string' if isinstance(text, str) else 'bytes'} must not be empty")
        missing = size - len(text)
        if missing <= 0:
            return text[:size]
        padding = (fill * (missing // len(fill) + 1))[:missing]
        return padding + text if left else text + padding

    return pad


def _whole(signature: Signature, text: Any) -> Any:
    """A char value with its padding."""
    type_ = signature.arguments[0]
    return text.ljust(type_.numbers[0]) if type_.base == "char" else text


def _length(signature: Signature, text: object) -> int:
    return len(_whole(signature, text))


def _substr(signature: Signature, text: Any, start: int, length: int | None = None) -> object:
    text = _whole(signature, text)
    if start == 0 or (length is not None and length <= 0) or abs(start) > len(text):
        return text[:0]
    first = start - 1 if start > 0 else len(text) + start
    return text[first:] if length is None else text[first : first + length]


def _replace(text: str, search: str, new: str = "") -> str:
    return text.replace(search, new)


def _split(text: str, delimiter: str, limit: int | None = None) -> tuple[str, ...]:
    if limit is not None:
        check(limit > 0, "Limit must be positive")
        check(limit < 1 << 31, "Limit is too large")
    if delimiter == "":
        parts = (*text, "")
        return parts if limit is None or len(parts) <= limit else (*parts[: limit - 1], text[limit - 1 :])
    return tuple(text.split(delimiter, -1 if limit is None else limit - 1))


def _split_part(text: str, delimiter: str, index: int) -> str | None:
    check(index > 0, "Index must be greater than zero")
    parts = list(text) if delimiter == "" else text.split(delimiter)
    return parts[index - 1] if index <= len(parts) else None


def _pairs(text: str, entries: str, pair: str, quote: str = "'") -> list[tuple[str, str]]:
    check(entries != "", "entryDelimiter is empty")
    check(pair != "", "keyValueDelimiter is empty")
    check(entries != pair, "entryDelimiter and keyValueDelimiter must not be the same")
    found: list[tuple[str, str]] = []
    if text == "":
        return found
    parts = text.split(entries)
    if parts[-1] == "":
        parts.pop()
    for part in parts:
        key, sign, value = part.partition(pair)
        if not sign or pair in value:
            bad = f"{quote}{part}{quote}"
            raise invalid(f"Key-value delimiter must appear exactly once in each entry. Bad input: {bad}")
        found.append((key, value))
    return found


def _split_to_map(text: str, entries: str, pair: str, choose: Any = None) -> dict[str, str]:
    made: dict[str, str] = {}
    for key, value in _pairs(text, entries, pair):
        if key in made:
            if choose is None:
                advice = "Specifying a lambda to resolve conflicts can avoid this error"
                raise invalid(f"Duplicate keys ({key}) are not allowed. {advice}")
            chosen = choose(key, made[key], value)
            made[key] = chosen
        else:
            made[key] = value
    return made


def _split_to_multimap(text: str, entries: str, pair: str) -> dict[str, tuple[str, ...]]:
    made: dict[str, list[str]] = {}
    for key, value in _pairs(text, entries, pair, ""):
        made.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in made.items()}


_MOST_COMPARED = 1 << 30


def _nth(text: str, part: str, instance: int) -> int:
    """Where a part begins for the n-th time, and -1 where it does not; they may overlap."""
    at, compared = -1, 0
    for _ in range(instance):
        at = text.find(part, at + 1)
        if at < 0:
            return at
        compared += len(part)
        check(compared <= _MOST_COMPARED, "'instance' is too large for so long a substring")
    return at


def _strpos(text: str, part: str, instance: int = 1) -> int:
    check(instance > 0, "'instance' must be a positive number.")
    if part == "":
        return 1
    return _nth(text, part, instance) + 1


def _strrpos(text: str, part: str, instance: int = 1) -> int:
    check(instance > 0, "'instance' must be a positive number.")
    if part == "":
        return 1
    # Python looks from the end in another way, whose time is that of both lengths multiplied.
    at = _nth(text[::-1], part[::-1], instance)
    return len(text) - at - len(part) + 1 if at >= 0 else 0


# White space of Java, but no-break spaces.
BLANKS = (
    " \t\n\v\f\r\u001c\u001d\u001e\u001f\u2028\u2029\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2008\u2009\u200a\u205f\u3000"
)


_MANY = 64


def _trimmed(text: str, cut: set[str], left: bool, right: bool) -> str:
    """Of many characters, which Python would compare one by one with each of the text."""
    start = next((i for i, c in enumerate(text) if c not in cut), len(text)) if left else 0
    kept = next((i for i, c in enumerate(reversed(text)) if c not in cut), len(text)) if right else 0
    return text[start : max(len(text) - kept, start)]


def _trim(left: bool, right: bool) -> Callable[..., object]:
    def trim(text: str, characters: str | None = None) -> str:
        cut = BLANKS if characters is None else characters
        if len(cut) > _MANY:
            return _trimmed(text, set(cut), left, right)
        text = text.lstrip(cut) if left and cut else text
        return text.rstrip(cut) if right and cut else text

    return trim


def _chr(code: int) -> str:
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise invalid(f"Not a valid Unicode code point: {code}")
    return chr(code)


def _codepoint(text: str) -> int:
    check(len(text) == 1, "Input string must be a single character string")
    return ord(text)


def _levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def _hamming(a: str, b: str) -> int:
    check(len(a) == len(b), "The input strings to hamming_distance function must have the same length")
    return sum(x != y for x, y in zip(a, b, strict=True))


def _jaro(a: str, b: str) -> float:
    if a == b:
        return 1.0
    window = max(max(len(a), len(b)) // 2 - 1, 0)
    taken, left = [False] * len(b), []
    for i, x in enumerate(a):
        for j in range(max(0, i - window), min(len(b), i + window + 1)):
            if not taken[j] and b[j] == x:
                taken[j] = True
                left.append(x)
                break
    if not left:
        return 0.0
    right = [y for y, used in zip(b, taken, strict=True) if used]
    moved = sum(x != y for x, y in zip(left, right, strict=True)) // 2
    same = len(left)
    return (same / len(a) + same / len(b) + (same - moved) / same) / 3


def _jaro_winkler(a: str, b: str) -> float:
    base = _jaro(a, b)
    prefix = 0
    for x, y in zip(a[:4], b[:4], strict=False):
        if x != y:
            break
        prefix += 1
    found = base + prefix * 0.1 * (1 - base) if base > 0.7 else base
    return math.floor(found * 100 + 0.5) / 100  # Presto's library keeps two digits


def _normalize(text: str, form: str = "NFC") -> str:
    check(form in ("NFD", "NFC", "NFKD", "NFKC"), "Normalization form must be one of [NFD, NFC, NFKD, NFKC]")
    return unicodedata.normalize(form, text)  # type: ignore[arg-type]


def _common_prefix(a: str, b: str) -> str:
    size = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return a[:size]


def _concat(signature: Signature, *parts: Any) -> object:
    first = signature.arguments[0]
    if signature.result.base == "char":
        return (parts[0].ljust(first.numbers[0]) + parts[1]).rstrip(" ")
    if signature.result.base == "array":
        element = signature.result.arguments[0]
        joined: list[object] = []
        for part, type_ in zip(parts, signature.arguments, strict=True):
            joined += part if type_.base == "array" and type_.arguments[0] == element else (part,)
        return tuple(joined)
    return parts[0][:0].join(parts)


def _soundex(text: str) -> str:
    codes = {c: str(d) for d, letters in enumerate(("bfpv", "cgjkqsxz", "dt", "l", "mn", "r"), 1) for c in letters}
    letters = text.lower()
    if not letters.isascii() and any(not c.isascii() for c in letters):
        raise invalid(f"The character is not mapped: {next(c for c in text if not c.isascii())} (index=0)")
    letters = "".join(c for c in letters if c.isalpha())
    if not letters:
        return ""
    made, last = letters[0].upper(), codes.get(letters[0], "")
    for letter in letters[1:]:
        if len(made) > 3:
            break
        code = codes.get(letter, "")
        if code and code != last:
            made += code
        if letter not in "hw":
            last = code
    return made[:4].ljust(4, "0")


def _translate(text: str, source: str, target: str) -> str:
    table: dict[int, str | None] = {}
    for i, character in enumerate(source):
        table.setdefault(ord(character), target[i] if i < len(target) else None)
    return text.translate(table)


def _key_sampling(text: str, percent: float) -> bool:
    import zlib

    return zlib.crc32(text.encode()) % 100 < percent * 100


def _lower(text: str) -> str:
    return "".join("i" if c == "\u0130" else c.lower() for c in text)


def _upper(text: str) -> str:
    # One code point each, as Presto maps them: Python writes SS for a sharp s. Greek letters with an iota below have
    # such a form in titles alone.
    return "".join(next((made for made in (c.upper(), c.title()) if len(made) == 1), c) for c in text)


def _fail(*parts: object) -> None:
    message = str(parts[-1])
    subquery = message.startswith("Scalar sub-query")
    raise KernelError("SUBQUERY_MULTIPLE_ROWS" if subquery else "GENERIC_USER_ERROR", message)


def _reverse(value: Any) -> Any:
    return value[::-1]


TEXT: Table = {
    **plain(
        lower=_lower, upper=_upper, reverse=_reverse, replace=_replace, split=_split,
        split_part=_split_part, split_to_map=_split_to_map, split_to_multimap=_split_to_multimap, strpos=_strpos,
        strrpos=_strrpos, trim=_trim(True, True), ltrim=_trim(True, False), rtrim=_trim(False, True), lpad=_pad(True),
        rpad=_pad(False), chr=_chr, codepoint=_codepoint, levenshtein_distance=_levenshtein,
        hamming_distance=_hamming, jarowinkler_similarity=_jaro_winkler, normalize=_normalize,
        longest_common_prefix=_common_prefix, starts_with=lambda text, part: text.startswith(part),
        ends_with=lambda text, part: text.endswith(part), trail=lambda text, count: text[-count:] if count else "",
        soundex=_soundex, translate=_translate, key_sampling_percent=_key_sampling,
        fail=_fail, word_stem=word_stem, uuid=lambda: str(uuid.uuid4()), bit_length=lambda text: len(text.encode()) * 8,
    ),
    **typed(length=_length, substr=_substr, substring=_substr, concat=_concat),
}  # fmt: skip
