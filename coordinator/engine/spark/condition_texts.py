"""What Spark says of its error conditions, without its own names: no class in brackets, no SQLSTATE, no hints.

A client of Presto's protocol can follow none of the hints: they name settings of Spark, functions of Spark's SQL, and
ways to call its API. The first sentence always stays, since it says what happened.
"""

from __future__ import annotations

import re

from shared.errors import ErrorCode

_CLASS = re.compile(r"^(?:.*?(?:Exception|Error): )?\[_?[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*\]\s*", re.DOTALL)
_STATE = re.compile(r"\s*SQLSTATE:\s*(\w{5})\b[.;]?")
_PLACE = re.compile(r";?\s*line \d+,? pos \d+.*|\n?== (?:SQL|DataFrame).*|\n\s+at [\w.$]+\(.*|;\n['+:*!].*", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'`<(]?[A-Z0-9])|\s*\n\s*(?=[\"'`<(]?[A-Z0-9]|$)")
_HINT = re.compile(
    r"""\bspark\.[a-z]\w*\.\w   # a setting
    | `?\btry_[a-z_]+\b | (?:SQL|Spark)\ config | \b[Cc]onfig(?:uration)?\ (?:setting|variable|["'<])
    | ^(?:If\ necessary|To\ (?:re-?enable|restore|revert|tolerate|bypass|ignore|avoid\ this|work\ around|allow|disable)|
         Please\ (?:set|use|check\ if|refer|increase|enable|read)|Consider|Use\ |Refer\ to|You\ can|Set\ |Or\ set|
         As\ a\ workaround|For\ more\ information|For\ example|Enable\ it|This\ check\ can\ be|If\ you\ want)
    | --driver-memory | --executor-memory | \bbypass\ this | SparkSession | \bDatasets?\b | DataFrame | Spark\ SQL\ doc
    """,
    re.VERBOSE,
)
_ASIDE = re.compile(r"\s*\((?:spark\.[^()]*|[^()]*\bspark\.[a-z]\w*\.[^()]*)\)")
_BYPASS = re.compile(r"\s*If necessary set [^.]*(?:\.\w[^.]*)*? to bypass this error[^.]*\.?")
_SETTING = re.compile(r"[\"'`]?\bspark(?:\.\w+){2,}[\"'`]?")
_JAVA = re.compile(r"\(?\b(?:[a-z]\w*\.){2,}(?:[A-Z]\w*\$)*[A-Z]\w*(?:Exception|Error)\)?(?::\s*|\s+|$)")
_MOST = 1000
_CODES = {"0A": ErrorCode.NOT_SUPPORTED, "22": ErrorCode.GENERIC_USER_ERROR}
"""Presto's codes by classes of SQLSTATE: what is not supported, and what values made wrong."""


def has_class(text: str) -> bool:
    """Whether a message begins with the name of a condition in brackets."""
    return _CLASS.match(text) is not None


def plain_text(text: str) -> str:
    """What a message means to somebody who does not know Spark.

    >>> plain_text('[CANNOT_DO] Cannot do `x`. If necessary set "spark.sql.ansi.enabled" to "false". SQLSTATE: 0A000')
    'Cannot do `x`'
    """
    bare = _BYPASS.sub("", _STATE.sub("", _PLACE.sub("", _CLASS.sub("", text, count=1))))
    first, *rest = [s for s in (_SENTENCE.split(bare.strip())) if s.strip()] or ["no reason given"]
    kept = [first, *(sentence for sentence in rest if not _HINT.search(sentence))]
    said = " ".join(" ".join(_SETTING.sub("a setting", _ASIDE.sub("", sentence)).split()) for sentence in kept)
    return said[:_MOST].rstrip(" .:;")


def without_classes(text: str) -> str:
    """A message without the names of Java's exceptions, which may stand in parentheses, and before one another.

    >>> without_classes("(org.apache.iceberg.exceptions.ValidationException) Found conflicting files: a")
    'Found conflicting files: a'
    """
    return _JAVA.sub("", text).strip() or "no reason given"


def code_of(text: str) -> ErrorCode | None:
    """Presto's code for the SQLSTATE that a message ends with; None where only its condition could tell."""
    states = _STATE.findall(text)
    return _CODES.get(states[-1][:2]) if states else None
