"""JDBC URLs, which every vendor writes in a way of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """Where a database is. ``query`` is what SQLAlchemy's URL needs besides, ``parameters`` are the JDBC URL's own."""

    host: str | None
    port: int | None
    database: str | None
    query: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    has_credentials: bool = False


def standard_url(text: str) -> RemoteAddress:
    """``postgresql://host:port/database?parameter=value&…``; raises ValueError."""
    parts = urlsplit(text)
    return RemoteAddress(
        host=parts.hostname,
        port=parts.port,
        database=parts.path.lstrip("/") or None,
        parameters=dict(parse_qsl(parts.query, keep_blank_values=True)),
        has_credentials=bool(parts.username or parts.password),
    )


def sqlserver_url(text: str) -> RemoteAddress:
    """``sqlserver://host:port;databaseName=name;property=value;…``; raises ValueError."""
    address, *properties = text.split(";")
    parts = urlsplit(address)
    given = _properties(properties)
    lower = {name.lower(): value for name, value in given.items()}
    return RemoteAddress(
        host=parts.hostname or lower.get("servername"),
        port=parts.port or (int(lower["portnumber"]) if "portnumber" in lower else None),
        database=lower.get("databasename") or lower.get("database") or parts.path.lstrip("/") or None,
        parameters=given,
        has_credentials=bool(parts.username or parts.password or {"user", "username"} & lower.keys()),
    )


_ORACLE = re.compile(
    r"oracle:thin:(?P<credentials>[^@/]+/[^@]*)?@(?:(?P<protocol>tcps?):)?(?://)?(?P<host>\[[^\]]+\]|[^:/?]+)"
    r"(?::(?P<port>\d+))?(?P<separator>[:/])(?P<name>[^?:/]+)(?:\?(?P<parameters>.*))?"
)


def oracle_url(text: str) -> RemoteAddress:
    """``oracle:thin:@host:port:sid`` or ``oracle:thin:@//host:port/service``; raises ValueError."""
    found = _ORACLE.fullmatch(text)
    if found is None:
        raise ValueError("must be jdbc:oracle:thin:@//host:port/service or jdbc:oracle:thin:@host:port:sid")
    sid = found["separator"] == ":"
    return RemoteAddress(
        host=found["host"],
        port=None if found["port"] is None else int(found["port"]),
        database=found["name"] if sid else None,
        query={} if sid else {"service_name": found["name"]},
        parameters=dict(parse_qsl(found["parameters"] or "", keep_blank_values=True))
        | ({"protocol": found["protocol"]} if found["protocol"] else {}),
        has_credentials=found["credentials"] is not None,
    )


def db2_url(text: str) -> RemoteAddress:
    """``db2://host:port/database:property=value;…``; raises ValueError."""
    parts = urlsplit(text)
    database, _, properties = parts.path.lstrip("/").partition(":")
    given = _properties(properties.split(";"))
    return RemoteAddress(
        host=parts.hostname,
        port=parts.port,
        database=database or None,
        parameters=given,
        has_credentials=bool(parts.username or parts.password or "user" in given),
    )


def _properties(items: list[str]) -> dict[str, str]:
    found = {}
    for item in items:
        if item.strip():
            name, equal, value = item.partition("=")
            if not equal:
                raise ValueError(f"has {item.strip()!r} where name=value should be")
            found[name.strip()] = value.strip()
    return found
