"""Typed settings of event listeners, and which files there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError

from coordinator.values.settings import Paths, Settings
from coordinator.values.settings_files import find_file, reason
from shared.properties import ConfigurationError, Property, read_properties, unknown_property

NAME_PROPERTY = "event-listener.name"
S = TypeVar("S", bound=Settings)


class EventSettings(Settings):
    """What etc/config.properties says of events."""

    config_files: Paths | None = Field(
        None,
        alias="event-listener.config-files",
        description="Files of event listeners (docs/events.md). When it is not set, every"
        " `etc/event-listener*.properties` is one.",
    )
    max_queued: int = Field(
        10_000,
        alias="event-listener.max-queued-events",
        ge=1,
        description="How many events may wait for a listener; more are dropped and counted.",
    )


@dataclass(frozen=True, slots=True)
class ListenerConfig:
    """One file: ``name`` selects the listener, ``properties`` are the others."""

    file: Path
    name: Property
    properties: Mapping[str, Property]


def read_listeners(etc: Path, settings: EventSettings, named_in: Path) -> tuple[ListenerConfig, ...]:
    """The files of event listeners; raises ConfigurationError."""
    if settings.config_files is None:
        files = sorted(etc.glob("event-listener*.properties"))
    else:
        files = [find_file(etc, file, named_in) for file in settings.config_files]
    return tuple(map(_read, files))


def _read(file: Path) -> ListenerConfig:
    entries = read_properties(file)
    name = entries.pop(NAME_PROPERTY, None)
    if name is None:
        raise ConfigurationError(f"{file}:1: {NAME_PROPERTY} is missing")
    return ListenerConfig(file, name, entries)


def parse_listener_settings(model: type[S], properties: Mapping[str, str]) -> S:
    """Typed settings; raises ConfigurationError quoting the wrong property in single quotes."""
    known = {field.alias for field in model.model_fields.values() if field.alias is not None}
    for name in properties:
        if name not in known:
            raise ConfigurationError(unknown_property(name, known))
    try:
        return model.model_validate(dict(properties))
    except ValidationError as error:
        problem = error.errors()[0]
        name = str(problem["loc"][0]) if problem["loc"] else ""
        if name not in properties:
            raise ConfigurationError(f"property '{name}' is missing" if name else reason(problem["msg"])) from error
        raise ConfigurationError(
            f"invalid value '{properties[name]}' for '{name}': {reason(problem['msg'])}"
        ) from error
