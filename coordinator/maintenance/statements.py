"""Statements that the service sends itself: planned, checked, queued and shown like everybody's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.query import Query
from coordinator.dispatch.states import QueryState
from coordinator.dispatch.submission import Submission
from coordinator.maintenance.settings import MaintenanceSettings
from shared.spi.session import Session

_POLL_SECONDS = 1.0
_PAGE_BYTES = 1 << 20


class OwnStatements:
    """Runs on the dispatcher's event loop, as one user. ``admit`` makes a session what the access control allows."""

    def __init__(
        self, dispatcher: Dispatcher, settings: MaintenanceSettings, admit: Callable[[Session], Session]
    ) -> None:
        self._dispatcher = dispatcher
        user = settings.user
        self.session = Session(
            user=user,
            principal=user,
            source=settings.source,
            client_tags=("maintenance",),
            roles=dict(settings.roles),
        )
        self._settings = settings
        self._admit = admit

    async def run(self, text: str, begun: Callable[[str], Awaitable[None]], seconds: float | None = None) -> None:
        """Until the statement has ended; its rows are not kept. ``begun`` gets its id.

        Raises ProcessionError, and TimeoutError after it was cancelled because ``seconds`` were over.
        """
        session = await asyncio.to_thread(self._admit, replace(self.session, start=self._dispatcher.clock.now()))
        query = self._dispatcher.submit(Submission(text, session, len(text)))
        await begun(query.id)
        self._dispatcher.start(query)
        try:
            async with asyncio.timeout(seconds):
                await self._read(query)
        finally:
            if query.active:
                self._dispatcher.cancel(query)
        if query.error is not None:
            raise query.error.apart()

    @property
    def users_wait(self) -> bool:
        """Statements of others stand in a queue."""
        return any(
            query.state is QueryState.QUEUED and not self._settings.own(query.session)
            for query in self._dispatcher.registry
        )

    async def _read(self, query: Query) -> None:
        """As a client does, page by page."""
        delivery = self._dispatcher.delivery(query)
        page = delivery.initial_page()
        while (token := page.next_token) is not None:
            ask = delivery.queued_page if page.kind == "queued" else delivery.executing_page
            page = await ask(token, _POLL_SECONDS, _PAGE_BYTES)
