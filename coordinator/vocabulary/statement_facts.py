"""What planning knows of a statement for those who are told of it later: tables, lineage, and the plan as text."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from shared.spi.event_listener import QueryIOMetadata


@dataclass(frozen=True, slots=True)
class PlanTexts:
    """The plan as EXPLAIN shows it, in text and JSON, compressed; cut off beyond a limit."""

    text: bytes = b""
    json: bytes = b""

    @classmethod
    def of(cls, text: str, json: str, limit: int) -> PlanTexts:
        """JSON that is too long is left out: cut off, it were none."""
        kept = text if len(text) <= limit else text[:limit] + "\n… (cut off)\n"
        return cls(compressed(kept), compressed(json) if len(json) <= limit else b"")


@dataclass(frozen=True, slots=True)
class StatementFacts:
    io: QueryIOMetadata
    plan: PlanTexts = PlanTexts()


def compressed(text: str) -> bytes:
    return zlib.compress(text.encode(), 3)


def restored(content: bytes | None) -> str | None:
    """The text of ``compressed``; None for nothing."""
    return zlib.decompress(content).decode() if content else None
