"""What clients may ask results to be."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from coordinator.dispatch.arrow_chunks import Compression

ARROW_STREAM = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"

_CODECS: dict[str, Compression] = {"zstd": "zstd", "lz4": "lz4"}


@dataclass(frozen=True, slots=True)
class WantedStream:
    """All rows of a statement in one answer; ``compression`` is None where the client says nothing of it."""

    media_type: str
    compression: Compression | None = None


def wanted_stream(request: Request) -> WantedStream | None:
    """The one of ours that the client asks for by name."""
    accepted: dict[str, list[str]] = {}
    for each in _split(request.headers.get("accept", ""), ","):
        media_type, *parameters = _split(each, ";")
        accepted.setdefault(media_type.strip().lower(), parameters)
    if ARROW_STREAM in accepted:
        return WantedStream(ARROW_STREAM, _compression(accepted[ARROW_STREAM]))
    return WantedStream(PARQUET, "none") if PARQUET in accepted else None


def _compression(parameters: list[str]) -> Compression | None:
    """The first that we know of those that a client offers as ``codecs="zstd, lz4"``."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "codecs":
            offered = (each.strip().lower() for each in value.strip().strip('"').split(","))
            return next((_CODECS[each] for each in offered if each in _CODECS), "none")
    return None


def _split(text: str, separator: str) -> list[str]:
    """The parts between separators outside of quotes.

    >>> _split('a;x="1;2";y', ";")
    ['a', 'x="1;2"', 'y']
    """
    parts: list[list[str]] = [[]]
    for number, piece in enumerate(text.split('"')):
        if number:
            parts[-1].append('"')
        if number % 2:
            parts[-1].append(piece)
            continue
        first, *others = piece.split(separator)
        parts[-1].append(first)
        parts += [[each] for each in others]
    return ["".join(each) for each in parts]
