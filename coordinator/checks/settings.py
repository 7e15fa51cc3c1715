"""Typed settings of a provider file: every key known, every value checked, errors that name the key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import ValidationError

from coordinator.values.settings import Settings
from coordinator.values.settings_files import reason
from shared.properties import ConfigurationError, unknown_property


class ProviderSettings(Settings):
    """Base of a provider's settings; aliases are the property names."""


S = TypeVar("S", bound=ProviderSettings)


def parse_provider_settings(model: type[S], properties: Mapping[str, str]) -> S:
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
            raise ConfigurationError(f"property '{name}' is missing" if name else problem["msg"]) from error
        raise ConfigurationError(
            f"invalid value '{properties[name]}' for '{name}': {reason(problem['msg'])}"
        ) from error
