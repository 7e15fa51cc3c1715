"""A SELECT under construction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shared.plan.expressions import Variable


@dataclass(frozen=True, slots=True)
class Block:
    """A SELECT under construction. ``columns`` is None while every column of the source passes through."""

    source: Any
    variables: tuple[Variable, ...]
    columns: tuple[tuple[Any, str], ...] | None = None
    where: tuple[Any, ...] = ()
    group: tuple[Any, ...] | None = None
    order: tuple[Any, ...] = ()
    limit: int | None = None
    offset: int | None = None

    @property
    def plain(self) -> bool:
        """Whether only FROM and WHERE are used."""
        return self.columns is None and self.group is None and not self.order and self.limit is None and not self.offset
