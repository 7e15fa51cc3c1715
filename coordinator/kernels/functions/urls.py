"""Functions of URLs, which Presto reads with java.net.URI: what that refuses gives NULL."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote_plus, unquote, unquote_plus

from .failures import invalid
from .table import Table, plain

# RFC 3986, appendix B.
_URI = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_LEGAL = re.compile(r"(?:[\w.~!$&'()*+,;=:@/?#\[\]-]|%[0-9A-Fa-f]{2}|[^\x00-\x7f\s])*")
_HOST = re.compile(r"(?:[^@]*@)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]*)(?::([0-9]*))?")


def _parts(url: str) -> Any:
    if not _LEGAL.fullmatch(url):
        return None
    match = _URI.fullmatch(url)
    return None if match is None or (match[1] and url == match[1] + ":") else match


def _part(index: int) -> Any:
    def part(url: str) -> str | None:
        match = _parts(url)
        return None if match is None else unquote(match[index] or "") if index in (4, 5) else (match[index] or "")

    return part


def _path(url: str) -> str | None:
    match = _parts(url)
    return None if match is None else unquote(match[3])


def _host(url: str) -> str | None:
    match = _parts(url)
    if match is None:
        return None
    found = _HOST.fullmatch(match[2] or "")
    return "" if found is None else found[1]


def _port(url: str) -> int | None:
    match = _parts(url)
    found = None if match is None else _HOST.fullmatch(match[2] or "")
    return int(found[2]) if found is not None and found[2] else None


def _parameter(url: str, name: str) -> str | None:
    match = _parts(url)
    if match is None or match[4] is None:
        return None
    for pair in match[4].split("&"):
        key, _, value = pair.partition("=")
        if key == name:
            return unquote_plus(value)
    return None


def _decode(text: str) -> str:
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise invalid("URLDecoder: Illegal hex characters in escape (%) pattern")
    return unquote_plus(text)


URLS: Table = plain(
    url_extract_protocol=_part(1), url_extract_host=_host, url_extract_port=_port, url_extract_path=_path,
    url_extract_query=_part(4), url_extract_fragment=_part(5), url_extract_parameter=_parameter,
    url_encode=lambda text: quote_plus(text, safe="*").replace("~", "%7E"), url_decode=_decode,
)  # fmt: skip
