"""Last pages of conversations, kept in case a client asks for its own again: for a time, and up to a size together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Protocol

from coordinator.dispatch.query import Query


class Conversation(Protocol):
    """See ``Delivery``."""

    @property
    def query(self) -> Query: ...

    def release(self) -> None:
        """Forget the last page's rows."""
        ...

    async def set_aside(self) -> None:
        """Put them into a file."""
        ...


class Replays:
    """By when their clients last had the page. A sweep costs what has to go, however many are kept.

    Belongs to one event loop.
    """

    def __init__(self, most_bytes: int, seconds: float) -> None:
        self._most_bytes, self._seconds = most_bytes, seconds
        self._kept: dict[Conversation, int] = {}
        self.size = 0

    def keep(self, conversation: Conversation, size: int) -> None:
        """Its last page is another one, of ``size`` bytes in memory."""
        self.forget(conversation)
        self._kept[conversation] = size
        self.size += size

    def moved(self, conversation: Conversation) -> None:
        """The page is in a file from now on."""
        if conversation in self._kept:
            self.size -= self._kept[conversation]
            self._kept[conversation] = 0

    def asked(self, conversation: Conversation) -> None:
        """Its client has asked for the page again: it is as new as any, and those behind it do not wait for its end."""
        if conversation in self._kept:
            self._kept[conversation] = self._kept.pop(conversation)

    def forget(self, conversation: Conversation) -> None:
        """There is none any more."""
        self.size -= self._kept.pop(conversation, 0)

    def sweep(self) -> Sequence[Conversation]:
        """Release those whose clients stay away, and oldest ones beyond the size where the conversation is over.

        Returns the others beyond the size, to be put into files.
        """
        for old in list(takewhile(lambda each: each.query.idle_seconds > self._seconds, self._kept)):
            old.release()
        if self.size <= self._most_bytes:
            return []
        size, excess = self.size, list[Conversation]()
        # The newest one stays, however large: its client may just be asking again.
        for conversation, own in list(self._kept.items())[:-1]:
            if size <= self._most_bytes:
                break
            size -= own
            if not conversation.query.active:
                conversation.release()
            elif own:
                excess.append(conversation)
        return excess
