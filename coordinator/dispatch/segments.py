"""Segments of Trino's spooling protocol: the rows of a page, compressed, in the page or to be fetched apart.

A segment is fetched without authentication, as Trino's clients do: whoever knows its secret may. It ends when its
client has acknowledged it, when its query fails, or when its time is over.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from secrets import compare_digest, token_urlsafe
from typing import Literal

import pyarrow as pa

from coordinator.dispatch.clock import Clock
from coordinator.dispatch.pages import Chunk
from coordinator.dispatch.result_space import ResultFile, ResultSpace
from coordinator.dispatch.settings import DispatchSettings

Encoding = Literal["json", "json+zstd", "json+lz4"]
_CODECS: dict[Encoding, str | None] = {"json": None, "json+zstd": "zstd", "json+lz4": "lz4_raw"}
_WORTH_COMPRESSING = 8 << 10
"""As in Trino; a segment with less is sent as it is, which clients see by the size that is missing."""


def chosen_encoding(offered: list[str]) -> Encoding | None:
    """The first that we know of those that a client offers, most wanted first.

    >>> chosen_encoding(["arrow", "json+lz4", "json"])
    'json+lz4'
    """
    return next((known for text in offered for known in _CODECS if known == text.lower()), None)


@dataclass(frozen=True, slots=True)
class Segment:
    """What a page says of its rows. ``size`` is what the client gets, ``uncompressed`` only where that is less.

    ``secret``: by which the rows are fetched; without one they are in the page.
    """

    encoding: Encoding
    row_offset: int
    rows: int
    size: int
    uncompressed: int | None = None
    secret: str | None = None
    expires_at: datetime | None = None


@dataclass(slots=True)
class _Spooled:
    file: ResultFile
    asked_at: float
    expires: float


class SpooledSegments:
    """Segments that their clients have still to fetch, in files. Belongs to the dispatcher's event loop."""

    def __init__(self, settings: DispatchSettings, space: ResultSpace, clock: Clock) -> None:
        self._settings, self._space, self._clock = settings, space, clock
        self._of_query: dict[str, dict[str, _Spooled]] = {}
        self._made = 0

    @property
    def target_size(self) -> int:
        """Bytes of JSON in a segment, about."""
        return self._settings.segment_size

    async def made(self, query_id: str, chunks: list[Chunk], encoding: Encoding, offset: int) -> tuple[Segment, bytes]:
        """The rows of ``chunks`` as a segment, and what is in the page of it; nothing where it is fetched apart."""
        rows, size = sum(chunk.rows for chunk in chunks), sum(len(chunk.data) for chunk in chunks)
        if size < _WORTH_COMPRESSING:
            segment, data = _encoded(chunks, encoding)
        else:
            segment, data = await asyncio.to_thread(_encoded, chunks, encoding)
        segment = replace(segment, row_offset=offset, rows=rows)
        if rows <= self._settings.inlined_rows and len(data) <= self._settings.inlined_size:
            return segment, data
        return await self._spooled(query_id, segment, data)

    async def _spooled(self, query_id: str, segment: Segment, data: bytes) -> tuple[Segment, bytes]:
        """What finds no room stays in the page: its client may acknowledge nothing before it has all pages."""
        folder = self._space.folder
        others = self._of_query.get(query_id, {})
        stored = sum(each.file.size for each in others.values())
        if folder is None or stored + len(data) > self._settings.max_stored_of_query:
            return segment, data
        self._made += 1
        file = ResultFile(folder / f"{query_id}.segment{self._made}", self._space)
        if not await asyncio.to_thread(file.written, data):
            return segment, data
        secret, now, lasts = token_urlsafe(32), self._clock.monotonic(), self._settings.segment_time
        self._of_query.setdefault(query_id, {})[secret] = _Spooled(file, now, now + lasts)
        return replace(segment, secret=secret, expires_at=self._clock.now() + timedelta(seconds=lasts)), b""

    async def fetched(self, query_id: str, secret: str) -> bytes | None:
        """What a segment holds, as often as it is asked for before it ends; None for one that is not there."""
        found = self._found(query_id, secret)
        if found is None:
            return None
        found.asked_at = self._clock.monotonic()
        try:
            return await asyncio.to_thread(found.file.read, 0, found.file.size)
        except OSError:
            return None

    async def acknowledge(self, query_id: str, secret: str) -> bool:
        """Its client has it; False for one that is not there."""
        found = self._found(query_id, secret)
        if found is None:
            return False
        self._forget(query_id, secret)
        await asyncio.to_thread(found.file.remove)
        return True

    def drop(self, query_id: str) -> None:
        """Forget all of a query at once; the files go a moment later."""
        files = [each.file for each in self._of_query.pop(query_id, {}).values()]
        if files:
            asyncio.get_running_loop().run_in_executor(None, _remove, files)

    async def sweep(self) -> None:
        """Remove those whose time is over."""
        now = self._clock.monotonic()
        every = [(query_id, secret, each) for query_id, of in self._of_query.items() for secret, each in of.items()]
        old = [(query_id, secret, each.file) for query_id, secret, each in every if each.expires <= now]
        for query_id, secret, _ in old:
            self._forget(query_id, secret)
        if old:
            await asyncio.to_thread(_remove, [file for _, _, file in old])

    @property
    def wanted(self) -> bool:
        """Some client may still come for one: it was made, or asked for, not long ago."""
        oldest = self._clock.monotonic() - self._settings.client_timeout
        return any(each.asked_at > oldest for of in self._of_query.values() for each in of.values())

    def _found(self, query_id: str, secret: str) -> _Spooled | None:
        # Every secret is compared, in a time that tells nothing.
        of = self._of_query.get(query_id, {}).items()
        return next((each for known, each in of if compare_digest(known.encode(), secret.encode())), None)

    def _forget(self, query_id: str, secret: str) -> None:
        others = self._of_query.get(query_id, {})
        others.pop(secret, None)
        if not others:
            self._of_query.pop(query_id, None)


def _remove(files: list[ResultFile]) -> None:
    for file in files:
        file.remove()


def _encoded(chunks: list[Chunk], encoding: Encoding) -> tuple[Segment, bytes]:
    text = b"[" + b",".join(chunk.data for chunk in chunks) + b"]"
    codec = _CODECS[encoding]
    if codec is None or len(text) < _WORTH_COMPRESSING:
        return Segment(encoding, 0, 0, len(text)), text
    packed = pa.compress(text, codec=codec, asbytes=True)
    return Segment(encoding, 0, 0, len(packed), len(text)), packed
