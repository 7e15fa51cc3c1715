"""Typed settings from Presto's configuration files: aliases are the property names, errors name file and line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from shared.properties import ConfigurationError, Property, read_properties
from shared.units import parse_data_size, parse_duration

Seconds = Annotated[float, BeforeValidator(lambda v: parse_duration(v) if isinstance(v, str) else v)]
Bytes = Annotated[int, BeforeValidator(lambda v: parse_data_size(v) if isinstance(v, str) else v)]
Names = Annotated[tuple[str, ...], BeforeValidator(lambda v: _split(v) if isinstance(v, str) else v)]


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


class Settings(BaseModel):
    """Base of the settings of one file, or of a part of it; the docstring of a subclass names the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


S = TypeVar("S", bound=Settings)


def read_settings(model: type[S], file: Path) -> S:
    """Settings of ``file``, the defaults when there is none; raises ConfigurationError."""
    return parse_settings(model, read_properties(file) if file.is_file() else {})


def read_together(models: tuple[type[Settings], ...], file: Path) -> tuple[Any, ...]:
    """Settings of each model, which share ``file``; raises ConfigurationError."""
    properties = read_properties(file)
    names = [{field.alias for field in model.model_fields.values()} for model in models]
    _refuse_unknown(properties, {alias for each in names for alias in each})
    return tuple(
        parse_settings(model, {name: entry for name, entry in properties.items() if name in known})
        for model, known in zip(models, names, strict=True)
    )


def parse_settings(model: type[S], properties: Mapping[str, Property]) -> S:
    """Typed settings of ``properties``; raises ConfigurationError at the entry that is wrong."""
    _refuse_unknown(properties, {field.alias for field in model.model_fields.values()})
    try:
        return model.model_validate({entry.name: entry.value for entry in properties.values()})
    except ValidationError as error:
        problem = error.errors()[0]
        if problem["type"] == "missing":
            file = next((entry.file for entry in properties.values()), None)
            raise ConfigurationError(f"{file or model.__doc__}: property '{problem['loc'][0]}' is missing") from error
        entry = properties[str(problem["loc"][0])]
        raise entry.error(f"invalid value '{entry.value}' for '{entry.name}': {problem['msg']}") from error


def find_file(etc: Path, path: Path, named_in: Path) -> Path:
    """A file that ``named_in`` names: a relative path starts above ``etc``, or in it. Raises ConfigurationError."""
    found = [candidate for above in (etc.parent, etc) if (candidate := above / path).is_file()]
    if not found:
        raise ConfigurationError(f"{named_in}: no such file: {path}")
    return found[0].absolute()


def _refuse_unknown(properties: Mapping[str, Property], known: set[str | None]) -> None:
    for entry in properties.values():
        if entry.name not in known:
            raise entry.error(f"unknown property '{entry.name}'")
