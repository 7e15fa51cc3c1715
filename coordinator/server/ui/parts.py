"""What the coordinator consists of and how each part is, for the overview and the page of the node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Health = Literal["up", "idle", "down", "unknown"]


@dataclass(frozen=True, slots=True)
class Part:
    """``health`` is ``idle`` where it starts when needed, ``unknown`` where nobody has asked it yet."""

    name: str
    health: Health
    detail: str = ""


def parts_for(parts: Sequence[Part], allowed: bool) -> Sequence[Part]:
    """Details are for those who may read system information."""
    return parts if allowed else [replace(part, detail="") for part in parts]


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """``value`` as it may be seen; ``origin`` is ``default`` or a file with its line."""

    name: str
    value: str
    origin: str
    meaning: str = ""
