"""Statements that a page runs as whoever looks at it, through the dispatcher as those of any client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
from fastapi import Request

from coordinator.dispatch.delivery import Page, TokenError
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.query import Query
from coordinator.dispatch.submission import Submission
from coordinator.server.authentication import authenticated_identity
from coordinator.server.session import session_of, unknown_time_zone
from coordinator.server.settings import ServerSettings
from coordinator.vocabulary.planned_statement import Column
from shared.errors import ProcessionError
from shared.spi.session import Session

SOURCE = "procession-ui"
"""Of the statements that pages run by themselves."""
MOST_ROWS = 1000
_DECODER = msgspec.json.Decoder(list[list[object]])
_PATIENCE = 20.0
_TARGET_SIZE = 1 << 20
_MOST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement gave; ``error`` is for people, ``cut`` says that there are more rows than these."""

    columns: tuple[Column, ...] = ()
    rows: Sequence[Sequence[object]] = ()
    error: str | None = None
    cut: bool = False
    query_id: str = ""

    def records(self) -> list[dict[str, object]]:
        """Rows by the names of their columns."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=False)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class UserStatements:
    """Under the identity, the rights, the queue and the limits of the user."""

    dispatcher: Dispatcher
    settings: ServerSettings

    async def session(self, request: Request) -> Session:
        """Raises ProcessionError for whom may run nothing, ProblemError for headers that are wrong."""
        client = request.client.host if request.client is not None else None
        session = session_of(
            request.headers,
            client,
            self.dispatcher.clock.now(),
            principal_header=self.settings.principal_header,
            process_forwarded=self.settings.process_forwarded,
            identity=authenticated_identity(request),
        )
        session = replace(session, source=SOURCE)
        problem = unknown_time_zone(session.time_zone)
        if problem is not None:
            raise problem
        if self.settings.admit_blocks:
            return await asyncio.to_thread(self.settings.admit, session)
        return self.settings.admit(session)

    async def rows(
        self,
        request: Request,
        sql: str,
        limit: int = MOST_ROWS,
        *,
        catalog: str | None = None,
        schema: str | None = None,
    ) -> Rows:
        """The first rows, or why there are none; what takes too long is cancelled."""
        if _is_drawn_in(request):
            return Rows(error="Pages of other sites may lead here, and run nothing")
        try:
            session = await self.session(request)
            if catalog:
                session = replace(session, catalog=catalog, schema=schema or None)
        except ProcessionError as error:
            return Rows(error=error.message)
        query = self.dispatcher.submit(Submission(sql, session, len(sql)))
        try:
            async with asyncio.timeout(_PATIENCE):
                return await self._read(query, limit)
        except TimeoutError:
            return Rows(error=f"This took longer than {_PATIENCE:.0f} seconds", query_id=query.id)
        except TokenError as error:
            return Rows(error=error.text, query_id=query.id)
        finally:
            self.dispatcher.cancel(query)

    async def several(self, request: Request, statements: Mapping[str, str]) -> dict[str, Rows]:
        """At the same time, by name."""
        found = await asyncio.gather(*(self.rows(request, sql) for sql in statements.values()))
        return dict(zip(statements, found, strict=True))

    async def _read(self, query: Query, limit: int) -> Rows:
        delivery = self.dispatcher.delivery(query)
        self.dispatcher.start(query)
        rows: list[list[object]] = []
        columns: tuple[Column, ...] = ()
        page: Page | None = await delivery.queued_page(1, 1.0, _TARGET_SIZE)
        size = 0
        while page is not None:
            if page.error is not None:
                return Rows(error=page.error.wire_message, query_id=query.id)
            columns = page.columns or columns
            if page.data is not None:
                size += len(page.data)
                rows += await asyncio.to_thread(_DECODER.decode, page.data)
            more = page.next_token
            if len(rows) >= limit or size > _MOST_BYTES:
                return Rows(columns, rows[:limit], cut=more is not None or len(rows) > limit, query_id=query.id)
            if more is None:
                page = None
            elif page.kind == "queued":
                page = await delivery.queued_page(more, 1.0, _TARGET_SIZE)
            else:
                page = await delivery.executing_page(more, 1.0, _TARGET_SIZE)
        return Rows(columns, rows, query_id=query.id)


def _is_drawn_in(request: Request) -> bool:
    """By a page of another site, as a picture or the like; a link that somebody follows is no such thing."""
    across = request.headers.get("sec-fetch-site", "") in ("cross-site", "same-site")
    return across and request.headers.get("sec-fetch-mode", "") != "navigate"


def identifier(name: str) -> str:
    """
    >>> identifier('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """
    >>> text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def qualified(*names: str) -> str:
    return ".".join(map(identifier, names))
