"""The base of the rooms' settings: models whose aliases are Presto's property names, with Presto's units.

A field without an alias is no property: a constant that tests may change, or what the composition root fills in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from shared.units import parse_data_size, parse_duration


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _seconds(value: object) -> object:
    try:
        return parse_duration(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"{error} (write a number with a unit, such as 10s or 5m)") from error


def _bytes(value: object) -> object:
    try:
        return parse_data_size(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"{error} (write a number with a unit, such as 64MB)") from error


Seconds = Annotated[float, BeforeValidator(_seconds)]
Bytes = Annotated[int, BeforeValidator(_bytes)]
Names = Annotated[tuple[str, ...], BeforeValidator(lambda v: _split(v) if isinstance(v, str) else v)]
Paths = Annotated[tuple[Path, ...], BeforeValidator(lambda v: _split(v) if isinstance(v, str) else v)]


class Settings(BaseModel):
    """Frozen, every key known, every value checked."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)
