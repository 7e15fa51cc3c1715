"""Functions of URLs in the embedded engine's words, for plain ones: a scheme, a host, and nothing that is escaped."""

from __future__ import annotations

import re

from coordinator.unparser.vectorised.form import Asked, Form, Rule, quoted

_LEGAL = r"A-Za-z0-9_.~!$&'()*+,;=:@/-"
_PARTS = {
    "protocol": "[A-Za-z][A-Za-z0-9+.-]*", "host": "[A-Za-z0-9.-]+", "port": "[0-9]{1,9}", "path": f"/[{_LEGAL}]*",
    "query": f"[{_LEGAL}?]*", "fragment": f"[{_LEGAL}?]*",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = r"(?:[^%]|%[2-7][0-9A-Fa-f])*"
"""Escapes of characters that are one byte, and no control characters."""


def _url(wanted: str = "") -> str:
    """Each group more makes the search slower: the wanted part alone is one."""
    protocol, host, port, path, query, fragment = (f"({p})" if k == wanted else f"(?:{p})" for k, p in _PARTS.items())
    return rf"{protocol}://{host}(?::{port})?{path}?(?:\?{query})?(?:#{fragment})?"


def _plain(value: str) -> tuple[str, ...]:
    return (f"regexp_full_match({value}, {quoted(_url())})",)


def _part(wanted: str) -> Rule:
    def rule(asked: Asked) -> Form | None:
        (value,) = asked.arguments
        if asked.bases != ["varchar"]:
            return None
        return Form(f"regexp_extract({value}, {quoted(f'^{_url(wanted)}$')}, 1)", _plain(value))

    return rule


def _port(asked: Asked) -> Form | None:
    found = _part("port")(asked)
    return found and Form(f"TRY_CAST(nullif({found.value}, '') AS BIGINT)", found.plain)


def _parameter(asked: Asked) -> Form | None:
    """The first of a name; nothing stands for a name without a value."""
    value, wanted = asked.arguments[0], asked.constant(1)
    if asked.bases != ["varchar", "varchar"] or not isinstance(wanted, str) or not _NAME.fullmatch(wanted):
        return None
    query = f"regexp_extract({value}, {quoted('^' + _url('query') + '$')}, 1)"
    named = f"""lambda "$pair": "$pair" = {quoted(wanted)} OR starts_with("$pair", {quoted(wanted + "=")})"""
    given = f"""lambda "$pair": replace(substring("$pair", {len(wanted) + 2}), '+', ' ')"""
    found = f"list_transform(list_filter(string_split({query}, '&'), {named}), {given})[1]"
    return Form(found, _plain(value))


def _encode(asked: Asked) -> Form | None:
    (value,) = asked.arguments
    if asked.bases != ["varchar"]:
        return None
    return Form(f"replace(replace(replace(url_encode({value}), '%20', '+'), '~', '%7E'), '%2A', '*')")


def _decode(asked: Asked) -> Form | None:
    (value,) = asked.arguments
    if asked.bases != ["varchar"]:
        return None
    return Form(f"url_decode(replace({value}, '+', ' '))", (f"regexp_full_match({value}, {quoted(_ESCAPED)})",))


URLS: dict[str, Rule] = {
    **{f"url_extract_{part}": _part(part) for part in _PARTS}, "url_extract_port": _port,
    "url_extract_parameter": _parameter, "url_encode": _encode, "url_decode": _decode,
}  # fmt: skip
