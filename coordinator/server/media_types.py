"""What clients may ask results to be."""

from __future__ import annotations

from starlette.requests import Request

ARROW_STREAM = "application/vnd.apache.arrow.stream"


PARQUET = "application/vnd.apache.parquet"


def wanted_stream(request: Request) -> str | None:
    """The one of ours that the client asks for by name: all rows of a statement in one answer."""
    accepted = [each.partition(";")[0].strip().lower() for each in request.headers.get("accept", "").split(",")]
    return next((each for each in (ARROW_STREAM, PARQUET) if each in accepted), None)
