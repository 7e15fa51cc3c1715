"""Settings from Presto's configuration files: every key known, every value typed, errors that name file and line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from coordinator.values.settings import Settings
from shared.properties import ConfigurationError, Property, read_properties

S = TypeVar("S", bound=Settings)


def read_settings(model: type[S], file: Path) -> S:
    """Settings of ``file``, the defaults when there is none; raises ConfigurationError."""
    properties = read_properties(file) if file.is_file() else {}
    check_known((model,), properties)
    return parse_settings(model, properties)


def check_known(models: tuple[type[Settings], ...], properties: Mapping[str, Property]) -> None:
    """Raises ConfigurationError at the first entry that none of the models knows."""
    known = {field.alias for model in models for field in model.model_fields.values() if field.alias is not None}
    for entry in properties.values():
        if entry.name not in known:
            raise entry.unknown(known)


def parse_settings(model: type[S], properties: Mapping[str, Property]) -> S:
    """The model's part of ``properties``, typed; raises ConfigurationError at the entry that is wrong."""
    known = {field.alias for field in model.model_fields.values()}
    try:
        return model.model_validate({entry.name: entry.value for entry in properties.values() if entry.name in known})
    except ValidationError as error:
        problem = error.errors()[0]
        if problem["type"] == "missing":
            file = next((entry.file for entry in properties.values()), None)
            raise ConfigurationError(f"{file or model.__doc__}: property '{problem['loc'][0]}' is missing") from error
        entry = properties[str(problem["loc"][0])]
        raise entry.error(f"invalid value '{entry.value}' for '{entry.name}': {reason(problem['msg'])}") from error


def reason(message: str) -> str:
    """What pydantic says of a value, without its own prefix."""
    return message.removeprefix("Value error, ")


def find_file(etc: Path, path: Path, named_in: Path) -> Path:
    """A file that ``named_in`` names: a relative path starts above ``etc``, or in it. Raises ConfigurationError."""
    found = [candidate for above in (etc.parent, etc) if (candidate := above / path).is_file()]
    if not found:
        raise ConfigurationError(f"{named_in}: no such file: {path}")
    return found[0].absolute()
