"""What simple paths lead to in JSON texts, and texts that are read as JSON, in the embedded engine's words.

Its parser takes more than JSON, shows other numbers with a point otherwise, and knows the first of two equal keys;
such texts are left to the programs.
"""

from __future__ import annotations

import re

from coordinator.expressions.builders import value_of
from coordinator.unparser.vectorised.form import Asked, Form, quoted
from shared.plan.expressions import Call, Constant

_PATH = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_]*|\[\"[A-Za-z_][A-Za-z0-9_]*\"\]|\[[0-9]{1,6}\])+")
_STEP = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+")
_COMMA, _NAN = r",\s*[\]}]", r"(?i)[:,\[]\s*[+-]?(nan|inf)"
"""Commas at the end, NaN and infinity, which are no JSON."""
_SHALLOW, _DEEP = 1_900, 900
"""Bytes of text below which nothing is nested too deeply to be read, and how many brackets may be there otherwise."""
_SHORT = 4_000
"""Below it no number has more digits than are read."""
_SCALARS = ("VARCHAR", "BOOLEAN", "UBIGINT", "BIGINT")
_SHOWN = (*_SCALARS, "NULL")
"""What is extracted as a text, or as nothing."""
_TEXTS = ("varchar", "json")
_PAIRS = r"[\x{10000}-\x{10ffff}]"
"""Characters that are two in Java, which Presto escapes."""
_BLANK, _BLANKS = r"[ \t\n\r]*", " \t\n\r"
_NUMBER = r"-?[1-9][0-9]{0,5}\.(?:[0-9]{0,5}[1-9]|0)|-?0\.[0-9]{0,2}[1-9]|0|-?[1-9][0-9]{0,17}"
"""The first that fits is taken."""
_SCALAR = r'(?:"[^"\\\x00-\x1f\x{10000}-\x{10ffff}]*"|' + _NUMBER + "|true|false|null)"
_LISTED = rf"{_SCALAR}{_BLANK}(?:,{_BLANK}{_SCALAR}{_BLANK})*"
_ARRAY = rf"\[{_BLANK}(?:{_LISTED})?\]"
_ENTRY = rf'"[A-Za-z0-9_]+"{_BLANK}:{_BLANK}(?:{_SCALAR}|{_ARRAY}){_BLANK}'
_SHOWN_ENTRY = rf'"[A-Za-z0-9_]+":(?:{_SCALAR}|\[(?:{_SCALAR}(?:,{_SCALAR})*)?\])'
_OBJECT = rf"\{{{_BLANK}(?:{_ENTRY}(?:,{_BLANK}{_ENTRY})*)?\}}"
_OTHERWISE = r"\\|(?:^|[:,\[])-?[0-9]+[.eE]|(?:^|[:,\[])-?[0-9]{18}|(?:^|[:,\[])-0"
"""What arrays and objects hold that both parsers may write otherwise: escapes, and numbers but for short whole ones."""
_FLAT = f"{_BLANK}(?:{_SCALAR}|{_ARRAY}|{_OBJECT}){_BLANK}"
"""Scalars, and arrays and objects of them, whose numbers and texts both parsers write alike."""


def _steps(asked: Asked) -> list[str] | None:
    """Keys and indexes of a simple literal path over a text."""
    path = asked.node.arguments[1]
    inner = path.arguments[0] if isinstance(path, Call) else path
    text = value_of(inner) if isinstance(inner, Constant) else None
    if not isinstance(text, str) or not _PATH.fullmatch(text) or asked.bases[0] not in _TEXTS:
        return None
    return _STEP.findall(text)


def _readable(value: str, steps: list[str], valid: str = "") -> tuple[str, ...]:
    """Whether both parsers read the text alike: each key stands in it once at most, an index nowhere as a key.

    ``valid`` tells whether it is JSON.
    """
    numbers = f"(contains(lower({value}), 'nan') OR contains(lower({value}), 'inf'))"
    found = [
        valid or f"json_valid({value})",
        f"NOT regexp_matches({value}, {quoted(_COMMA)})",
        f"NOT contains({value}, '\\u')",
    ]
    found.append(f"CASE WHEN {numbers} THEN NOT regexp_matches({value}, {quoted(_NAN)}) ELSE TRUE END")
    brackets = f"strlen({value}) - strlen(replace(replace({value}, '[', ''), '{{', ''))"
    found.append(f"(strlen({value}) < {_SHALLOW} OR {brackets} < {_DEEP})")
    found.append(f"(strlen({value}) < {_SHORT} OR NOT regexp_matches({value}, '[0-9]{{1000}}'))")
    for step in dict.fromkeys(steps):
        key = quoted(f'"{step}"')
        if step.isdigit():
            found.append(f"NOT contains({value}, {key})")
        else:
            twice = quoted(f'%"{step}"%"{step}"%')  # where _ may be any character
            found.append(f"NOT {value} LIKE {twice}")
    return tuple(found)


