"""Many statements in one request: a line of JSON each, a verdict a line in answer, in the same order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from coordinator.gateway.requests import PreChecks
from coordinator.gateway.wire import wire_verdict
from coordinator.server.problems import ProblemError
from shared.spi.session import Session

MEDIA_TYPES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})


class BatchItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line. ``id`` is any JSON and comes back with the verdict; the rest is said over the request's session."""

    sql: str
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    catalog: str | None = None
    schema: str | None = None
    session: Mapping[str, str] = {}


class _BadLine(msgspec.Struct, frozen=True):
    line: int
    problem: str


_ITEM = msgspec.json.Decoder(BatchItem | str)


async def answer_lines(lines: Sequence[bytes], session: Session, checks: PreChecks) -> AsyncIterator[bytes]:
    """Verdicts in the order of ``lines``; a few are worked on at a time, within the rate of pre-checks.

    A line that cannot be read is answered by ``{"line": n, "problem": …}``.
    """
    under_way: deque[asyncio.Task[bytes]] = deque()
    try:
        for number, line in enumerate(lines, start=1):
            while len(under_way) >= checks.settings.batch_concurrency:
                yield await under_way.popleft()
            under_way.append(asyncio.create_task(_answer(number, line, session, checks)))
        while under_way:
            yield await under_way.popleft()
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def _answer(number: int, line: bytes, session: Session, checks: PreChecks) -> bytes:
    try:
        decoded = _ITEM.decode(line)
        item = BatchItem(decoded) if isinstance(decoded, str) else decoded
        while (wait := checks.limit.wait_seconds()) > 0:
            await asyncio.sleep(wait)
        checks.limit.take()
        verdict = await checks.verdict_of_item(item.sql, _session(item, session))
    except msgspec.DecodeError as error:
        return _encoded(_BadLine(number, str(error)))
    except ProblemError as problem:
        return _encoded(_BadLine(number, problem.text))
    return _encoded(wire_verdict(verdict, checks.settings, item.id))


def _session(item: BatchItem, session: Session) -> Session:
    return replace(
        session,
        catalog=session.catalog if item.catalog is None else item.catalog,
        schema=session.schema if item.schema is None else item.schema,
        time_zone=item.session.get("time_zone_id") or session.time_zone,
        properties={**session.properties, **item.session},
    )


def _encoded(answer: object) -> bytes:
    return msgspec.json.encode(answer) + b"\n"
