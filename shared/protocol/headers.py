"""Names of the statement protocol's headers in both families: ``X-Presto-*`` and ``X-Trino-*``.

Which family a response uses is decided by the request. Source: PrestoHeaders, and Trino's ProtocolHeaders.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Literal
from urllib.parse import quote

Family = Literal["Presto", "Trino"]

USER = "User"
SOURCE = "Source"
CATALOG = "Catalog"
SCHEMA = "Schema"
TIME_ZONE = "Time-Zone"
LANGUAGE = "Language"
TRACE_TOKEN = "Trace-Token"  # noqa: S105 - a header name
SESSION = "Session"
ROLE = "Role"
PREPARED_STATEMENT = "Prepared-Statement"
TRANSACTION_ID = "Transaction-Id"
CLIENT_INFO = "Client-Info"
CLIENT_TAGS = "Client-Tags"
RESOURCE_ESTIMATE = "Resource-Estimate"
EXTRA_CREDENTIAL = "Extra-Credential"
SESSION_FUNCTION = "Session-Function"
RETRY_QUERY = "Retry-Query"
PREFIX_URL = "Prefix-Url"
QUERY_DATA_ENCODING = "Query-Data-Encoding"

ADDED_SESSION_FUNCTIONS = "Added-Session-Functions"
REMOVED_SESSION_FUNCTION = "Removed-Session-Function"
SET_CATALOG = "Set-Catalog"
SET_SCHEMA = "Set-Schema"
SET_SESSION = "Set-Session"
CLEAR_SESSION = "Clear-Session"
SET_ROLE = "Set-Role"
ADDED_PREPARE = "Added-Prepare"
DEALLOCATED_PREPARE = "Deallocated-Prepare"
STARTED_TRANSACTION_ID = "Started-Transaction-Id"
CLEAR_TRANSACTION_ID = "Clear-Transaction-Id"


def header_name(family: Family, name: str) -> str:
    """``X-Presto-User`` of ``("Presto", "User")``."""
    return f"X-{family}-{name}"


@cache
def header_key(family: Family, name: str) -> str:
    """The same in lower case, in which requests bring it; of the names above alone, for it is remembered."""
    return header_name(family, name).lower()


def family_of(header_names: Iterable[str]) -> Family:
    """Trino when only Trino's headers were used; everything else is Presto."""
    found: Family = "Presto"
    for name in header_names:
        lowered = name.lower()
        if lowered.startswith("x-presto-"):
            return "Presto"
        if lowered.startswith("x-trino-"):
            found = "Trino"
    return found


def url_encode(value: str) -> str:
    """As Java's URLEncoder, but a blank is ``%20``: presto-python-client would take ``+`` for itself."""
    return quote(value, safe="*-._")
