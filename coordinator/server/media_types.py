"""What clients may ask results to be."""

from __future__ import annotations

from starlette.requests import Request

ARROW_STREAM = "application/vnd.apache.arrow.stream"


def wants_arrow(request: Request) -> bool:
    """Whether the client asks for an Arrow stream by name."""
    accepted = (each.partition(";")[0].strip().lower() for each in request.headers.get("accept", "").split(","))
    return ARROW_STREAM in accepted
