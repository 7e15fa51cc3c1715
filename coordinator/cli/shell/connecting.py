"""From options to a connection: addresses, pairs, passwords, sessions."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)")
_PASSWORDS = ("PROCESSION_PASSWORD", "TRINO_PASSWORD", "PRESTO_PASSWORD")


class OptionError(Exception):
    """An option that cannot be used; the text is for the user."""


def address(server: str) -> tuple[str, str | None, str | None]:
    """Base address, catalog and schema of ``host:port``, ``https://host/catalog/schema`` or the like."""
    text = server if "://" in server else f"http://{server}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise OptionError(f"{server} is no address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise OptionError(f"{server} is no address: write http://host:port or https://host:port")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    path = [unquote(part) for part in parts.path.split("/") if part]
    if len(path) > 2:
        raise OptionError(f"{server} has more than a catalog and a schema behind the host")
    catalog, schema = (*path, None, None)[:2]
    return f"{parts.scheme}://{host}{'' if port is None else f':{port}'}", catalog, schema


def proxy(http: str | None, socks: str | None) -> str | None:
    """The address of the proxy that was asked for; a SOCKS proxy finds the server by its name."""
    if http is not None and socks is not None:
        raise OptionError("--http-proxy and --socks-proxy do not go together")
    if socks is not None:
        return f"socks5h://{address(socks)[0].partition('://')[2]}"
    return None if http is None else address(http)[0]


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """``NAME=VALUE`` of every use of an option."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise OptionError(f"{option} takes NAME=VALUE, not {text}")
        found[name.strip()] = value
    return found


def seconds(option: str, text: str) -> float:
    """``2m``, ``30s``"""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise OptionError(f"{option} takes a time such as 2m or 30s, not {text}")
    return float(found[1]) * _SECONDS[found[2]]


def password(wanted: bool) -> str | None:
    """Of the environment, or typed: in an argument everybody on the machine could read it."""
    if not wanted:
        return None
    kept = next((os.environ[name] for name in _PASSWORDS if os.environ.get(name)), None)
    return kept or getpass.getpass("Password: ")


def local_time_zone() -> str | None:
    """This machine's, by its name in the database of time zones; None where it has none."""
    named = os.environ.get("TZ", "").lstrip(":")
    target = named or os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    return target if re.fullmatch(r"[A-Za-z_]+(/[A-Za-z0-9_+\-]+)*", target) else None
