"""What becomes of a call of ``rewrite_data_files`` once its table has been looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coordinator.connectors.iceberg.rewrite.delegated import Delegated
from coordinator.connectors.iceberg.rewrite.planning.rewrite import NothingToDo, Rewrite


@dataclass(frozen=True, slots=True)
class DryRun:
    """The rows to show; nothing is changed."""

    rows: Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class Steps:
    """Partial progress: several rewrites, each begun, committed or undone by itself."""

    rewrites: tuple[Rewrite, ...]


Call = NothingToDo | DryRun | Delegated | Steps | Rewrite
