"""Who sent a statement and under which settings: frozen, picklable, passed to every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from shared.spi.session_function import SessionFunction

SENT_ROWS = "$sent_rows"
"""What a statement calls rows that its client sends along with it. In any other statement it is a name like others."""


@dataclass(frozen=True, slots=True)
class Session:
    """What the request headers say. ``catalog_properties`` is keyed by catalog, then property;
    ``property_defaults`` are the coordinator's own, of properties that the request does not set."""

    user: str
    query_id: str = ""
    source: str | None = None
    catalog: str | None = None
    schema: str | None = None
    time_zone: str = "UTC"
    language: str = "en-US"
    trace_token: str | None = None
    traceparent: str | None = None
    """W3C trace context of the request."""
    client_info: str | None = None
    client_tags: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    property_defaults: Mapping[str, str] = field(default_factory=dict)
    given_properties: Mapping[str, str] = field(default_factory=dict)
    """Those among ``properties`` that are the configuration's word and not the request's."""
    catalog_properties: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    prepared_statements: Mapping[str, str] = field(default_factory=dict)
    functions: tuple[SessionFunction, ...] = ()
    """Temporary functions, for what the session's own statements say: views, row filters and masks have none."""
    roles: Mapping[str, str] = field(default_factory=dict)
    extra_credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    resource_estimates: Mapping[str, str] = field(default_factory=dict)
    transaction_id: str | None = None
    client_transaction_support: bool = False
    sent_columns: tuple[tuple[str, str], ...] | None = None
    """Names and Presto types of rows that come along with the one statement, which reads them as SENT_ROWS."""
    protocol: Literal["Presto", "Trino"] = "Presto"
    remote_address: str | None = None
    principal: str | None = None
    """Who is authenticated: by us, or by a proxy in front of us where one is trusted to."""
    groups: tuple[str, ...] = ()
    accessible_catalogs: tuple[str, ...] | None = None
    """Those that the access control lets this session name; None for all."""
    user_agent: str | None = None
    start: datetime = field(default_factory=lambda: datetime.now(UTC))
