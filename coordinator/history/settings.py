"""Properties of etc/config.properties for the history."""

from __future__ import annotations

from pydantic import Field

from coordinator.values.settings import Bytes, Seconds, Settings


class HistorySettings(Settings):
    """Properties of etc/config.properties."""

    enabled: bool = Field(
        True,
        alias="history.enabled",
        description="Keep what statements did in `history.db` of `node.data-dir` (docs/history.md).",
    )
    max_age: Seconds = Field(
        30 * 24 * 3600.0,
        alias="history.max-age",
        gt=0,
        description="Statements older than this are forgotten.",
    )
    max_size: Bytes = Field(
        1 << 30,
        alias="history.max-size",
        ge=1 << 20,
        description="What the history may hold, about; the oldest statements are forgotten first.",
    )
    max_queued: int = Field(
        50_000,
        alias="history.max-queued-events",
        ge=1,
        description="How many statements may wait to be written; more are not kept, and counted in `/metrics`.",
    )
    max_text: Bytes = Field(
        64 << 10,
        alias="history.max-text-size",
        ge=1024,
        description="How much of the text of one statement is kept.",
    )
