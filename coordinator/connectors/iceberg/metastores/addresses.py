"""``hive.metastore.uri`` and what else a metastore's entries in a catalog file must be."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from shared.properties import Property
from shared.units import parse_duration

_PORT = 9083
_PACKAGES = {"hive": ("thrift", "hive"), "glue": ("boto3", "glue")}


def metastore_addresses(entry: Property) -> str:
    """The addresses with their ports, separated by commas; raises ConfigurationError for what is none."""
    return ",".join(_address(entry, text.strip()) for text in entry.value.split(","))


def _address(entry: Property, text: str) -> str:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:
        host, port = None, 0
    if host is None or not text.startswith("thrift://") or parts.path not in ("", "/"):
        raise entry.error(f"invalid value '{text}' for '{entry.name}' (thrift://host:port, several with commas)")
    return f"thrift://{f'[{host}]' if ':' in host else host}:{port}"


def timeout_seconds(entry: Property) -> str:
    """Raises ConfigurationError for what is no duration above zero."""
    try:
        seconds = parse_duration(entry.value)
    except ValueError as error:
        raise entry.error(str(error)) from error
    if seconds <= 0:
        raise entry.error(f"'{entry.name}' must be greater than 0")
    return str(seconds)


def check_package(kind: Literal["hive", "glue"], properties: Mapping[str, Property]) -> None:
    """Raises ConfigurationError when the client is not installed."""
    package, extra = _PACKAGES[kind]
    if importlib.util.find_spec(package) is None:
        raise properties["iceberg.catalog.type"].error(
            f"iceberg.catalog.type={kind} needs the Python package {package}: pip install 'procession[{extra}]'"
        )
