"""``iceberg.rest.auth.*``: how the coordinator and Spark log in at a REST catalog."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

from shared.properties import Property

OAUTH = {
    "uri": "oauth2-server-uri", "token": "token", "credential": "credential", "scope": "scope",
    "token-exchange-enabled": "token-exchange-enabled",
}  # fmt: skip
_BASIC = {"username": "rest.auth.basic.username", "password": "rest.auth.basic.password"}
_SIGV4 = {"region": "rest.signing-region", "name": "rest.signing-name"}
_FAMILIES = {"OAUTH2": OAUTH, "BASIC": _BASIC, "SIGV4": _SIGV4}
_TYPE = "iceberg.rest.auth.type"
_PREFIX = "iceberg.rest.auth."
AUTH_PROPERTIES = frozenset(
    {_TYPE, *(f"{_PREFIX}{family.lower()}.{name}" for family, names in _FAMILIES.items() for name in names)}
)


def read_auth(catalog_type: str, properties: Mapping[str, Property]) -> dict[str, str]:
    """The login under the names of Iceberg's Java library; raises ConfigurationError with the line.

    Without a type, properties of OAuth2 mean OAuth2.
    """
    given = {name: entry for name, entry in properties.items() if name.startswith(_PREFIX)}
    for name, entry in given.items():
        if catalog_type != "rest":
            raise entry.error(f"'{name}' does not apply to iceberg.catalog.type={catalog_type}")
    requested = given.pop(_TYPE, None)
    kind = "OAUTH2" if requested is None else requested.value.upper()
    if requested is not None and kind not in ("NONE", *_FAMILIES):
        raise requested.error(f"invalid value '{requested.value}' for '{_TYPE}' (one of NONE, {', '.join(_FAMILIES)})")
    found = {}
    for name, entry in given.items():
        family, _, short = name.removeprefix(_PREFIX).partition(".")
        if kind not in ("NONE", family.upper()):
            raise entry.error(f"'{name}' does not apply to {_TYPE}={kind}")
        found[_FAMILIES[family.upper()][short]] = entry.value
    if requested is not None and kind in ("BASIC", "SIGV4"):
        _check(requested, kind, found)
        found["rest.auth.type"] = kind.lower()
    return found


def _check(requested: Property, kind: str, found: Mapping[str, str]) -> None:
    for short, name in _FAMILIES[kind].items():
        if name not in found and short != "name":
            raise requested.error(f"'{_PREFIX}{kind.lower()}.{short}' is missing")
    if kind == "SIGV4" and importlib.util.find_spec("boto3") is None:
        raise requested.error(f"{_TYPE}=SIGV4 needs the Python package boto3: pip install 'procession[glue]'")


def client_auth(auth: Mapping[str, str]) -> dict[str, Any]:
    """The same login as PyIceberg takes it."""
    plain = {name: value for name, value in auth.items() if not name.startswith("rest.auth.")}
    match auth.get("rest.auth.type"):
        case "basic":
            login = {short: auth[name] for short, name in _BASIC.items()}
            return plain | {"auth": {"type": "basic", "basic": login}}
        case "sigv4":
            return plain | {"rest.sigv4-enabled": "true"}
        case _:
            return plain
