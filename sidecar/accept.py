"""Which form of a converted plan an ``Accept`` header asks for (RFC 9110 §12.5.1)."""

from __future__ import annotations

from shared.protocol.sidecar import GRAPHVIZ, GRAPHVIZ_ALIAS, JSON, TEXT
from sidecar.messages import Format

# In the order that breaks ties.
OFFERED: tuple[tuple[str, Format], ...] = (
    (JSON, Format.JSON),
    (TEXT, Format.TEXT),
    (GRAPHVIZ, Format.GRAPHVIZ),
    (GRAPHVIZ_ALIAS, Format.GRAPHVIZ),
)


def choose(accept: str | None) -> tuple[str, Format] | None:
    """The media type to answer with and its form; None when nothing that is offered is acceptable.

    Without a header the caller is a Presto coordinator, which wants the verdict and no plan.
    """
    if accept is None or not accept.strip():
        return JSON, Format.NONE
    ranges = [r for part in accept.split(",") if (r := _range(part)) is not None]
    best: tuple[float, int, tuple[str, Format]] | None = None
    for order, offer in enumerate(OFFERED):
        quality = _quality(offer[0], ranges)
        if quality > 0 and (best is None or (quality, -order) > best[:2]):
            best = (quality, -order, offer)
    return best[2] if best else None


def _range(part: str) -> tuple[str, float, int] | None:
    """(media range, quality, specificity); None for a malformed part, which is ignored."""
    media, *parameters = (p.strip().lower() for p in part.split(";"))
    quality, extra = 1.0, 0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                quality = float(value)
            except ValueError:
                return None
        elif name.strip() == "charset":
            if value.strip().strip('"') not in ("utf-8", "utf8", "us-ascii"):
                return None
        elif name:
            extra = 1
    kind, separator, sub = media.partition("/")
    if not separator or not kind or not sub or extra:
        return None
    return media, min(max(quality, 0.0), 1.0), 0 if media == "*/*" else 1 if sub == "*" else 2


def _quality(media: str, ranges: list[tuple[str, float, int]]) -> float:
    kind = media.partition("/")[0]
    matching = [(s, q) for r, q, s in ranges if r in (media, f"{kind}/*", "*/*")]
    return max(matching)[1] if matching else 0.0
