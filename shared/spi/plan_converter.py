"""PlanConverter: turns a fragment into the plan that a worker would run, as text for EXPLAIN (TYPE NATIVE)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from shared.plan.fragment import SimplePlanFragment


class PlanFormat(Enum):
    """EXPLAIN's formats and the media type that each asks the sidecar for."""

    TEXT = "text/plain"
    JSON = "application/json"
    GRAPHVIZ = "text/vnd.graphviz"


@dataclass(frozen=True, slots=True)
class ConvertedPlan:
    """The converted plan in the asked format; or the failure; or why no worker would run the fragment (``skipped``)."""

    text: str | None = None
    failure: str | None = None
    skipped: str | None = None


class PlanConverter(Protocol):
    async def convert(self, fragment: SimplePlanFragment, plan_format: PlanFormat) -> ConvertedPlan:
        """Raises ProcessionError only when no answer can be had at all."""
        ...
