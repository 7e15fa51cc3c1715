"""Session options: catalog, schema and session properties, which the client keeps for us in a cookie.

Beside them stand roles, prepared statements and temporary functions (``kept_statements``).

The cookie holds the options themselves, so that every coordinator knows them and none has to keep any. A client can
write into it only what it may say as headers too: whose session it is comes from the login of each call. Source:
Flight.proto (``SetSessionOptionsRequest`` and its like).
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Mapping
from dataclasses import replace

from coordinator.flight.failures import invalid
from coordinator.flight.kept_statements import is_kept, kept_after, with_kept
from coordinator.flight.wire import Fields, message
from coordinator.server.session import unknown_time_zone
from coordinator.vocabulary.planned_statement import SessionChange
from coordinator.vocabulary.session_properties import DECLARED, check_value
from shared.errors import ProcessionError
from shared.spi.session import Session

COOKIE = "procession-session"
GONE = f"{COOKIE}=; Max-Age=0"
"""What makes a client forget it."""
CLOSED = 1
_INVALID_NAME, _INVALID_VALUE = 1, 2
_MOST = 8 << 10
"""Characters of a cookie: a call's metadata are limited."""
_DECLARED = {declared.name: declared for declared in DECLARED}
_SWITCH = "optimizer_rule_"
Options = dict[str, str]


def of_cookies(header: str | None) -> Options:
    """The options of a call; none where there is no cookie of ours. Raises CallError for one that is not readable."""
    for part in (header or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE and value.strip('"'):
            return _read(value.strip('"'))
    return {}


def cookie(options: Mapping[str, str]) -> str:
    """``Set-Cookie``. Raises CallError for more than fits."""
    text = json.dumps(dict(options), separators=(",", ":"))
    value = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    if len(value) > _MOST:
        raise invalid("The session options are too long")
    return f"{COOKIE}={value}; Path=/"


def with_options(session: Session, options: Mapping[str, str]) -> Session:
    """The session with its options, which count before what headers say. Raises CallError."""
    session = with_kept(session, options)
    options = {name: value for name, value in options.items() if not is_kept(name)}
    plain = {name: value for name, value in options.items() if "." not in name and name not in ("catalog", "schema")}
    of_catalogs = {catalog: dict(values) for catalog, values in session.catalog_properties.items()}
    for name, value in options.items():
        catalog, dot, own = name.partition(".")
        if dot:
            of_catalogs.setdefault(catalog, {})[own] = value
    return replace(
        session,
        catalog=options.get("catalog", session.catalog),
        schema=options.get("schema", session.schema),
        time_zone=plain.get("time_zone_id") or session.time_zone,
        properties={**session.properties, **plain},
        catalog_properties=of_catalogs,
    )


def after(options: Mapping[str, str], change: SessionChange) -> Options | None:
    """The options after a statement such as USE, SET SESSION or PREPARE; None where it changes none of them."""
    kept = kept_after(options, change)
    options = options if kept is None else kept
    found = {name: value for name, value in options.items() if name not in change.clear_session}
    found |= {name: value for name, value in change.set_session.items() if name not in change.clear_session}
    for name, value in (("catalog", change.set_catalog), ("schema", change.set_schema)):
        if value is not None:
            found[name] = value
    says = change.set_session or change.clear_session or change.set_catalog or change.set_schema
    return found if says or kept is not None else None


def changed(options: Mapping[str, str], asked: bytes) -> tuple[Options, bytes]:
    """The options after a SetSessionOptionsRequest, and its result, which names those that were refused."""
    found = dict(options)
    errors = []
    for entry in map(Fields, Fields(asked).messages(1)):
        name = entry.text(1).strip().lower()
        value, known = _value(Fields(entry.data(2)))
        problem = _problem(name, value, known=known)
        if problem is not None:
            errors.append(message((1, name), (2, message((1, problem)))))
        elif value is None:
            found.pop(name, None)
        else:
            found[name] = value.lower() if name in ("catalog", "schema") else value
    return found, message(*((1, error) for error in errors))


def shown(session: Session, options: Mapping[str, str]) -> bytes:
    """A GetSessionOptionsResult: the options, and catalog and schema wherever they were said."""
    own = {name: value for name in ("catalog", "schema") if (value := getattr(session, name)) is not None}
    entries = sorted({**own, **{name: value for name, value in options.items() if not is_kept(name)}}.items())
    return message(*((1, message((1, name), (2, message((1, value))))) for name, value in entries))


def _read(value: str) -> Options:
    if len(value) > _MOST:
        raise invalid(f"The cookie {COOKIE} is too long")
    try:
        found = json.loads(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)))
    except (ValueError, binascii.Error, RecursionError) as error:
        raise invalid(f"The cookie {COOKIE} cannot be read") from error
    if not isinstance(found, dict) or not all(isinstance(part, str) for part in (*found, *found.values())):
        raise invalid(f"The cookie {COOKIE} cannot be read")
    return found


def _value(fields: Fields) -> tuple[str | None, bool]:
    """A SessionOptionValue as text, None for no value, which unsets; and whether it is of a form that is taken."""
    if (text := fields.optional_text(1)) is not None:
        return text, True
    if (flag := fields.integer(2)) is not None:
        return ("true" if flag else "false"), True
    if (number := fields.integer(3)) is not None:
        return str(number - (1 << 64) if number >= 1 << 63 else number), True
    if (bits := fields.integer(4)) is not None:
        return repr(struct.unpack("<d", bits.to_bytes(8, "little"))[0]), True
    return None, not fields.messages(5)


def _problem(name: str, value: str | None, *, known: bool) -> int | None:
    """What is wrong with an option, in Flight's numbers. Those of catalogs are looked at when a statement uses them."""
    folded = name.lower()
    is_own = folded in ("catalog", "schema") or folded in _DECLARED or folded.startswith(_SWITCH)
    if not is_own and not all(part.isidentifier() for part in folded.replace("-", "_").split(".", 1)[:2]):
        return _INVALID_NAME
    if not is_own and "." not in folded:
        return _INVALID_NAME
    if not known or (
        value is not None and (not value.isprintable() or (folded in ("catalog", "schema") and not value))
    ):
        return _INVALID_VALUE
    if value is None or folded not in _DECLARED:
        return None
    if folded == "time_zone_id" and value and unknown_time_zone(value) is not None:
        return _INVALID_VALUE
    try:
        check_value(_DECLARED[folded], value)
    except ProcessionError:
        return _INVALID_VALUE
    return None
