"""Texts that people see, without the passwords in them.

Two ways: a value that stands beside a name which means a secret, and every value that the configuration gives to such
a name. All patterns take time that grows with the text alone: they run over texts of strangers.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import unquote, urlsplit

HIDDEN = "***"
_NAMES = (
    r"(?:password|passwd|passphrase|secret|token|credentials?|(?:api|access|account|private|shared|encryption)[-_.]?key"
    r"|sas[-_.]|signature|connection[-_.]?string|(?<![a-z0-9])sig(?==))"
)
_NAME = re.compile(_NAMES, re.IGNORECASE)
_KEYS = ("api", "access", "account", "private", "shared", "encryption")
_WORDS = (
    *("passw", "passphrase", "secret", "token", "credential", "signature", "sas-", "sas_", "sas.", "://"),
    *("connection-string", "connection_string", "connection.string", "connectionstring", "sig="),
    *(f"{whose}{joint}key" for whose in _KEYS for joint in ("", "-", "_", ".")),
)
"""Each text that the patterns find something in holds one of these, which are found in a hundredth of the time."""
_PUBLIC = re.compile(r"access[-_.]?key[-_.]?id$|token[-_.]?(?:url|uri|type|refresh)|max[-_.]", re.IGNORECASE)
_QUOTED = r"'(?:[^']|'')*+'?"
_BESIDE = re.compile(
    rf"({_NAMES}[\w.$-]{{0,100}}+['\"`]?\s{{0,20}}+(?:=>|<>|[!<>]?=|[<>:,]|(?:NOT\s{{1,20}}+)?LIKE\b)\s{{0,20}}+"
    rf"(?:value\s{{0,20}}+=>\s{{0,20}}+)?)({_QUOTED})",
    re.IGNORECASE,
)
_IN_LIST = re.compile(
    rf"({_NAMES}[\w.$-]{{0,100}}+[\"`]?\s{{1,20}}+(?:NOT\s{{1,20}}+)?IN\s{{0,20}}+\()([^()]*+)", re.IGNORECASE
)
_IN_MAP = re.compile(
    rf"(ARRAY\s{{0,20}}+\[(?:(?!{_NAMES})[^\][]){{0,500}}{_NAMES}[^\][]{{0,500}}\]\s{{0,20}},\s{{0,20}}ARRAY\s{{0,20}}\[)"
    r"([^\]]*+)",
    re.IGNORECASE,
)
_OF_CATALOG = re.compile(
    r"\b(?:CREATE|ALTER)(?:\s++|/\*.{0,200}?\*/|--[^\n]{0,200}\n){1,9}CATALOG\b", re.IGNORECASE | re.DOTALL
)
_MADE_OF = (re.compile(r"\bUSING\b", re.IGNORECASE), re.compile(r"\bPROPERTIES\b", re.IGNORECASE))
_NEAR = 1010
"""Characters between these words, the later one included."""
_LOGIN = re.compile(r"(://[^\s/:@'\"]{0,200}+:)([^\s/@'\"]{1,500}+)(?=@)")
_URL_PARAMETER = re.compile(rf"([?&;]{_NAMES}[\w.-]{{0,100}}+=)([^&;\s'\"]+)", re.IGNORECASE)
_LEAST_LENGTH = 4
_SEARCHED = 16 << 10
_MOST_VALUES = 50
"""Of one text: looking for each takes time."""


def is_secret_name(name: str) -> bool:
    """Whether what a property of this name holds is a secret."""
    return _NAME.search(name) is not None and _PUBLIC.search(name) is None


def shown_value(name: str, value: str) -> str:
    """The value of a property, unless its name says that it is a secret."""
    return HIDDEN if is_secret_name(name) else redacted(value)


def redacted(text: str) -> str:
    """The text without values that stand beside the name of a secret, and without passwords in addresses.

    What is a secret in one place is one everywhere in the text.

    >>> redacted("WITH (s3_secret = 'a''b', size = '1')")
    "WITH (s3_secret = '***', size = '1')"
    """
    if _mentions_catalogs(text):
        start = _properties_of_catalog(text)
        text = text if start is None else f"{text[:start]}{HIDDEN})"
    if not _mentions_secrets(text):
        return text
    values = secrets_in((text,))
    if _NAME.search(text) is not None:
        text = _BESIDE.sub(rf"\1'{HIDDEN}'", text)
        for listed in (_IN_MAP, _IN_LIST):
            text = listed.sub(lambda found: found[1] + re.sub(_QUOTED, f"'{HIDDEN}'", found[2]), text)
        text = _URL_PARAMETER.sub(rf"\1{HIDDEN}", text)
    text = _LOGIN.sub(rf"\1{HIDDEN}", text) if "://" in text else text
    return without(text, values)


def shown_statement(text: str, redact: Callable[[str], str] = redacted) -> str:
    """The text of a statement as people may see it; of a long one that speaks of secrets only the beginning.

    Searching all of a megabyte takes a second, in which the service would answer nobody.
    """
    if len(text) <= _SEARCHED or not _mentions_secrets(text):
        return redact(text)
    return f"{redact(text[:_SEARCHED])}... ({len(text) - _SEARCHED} more characters are not shown)"


def redacted_lines(text: str, redact: Callable[[str], str] = redacted) -> str:
    """The same for a text whose lines stand for themselves: no step takes long, so that other threads get on."""
    return "".join(map(redact, text.splitlines(keepends=True)))


def _mentions_secrets(text: str) -> bool:
    folded = text.casefold()  # as the patterns, it takes the long s and the sign of Kelvin for letters
    return any(word in folded for word in _WORDS)


def _properties_of_catalog(text: str) -> int | None:
    """Where that begins what a catalog is made of: any of it may be a secret, under names that its connector knows."""
    using, properties = ([found.end() for found in word.finditer(text)] for word in _MADE_OF)
    for found in _OF_CATALOG.finditer(text):
        made = _next(using, found.end())
        start = -1 if made is None else text.find("(", made, made + _NEAR) + 1
        if start > 0:
            return start
        if (made := _next(properties, found.end())) is not None:
            return made
    return None


def _next(ends: list[int], position: int) -> int | None:
    """The first of them behind a position and near to it."""
    index = bisect_left(ends, position)
    return ends[index] if index < len(ends) and ends[index] <= position + _NEAR else None


def _mentions_catalogs(text: str) -> bool:
    folded = text.casefold()
    return "catalog" in folded and ("create" in folded or "alter" in folded)


def without(text: str, values: Iterable[str]) -> str:
    """The text with each of these values hidden."""
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text


def secrets_in(texts: Iterable[str]) -> frozenset[str]:
    """The values that ``redacted`` takes out of statements: a plan may have them apart from the names."""
    found: set[str] = set()
    for text in filter(_mentions_secrets, texts):
        if _NAME.search(text) is not None:
            quoted = [each[2] for each in _BESIDE.finditer(text)]
            quoted += [q for listed in (_IN_MAP, _IN_LIST) for each in listed.finditer(text) for q in _quoted(each[2])]
            found.update(q.removeprefix("'").removesuffix("'").replace("''", "'") for q in quoted)
            found.update(each[2] for each in _URL_PARAMETER.finditer(text))
        if "://" in text:
            found.update(each[2] for each in _LOGIN.finditer(text))
    return frozenset(sorted((value for value in found if len(value) >= _LEAST_LENGTH), key=len)[-_MOST_VALUES:])


def _quoted(text: str) -> list[str]:
    return re.findall(_QUOTED, text)


def secrets_of(properties: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Values of a configuration that must be seen nowhere: of secret names, and passwords inside addresses."""
    found = set()
    for name, value in properties:
        if is_secret_name(name):
            found.add(value)
        if "://" in value:
            found |= _of_address(value)
    return frozenset(value for value in found if len(value) >= _LEAST_LENGTH)


def _of_address(address: str) -> set[str]:
    try:
        password = urlsplit(address[address.index("://") - 1 :]).password
    except ValueError:
        return set()
    return set() if password is None else {password, unquote(password)}


class Redactor:
    """``redacted``, and the values known from configuration wherever they stand."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._known: re.Pattern[str] | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Hide these too, from now on and for good."""
        self._secrets |= frozenset(secrets)
        known = sorted(self._secrets, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def __call__(self, text: str) -> str:
        """The text as people may see it."""
        return self.known(redacted(text))

    def known(self, text: str) -> str:
        """The text without the values that are known from configuration, in less time."""
        return text if self._known is None else self._known.sub(HIDDEN, text)

    def mapping(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Properties as they may be shown."""
        return {name: HIDDEN if is_secret_name(name) else self(value) for name, value in properties.items()}
