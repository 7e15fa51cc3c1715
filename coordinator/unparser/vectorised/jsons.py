"""What simple paths lead to in JSON texts, in the embedded engine's words.

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
_NOTHING = ("OBJECT", "ARRAY", "NULL")


def _steps(asked: Asked) -> list[str] | None:
    """Keys and indexes of a simple literal path over a text."""
    path = asked.node.arguments[1]
    inner = path.arguments[0] if isinstance(path, Call) else path
    text = value_of(inner) if isinstance(inner, Constant) else None
    if not isinstance(text, str) or not _PATH.fullmatch(text) or asked.bases[0] != "varchar":
        return None
    return _STEP.findall(text)


def _readable(value: str, steps: list[str]) -> tuple[str, ...]:
    """Whether both parsers read the text alike: each key stands in it once at most, an index nowhere as a key."""
    numbers = f"(contains(lower({value}), 'nan') OR contains(lower({value}), 'inf'))"
    found = [f"json_valid({value})", f"NOT regexp_matches({value}, {quoted(_COMMA)})", f"NOT contains({value}, '\\u')"]
    found.append(f"CASE WHEN {numbers} THEN NOT regexp_matches({value}, {quoted(_NAN)}) ELSE TRUE END")
    brackets = f"strlen({value}) - strlen(replace(replace({value}, '[', ''), '{{', ''))"
    found.append(f"(strlen({value}) < {_SHALLOW} OR {brackets} < {_DEEP})")
    found.append(f"(strlen({value}) < {_SHORT} OR NOT regexp_matches({value}, '[0-9]{{1000}}'))")
    for step in dict.fromkeys(steps):
        key = quoted(f'"{step}"')
        if step.isdigit():
            found.append(f"NOT contains({value}, {key})")
        else:
            found.append(f"(strlen({value}) - strlen(replace({value}, {key}, '')) <= {len(step) + 2})")
    return tuple(found)


def _located(value: str, steps: list[str]) -> str:
    """The text, or NULL where it is no JSON, on which functions would fail; and the path."""
    path = "".join(f"[{step}]" if step.isdigit() else f'."{step}"' for step in steps)
    return f"CASE WHEN json_valid({value}) THEN {value} END, {quoted('$' + path)}"


def _extract_scalar(asked: Asked) -> Form | None:
    steps = _steps(asked)
    if steps is None:
        return None
    value, located = asked.arguments[0], _located(asked.arguments[0], steps)
    plain = f"coalesce(json_type({located}), 'NULL') IN ({', '.join(map(quoted, _SCALARS + _NOTHING))})"
    return Form(f"json_extract_string(json_value({located}), '$')", (*_readable(value, steps), plain))


def _extract(asked: Asked) -> Form | None:
    """Texts, integers and truth values: the others are written otherwise."""
    steps = _steps(asked)
    if steps is None:
        return None
    value, located = asked.arguments[0], _located(asked.arguments[0], steps)
    plain = f"coalesce(json_type({located}), 'NULL') IN ({', '.join(map(quoted, (*_SCALARS, 'NULL')))})"
    shown = f"CAST(json_extract({located}) AS VARCHAR)"
    controls = f"NOT contains(coalesce({shown}, ''), '\\u')"
    return Form(shown, (*_readable(value, steps), plain, controls))


JSONS = {"json_extract_scalar": _extract_scalar, "json_extract": _extract}
