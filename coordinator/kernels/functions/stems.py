"""WORD_STEM by the Snowball stemmers, which executors need as the package snowballstemmer."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..errors import KernelError
from .failures import check, invalid

_LANGUAGES = {
    "ca": "catalan", "da": "danish", "de": "german", "en": "english", "es": "spanish", "eu": "basque", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "hy": "armenian", "ir": "irish", "it": "italian", "lt": "lithuanian",
    "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish",
    "tr": "turkish",
}  # fmt: skip
_LONGEST = 10_000
"""Stemmers copy a word for each of its letters that they change."""


@lru_cache(maxsize=32)
def _stemmer(language: str) -> Any:
    name = _LANGUAGES.get(language)
    if name is None:
        raise invalid(f"Unknown stemmer language: {language}")
    try:
        import snowballstemmer
    except ImportError as error:
        raise KernelError("NOT_SUPPORTED", "word_stem needs the Python package snowballstemmer on executors") from error
    return snowballstemmer.stemmer(name)


def word_stem(word: str, language: str = "en") -> str:
    """The stem of a word in lower case."""
    check(len(word) <= _LONGEST, f"Word of word_stem has {len(word)} characters (at most {_LONGEST})")
    return str(_stemmer(language).stemWord(word))