def _located(value: str, steps: list[str]) -> str:
    """The text, or NULL where it is no JSON, on which functions would fail; and the path."""
    return f"CASE WHEN json_valid({value}) THEN {value} END, {_path(steps)}"


def _path(steps: list[str]) -> str:
    return quoted("$" + "".join(f"[{step}]" if step.isdigit() else f'."{step}"' for step in steps))


def _extract_scalar(asked: Asked) -> Form | None:
    steps = _steps(asked)
    if steps is None:
        return None
    value = asked.arguments[0]
    located = f"{value}, {_path(steps)}"
    # TRY gives NULL for what is no JSON, which is parsed once for its type and once for its value.
    valid = f"coalesce(TRY(json_type({located})) IN ({', '.join(map(quoted, _SHOWN))}), json_valid({value}))"
    return Form(f"TRY(json_extract_string({located}))", _readable(value, steps, valid))


def _extract(asked: Asked) -> Form | None:
    """Texts, integers and truth values, alone or inside: the others are written otherwise."""
    steps = _steps(asked)
    if steps is None:
        return None
    value, located = asked.arguments[0], _located(asked.arguments[0], steps)
    shown = f"CAST(json_extract({located}) AS VARCHAR)"
    alike = f"(NOT regexp_matches({shown}, {quoted(_OTHERWISE)}) OR regexp_full_match({shown}, {quoted(_FLAT)}))"
    plain = f"(coalesce(json_type({located}), 'NULL') IN ({', '.join(map(quoted, _SHOWN))}) OR {alike})"
    escaped = f"(contains({shown}, '\\u') OR regexp_matches({shown}, {quoted(_PAIRS)}))"
    controls = f"NOT coalesce({escaped}, FALSE)"
    return Form(shown, (*_readable(value, steps), plain, controls))


def _parse(asked: Asked) -> Form | None:
    """Presto puts the keys of objects in order."""
    (value,) = asked.arguments
    if asked.bases != ["varchar"]:
        return None
    flat, valid = f"regexp_full_match({value}, {quoted(_FLAT)})", f"CASE WHEN json_valid({value}) THEN {value} END"
    keys = f"json_keys(CASE WHEN contains({value}, '{{') THEN {valid} END)"
    sole = f'list_transform([{keys}], lambda "$keys": len(list_distinct("$keys")) = len("$keys"))[1]'
    shown = f"CAST(json({valid}) AS VARCHAR)"
    put = f"'{{' || array_to_string(list_sort(regexp_extract_all({shown}, {quoted(_SHOWN_ENTRY)})), ',') || '}}'"
    once = f"CASE WHEN {flat} THEN coalesce({sole}, TRUE) ELSE FALSE END"
    return Form(f"CASE WHEN starts_with(ltrim({value}, {quoted(_BLANKS)}), '{{') THEN {put} ELSE {shown} END", (once,))


def _array_length(asked: Asked) -> Form | None:
    (value,) = asked.arguments
    if asked.bases[0] not in _TEXTS:
        return None
    read = f"CASE WHEN json_valid({value}) THEN {value} END"
    return Form(f"CASE WHEN json_type({read}) = 'ARRAY' THEN json_array_length({read}) END", _readable(value, []))


def _array_get(asked: Asked) -> Form | None:
    """Integers and truth values, and texts without their quotes."""
    value, index = asked.arguments[0], asked.constant(1)
    if asked.bases[0] not in _TEXTS or not isinstance(index, int) or abs(index) > _SHORT:
        return None
    place = quoted(f"$[{index}]" if index >= 0 else f"$[#{index}]")
    located = f"CASE WHEN json_valid({value}) THEN {value} END, {place}"
    plain = f"coalesce(json_type({located}), 'NULL') IN ({', '.join(map(quoted, _SHOWN))})"
    found = f"json_extract_string({located})"
    return Form(f"CASE WHEN json_type({located}) <> 'NULL' THEN {found} END", (*_readable(value, []), plain))


JSONS = {
    "json_extract_scalar": _extract_scalar, "json_extract": _extract, "json_parse": _parse,
    "json_array_length": _array_length, "json_array_get": _array_get,
}  # fmt: skip
