"""``/v1/spooled``: segments of results as Trino's clients fetch and acknowledge them, which is without authentication.

The secret in the address was told to the client of the query alone.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass

import msgspec
from fastapi import APIRouter, Request, Response

from coordinator.dispatch.delivery import Page
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.segments import Encoding, Segment, chosen_encoding
from coordinator.server.problems import ProblemError
from coordinator.server.session import RequestHeaders
from coordinator.server.uris import Uris
from shared.protocol.headers import QUERY_DATA_ENCODING
from shared.protocol.segments import EncodedData, SegmentMetadata, WireSegment
from shared.spi.session import Session

_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class SegmentRoutes:
    """Segments of one dispatcher's queries."""

    dispatcher: Dispatcher

    def router(self) -> APIRouter:
        """Both routes."""
        router = APIRouter(prefix="/v1/spooled", default_response_class=Response)
        router.add_api_route("/download/{query_id}/{secret}", self.download, methods=["GET"])
        router.add_api_route("/ack/{query_id}/{secret}", self.acknowledge, methods=["GET"])
        return router

    async def download(self, query_id: str, secret: str) -> Response:
        """The bytes; 404 for a segment that is not there, or is no more."""
        data = await self.dispatcher.segments.fetched(query_id, secret)
        if data is None:
            raise ProblemError(404, "Segment not found")
        self._touch(query_id)
        return Response(data, media_type="application/octet-stream", headers=_HEADERS)

    async def acknowledge(self, query_id: str, secret: str) -> Response:
        """Forget the segment; 404 for one that is not there."""
        if not await self.dispatcher.segments.acknowledge(query_id, secret):
            raise ProblemError(404, "Segment not found")
        self._touch(query_id)
        return Response(headers=_HEADERS)

    def _touch(self, query_id: str) -> None:
        """Who reads a segment has not left its query."""
        query = self.dispatcher.registry.get(query_id)
        if query is not None:
            query.touch()


def wanted_encoding(request: Request, session: Session) -> Encoding | None:
    """How a client of Trino's asks for segments, if it does and its session has not switched them off."""
    headers = RequestHeaders(request.headers)
    if headers.family != "Trino" or session.properties.get("spooling_enabled", "").strip().lower() == "false":
        return None
    return chosen_encoding(headers.items(QUERY_DATA_ENCODING))


def encoded_data(page: Page, segment: Segment, query_id: str, uris: Uris) -> bytes:
    """The ``data`` of a page with a segment."""
    metadata = SegmentMetadata(
        rowOffset=segment.row_offset,
        rowsCount=segment.rows,
        segmentSize=segment.size,
        uncompressedSize=segment.uncompressed,
        expiresAt=None if segment.expires_at is None else segment.expires_at.isoformat(),
    )
    if segment.secret is None:
        wire = WireSegment(type="inline", data=b64encode(page.data or b"").decode("ascii"), metadata=metadata)
    else:
        wire = WireSegment(
            type="spooled",
            uri=uris.segment("download", query_id, segment.secret),
            ackUri=uris.segment("ack", query_id, segment.secret),
            metadata=metadata,
        )
    return _encode(EncodedData(encoding=segment.encoding, segments=(wire,)))
