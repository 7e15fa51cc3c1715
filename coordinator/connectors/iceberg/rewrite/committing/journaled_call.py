"""One rewrite's entry in the journal, and how far the rewrite is: all that changes while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum, auto

from coordinator.connectors.iceberg.rewrite.committing.journal import Journal, JournalEntry


class Stage(Enum):
    """WRITING: tasks may be at work. UNKNOWN: nobody can tell whether the commit landed."""

    PLANNED = auto()
    BEGUN = auto()
    WRITING = auto()
    WRITTEN = auto()
    COMMITTED = auto()
    UNKNOWN = auto()
    UNDONE = auto()


@dataclass(slots=True)
class JournaledCall:
    """Every effect is durable in ``journal`` before it takes place."""

    journal: Journal
    entry: JournalEntry
    stage: Stage = Stage.PLANNED
    attempts_lost: bool = False
    """Some of its tasks may have left files that no answer names."""

    def begin(self) -> None:
        """Make the intent durable, before the first task can write a file."""
        self.entry = replace(self.entry, begun_at=datetime.now(UTC))
        self.journal.begin(self.entry)
        self.stage = Stage.BEGUN

    def extend(self, directories: Sequence[str]) -> None:
        """Make further directories durable, before a task can write there."""
        known = tuple(dict.fromkeys((*self.entry.directories, *directories)))
        self.entry = replace(self.entry, directories=known)
        self.journal.extended(self.entry.call_id, known)
