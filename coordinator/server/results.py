"""A delivery page as an HTTP response: QueryResults, session headers, caching and compression."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import dataclass

import msgspec
from cachetools import LRUCache, cached
from fastapi import Request, Response

from coordinator.dispatch.delivery import Page
from coordinator.dispatch.failures import wire_failure
from coordinator.dispatch.pages import describe_columns
from coordinator.dispatch.query import Query
from coordinator.server.segments import encoded_data
from coordinator.server.settings import ServerSettings
from coordinator.server.uris import Uris
from coordinator.vocabulary.planned_statement import Column, SessionChange
from shared.protocol import headers as names
from shared.protocol.headers import Family, header_name, url_encode
from shared.protocol.session_functions import encode_function, encode_id
from shared.protocol.statement import QueryResults, WarningCode, WireWarning, encode_results
from shared.spi.session_function import SessionFunction


@dataclass(frozen=True, slots=True)
class Answer:
    """What a response needs besides the page. ``target_size`` is the text that nextUri repeats."""

    query: Query
    uris: Uris
    max_age: int
    target_size: str | None = None


_DESCRIBED: LRUCache[tuple[tuple[Column, ...], Family], bytes] = LRUCache(16 << 20, getsizeof=len)
"""Each page of a result says its columns again. Used by the event loop alone."""
_columns_json = cached(_DESCRIBED)(describe_columns)


def results_body(page: Page, answer: Answer) -> bytes:
    """The QueryResults of ``page``: the same bytes for the same page and URIs."""
    query = answer.query
    next_uri = page.retry_url
    if next_uri is None and page.next_token is not None:
        next_uri = answer.uris.page(page.kind, query.id, page.next_token, query.slug, answer.target_size)
    data = page.data
    if page.segment is not None:
        data = encoded_data(page, page.segment, query.id, answer.uris)
    columns = None if not page.columns else msgspec.Raw(_columns_json(page.columns, query.session.protocol))
    return encode_results(
        QueryResults(
            id=query.id,
            infoUri=answer.uris.info(query.id),
            partialCancelUri=answer.uris.end_early(query.id, query.slug) if page.may_end_early else None,
            nextUri=next_uri,
            columns=columns,
            data=None if data is None or page.binary else msgspec.Raw(data),
            binaryData=msgspec.Raw(data) if data is not None and page.binary else None,
            stats=page.stats,
            error=None if page.error is None else wire_failure(page.error),
            warnings=tuple(WireWarning(WarningCode(w.code, w.name), w.message) for w in page.warnings),
            updateType=page.update_type,
            updateCount=page.update_count,
        )
    )


def session_headers(change: SessionChange | None, family: Family) -> list[tuple[str, str]]:
    """What the client must change in its session; a name may repeat."""
    if change is None:
        return []
    pairs: list[tuple[str, str | None]] = [
        (names.SET_CATALOG, change.set_catalog),
        (names.SET_SCHEMA, change.set_schema),
        *((names.SET_SESSION, f"{key}={url_encode(value)}") for key, value in change.set_session.items()),
        *((names.CLEAR_SESSION, name) for name in change.clear_session),
        *((names.SET_ROLE, f"{catalog}={url_encode(role)}") for catalog, role in change.set_role.items()),
        *((names.ADDED_PREPARE, f"{url_encode(n)}={url_encode(sql)}") for n, sql in change.added_prepare.items()),
        *((names.DEALLOCATED_PREPARE, url_encode(name)) for name in change.deallocated_prepare),
        *((names.ADDED_SESSION_FUNCTIONS, _function_pair(function)) for function in change.added_functions),
        *((names.REMOVED_SESSION_FUNCTION, url_encode(encode_id(each))) for each in change.removed_functions),
        (names.STARTED_TRANSACTION_ID, change.started_transaction_id),
        (names.CLEAR_TRANSACTION_ID, "true" if change.clear_transaction_id else None),
    ]
    return [(header_name(family, name), value) for name, value in pairs if value is not None]


def _function_pair(function: SessionFunction) -> str:
    return f"{url_encode(encode_id(function.id))}={url_encode(encode_function(function))}"


async def results_response(request: Request, page: Page, answer: Answer, settings: ServerSettings) -> Response:
    """The whole response; large bodies are compressed on a thread when the client accepts gzip."""
    body = results_body(page, answer)
    headers = [
        ("Cache-Control", f"max-age={answer.max_age}"),
        ("Vary", "Accept-Encoding"),
        ("X-Content-Type-Options", "nosniff"),
        *session_headers(page.session_change, answer.query.session.protocol),
    ]
    if not settings.compression_enabled:
        headers.append(("Content-Encoding", "identity"))
    elif len(body) >= settings.compression_threshold and "gzip" in request.headers.get("accept-encoding", ""):
        body = await asyncio.to_thread(gzip.compress, body, 1, mtime=0)
        headers.append(("Content-Encoding", "gzip"))
    response = Response(body, media_type="application/json")
    response.raw_headers.extend((name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers)
    return response
