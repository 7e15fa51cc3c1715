"""Request headers to a Session, in either header family. Source: Presto's HttpRequestSessionContext."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import NoReturn
from urllib.parse import unquote_plus
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from starlette.datastructures import Headers

from coordinator.security.access_control.enabled_roles import is_selected_role
from coordinator.server.prepared_texts import PreparedTexts
from coordinator.server.problems import bad_request
from shared.errors import ErrorCode, ProcessionError
from shared.plan.kept import kept
from shared.protocol import headers as names
from shared.protocol.headers import Family, family_of, header_key, header_name
from shared.protocol.session_functions import decode_function
from shared.spi.access_control import Identity
from shared.spi.session import Session
from shared.spi.session_function import SessionFunction

_MOST_FUNCTIONS = 100
_NOT_KEPT = (names.EXTRA_CREDENTIAL, names.PREPARED_STATEMENT, names.TRACE_TOKEN)
"""Secrets, what is checked otherwise, and what no two statements have in common."""
_FAMILIES = ("x-presto-", "x-trino-")
Said = tuple[tuple[str, str], ...]
_ESTIMATES = frozenset({"EXECUTION_TIME", "CPU_TIME", "PEAK_MEMORY", "PEAK_TASK_MEMORY"})


class RequestHeaders:
    """The session headers of one request, whichever family it speaks."""

    def __init__(self, headers: Headers | Said) -> None:
        # A session asks for twenty, for each of which Starlette looks through all that there are.
        self._values: dict[str, list[str]] = {}
        for key, value in headers if isinstance(headers, tuple) else headers.items():
            self._values.setdefault(key, []).append(value)
        self.family: Family = family_of(self._values)

    def has(self, name: str) -> bool:
        return header_key(self.family, name) in self._values

    def said(self) -> Said:
        """The headers of both families."""
        names_ = self._values.items()
        return tuple((key, value) for key, values in names_ if key.startswith(_FAMILIES) for value in values)

    def text(self, name: str) -> str | None:
        """The trimmed value; None when absent or blank."""
        found = self._values.get(header_key(self.family, name))
        return (found[0].strip() or None) if found is not None else None

    def items(self, name: str) -> list[str]:
        """Comma-separated values of every occurrence."""
        found = self._values.get(header_key(self.family, name), ())
        return [item.strip() for value in found for item in value.split(",") if item.strip()]

    def pairs(self, name: str) -> list[tuple[str, str]]:
        """``key=value`` items, still encoded; a 400 for anything else."""
        pairs = []
        for item in self.items(name):
            key, separator, value = item.partition("=")
            if not separator or not key.strip():
                self.invalid(name)
            pairs.append((key.strip(), value.strip()))
        return pairs

    def invalid(self, name: str, reason: str = "") -> NoReturn:
        raise bad_request(f"Invalid {header_name(self.family, name)} header{': ' + reason if reason else ''}")


def session_of(
    headers: Headers,
    client: str | None,
    start: datetime,
    prepared: PreparedTexts | None = None,
    *,
    principal_header: str | None = None,
    process_forwarded: bool = False,
    identity: Identity | None = None,
) -> Session:
    """The session that a request asks for. Raises ProblemError (400) with Presto's texts.

    ``principal_header`` is set by a proxy that authenticates; without one nobody is taken for authenticated.
    ``process_forwarded`` believes a proxy who the client is. ``identity`` is whom we have let in ourselves, whatever
    the headers say.
    """
    request = RequestHeaders(headers)
    user = request.text(names.USER) if identity is None else identity.user
    if user is None:
        raise bad_request("User must be set")
    principal = None if principal_header is None else headers.get(principal_header, "").strip() or None
    return replace(
        _asked(request, user, prepared) if any(map(request.has, _NOT_KEPT)) else _asked_again(request.said(), user),
        remote_address=_remote_address(headers, client) if process_forwarded else client,
        principal=principal if identity is None else identity.principal,
        groups=() if identity is None else identity.groups,
        user_agent=headers.get("user-agent"),
        traceparent=_traceparent(headers.get("traceparent")),
        start=start,
    )


def _asked(request: RequestHeaders, user: str, prepared: PreparedTexts | None) -> Session:
    """What the headers of the family say."""
    catalog, schema = request.text(names.CATALOG), request.text(names.SCHEMA)
    if schema is not None and catalog is None:
        raise bad_request("Schema is set but catalog is not")
    properties, catalog_properties = _session_properties(request)
    transaction = request.text(names.TRANSACTION_ID)
    return Session(
        user=user,
        source=request.text(names.SOURCE),
        catalog=catalog,
        schema=schema,
        time_zone=properties.get("time_zone_id") or request.text(names.TIME_ZONE) or "UTC",
        language=request.text(names.LANGUAGE) or "en-US",
        trace_token=request.text(names.TRACE_TOKEN),
        client_info=request.text(names.CLIENT_INFO),
        client_tags=tuple(dict.fromkeys(request.items(names.CLIENT_TAGS))),
        properties=properties,
        catalog_properties=catalog_properties,
        prepared_statements=_prepared_statements(request, prepared),
        functions=_functions(request),
        roles=_roles(request),
        extra_credentials={key: unquote_plus(value) for key, value in request.pairs(names.EXTRA_CREDENTIAL)},
        resource_estimates=_resource_estimates(request),
        transaction_id=None if transaction is None or transaction.upper() == "NONE" else transaction,
        client_transaction_support=transaction is not None,
        protocol=request.family,
    )


@kept(1024)
def _asked_again(said: Said, user: str) -> Session:
    """The same of the same headers, which most clients send with all of their statements."""
    return _asked(RequestHeaders(said), user, None)


def _session_properties(request: RequestHeaders) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    system: dict[str, str] = {}
    by_catalog: dict[str, dict[str, str]] = {}
    for key, encoded in request.pairs(names.SESSION):
        value = unquote_plus(encoded)
        match key.split("."):
            case [name]:
                system[name] = value
            case [catalog, name] if catalog and name:
                by_catalog.setdefault(catalog, {})[name] = value
            case _:
                request.invalid(names.SESSION)
    return system, by_catalog


def _roles(request: RequestHeaders) -> dict[str, str]:
    found = {key.lower(): unquote_plus(value) for key, value in request.pairs(names.ROLE)}
    if not all(map(is_selected_role, found.values())):
        request.invalid(names.ROLE)
    return found


def _prepared_statements(request: RequestHeaders, prepared: PreparedTexts | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, encoded in request.pairs(names.PREPARED_STATEMENT):
        name, sql = unquote_plus(key), unquote_plus(encoded)
        if not name or not sql:
            request.invalid(names.PREPARED_STATEMENT)
        found[name] = sql
    if prepared is not None:
        try:
            prepared.check(found.values())
        except ProcessionError as error:
            request.invalid(names.PREPARED_STATEMENT, error.wire_message)
    return found


def _functions(request: RequestHeaders) -> tuple[SessionFunction, ...]:
    pairs = request.pairs(names.SESSION_FUNCTION)
    if len(pairs) > _MOST_FUNCTIONS:
        request.invalid(names.SESSION_FUNCTION, f"more than {_MOST_FUNCTIONS} functions")
    try:
        found = [decode_function(unquote_plus(key), unquote_plus(value)) for key, value in pairs]
    except ValueError as error:
        request.invalid(names.SESSION_FUNCTION, str(error))
    return tuple({function.id: function for function in found}.values())


def _resource_estimates(request: RequestHeaders) -> dict[str, str]:
    estimates: dict[str, str] = {}
    for key, value in request.pairs(names.RESOURCE_ESTIMATE):
        if key.upper() not in _ESTIMATES:
            request.invalid(names.RESOURCE_ESTIMATE, f"Unsupported resource name {key}")
        estimates[key.upper()] = unquote_plus(value)
    return estimates


def _remote_address(headers: Headers, client: str | None) -> str | None:
    forwarded = headers.get("x-forwarded-for", "").split(",")[0].strip()
    return forwarded or client


def _traceparent(given: str | None) -> str | None:
    """W3C Trace Context: what is no such header is left out, as the standard says."""
    return given if given is not None and _TRACEPARENT.fullmatch(given) else None


def is_placeholder(headers: Headers) -> bool:
    """A gateway registers the statement for the retry endpoint only (``Retry-Query: true``)."""
    return (RequestHeaders(headers).text(names.RETRY_QUERY) or "").lower() == "true"


_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.{0,200})?")
_OFFSET = re.compile(r"[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00)")


@kept(1024)
def unknown_time_zone(zone: str) -> ProcessionError | None:
    """The error of a session zone that is neither an offset nor in the time zone database."""
    if _OFFSET.fullmatch(zone):
        return None
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return ProcessionError(ErrorCode.NOT_SUPPORTED, f"Time zone not supported: {zone}")
    return None
