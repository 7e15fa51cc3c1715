"""What several coordinators that share a database know of unfinished work: whose it is, and who has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

from sqlalchemy import ColumnElement, Engine


class SharedWork(Protocol):
    """The shared database, as seen by one start of a coordinator."""

    @property
    def engine(self) -> Engine:
        """Of the shared database."""

    @property
    def owner(self) -> str:
        """This start of this coordinator, which no other start is ever called."""

    def lives(self) -> ColumnElement[bool]:
        """Whether this start of this coordinator is taken to live, by the database's clock: it may begin and commit."""

    def has_ended(self, owner: ColumnElement[str]) -> ColumnElement[bool]:
        """Whether the coordinator of a record has ended and can change nothing any more, by the database's clock."""


@runtime_checkable
class SharesWork(Protocol):
    """A connector that keeps a journal of what it begins, and may keep it in a shared database."""

    @property
    def shares_work(self) -> bool:
        """Whether other coordinators may take over what this one leaves open, and it theirs."""

    def share_work(self, shared: SharedWork) -> None:
        """Keep the journal there from now on, if that makes sense for the catalog. Raises ProcessionError."""

    def recover(self, end_write: Callable[[str], bool]) -> Iterable[object]:
        """Finish or undo what coordinators that ended left open. Raises ProcessionError."""

    def refuse_commits(self) -> bool:
        """No write that is under way commits any more; False: ask again. Blocks."""
