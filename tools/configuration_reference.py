"""docs/configuration.md, generated from the settings models so that it cannot part from them (``make bless``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import BeforeValidator

from coordinator.config import CONFIG_MODELS, LogSettings, NodeSettings, ResourceGroupSettings
from coordinator.events.http import HttpSettings
from coordinator.events.json_lines import JsonLinesSettings
from coordinator.events.kafka import KafkaSettings
from coordinator.events.openlineage.settings import OpenLineageSettings
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.security.access_control.opa_settings import OpaSettings
from coordinator.security.access_control.settings import AccessControlSettings
from coordinator.security.authentication.file_settings import GroupProviderSettings, PasswordFileSettings
from coordinator.security.authentication.ldap_settings import LdapGroupSettings, LdapSettings
from coordinator.security.session_property_manager import SessionPropertySettings
from coordinator.values.settings import Settings
from shared.units import format_data_size, format_duration

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"
_FILES: dict[str, tuple[type[Settings], ...]] = {
    "config": CONFIG_MODELS,
    "password-authenticator": (PasswordFileSettings, LdapSettings),
    "group-provider": (GroupProviderSettings, LdapGroupSettings),
    "access-control": (AccessControlSettings, OpaSettings),
    "session-property-config": (SessionPropertySettings,),
    "node": (NodeSettings,),
    "log": (LogSettings,),
    "resource-groups": (ResourceGroupSettings,),
    "maintenance": (MaintenanceSettings,),
    "event-listener": (JsonLinesSettings, HttpSettings, KafkaSettings, OpenLineageSettings),
}

_INTRODUCTION = (
    "Every property of every file below `etc`, with its default and its meaning. `make bless` generates this page from",
    "the code. An empty default means that the property is not set.",
    "",
    "- A duration is a number with a unit, as in Presto: `100ms`, `10s`, `5m`, `1.5h`, `7d`.",
    "- A size is a number with a unit: `64kB`, `1MB`, `2GB`. A number without a unit is refused where a size is meant.",
    "- `${ENV:NAME}` in a value stands for an environment variable.",
    "- An unknown property, a wrong value and a property that is set twice stop the start with the file and the line.",
    "",
    "Catalog files (`etc/catalog/*.properties`) are described in [catalogs.md](catalogs.md) and [jdbc.md](jdbc.md),",
    "plan checkers (`etc/plan-checker-providers/*.properties`) in [checks.md](checks.md).",
)


def configuration_reference() -> str:
    """Markdown: one table a file, one row a property."""
    lines = ["# Configuration", "", *_INTRODUCTION, ""]
    for file, models in _FILES.items():
        lines += [f"## etc/{file}.properties", "", "| property | default | meaning |", "|---|---|---|"]
        for field in (field for model in models for field in model.model_fields.values() if field.alias is not None):
            default = "required" if field.is_required() else _shown(field.default, field.metadata)
            lines.append(f"| `{field.alias}` | {default} | {field.description} |")
        lines.append("")
    return "\n".join(lines)


def _shown(default: object, metadata: Sequence[object]) -> str:
    match default:
        case None | "" | ():
            return ""
        case bool():
            return f"`{str(default).lower()}`"
        case float() if _has_unit(metadata):
            return f"`{_plain(format_duration(default))}`"
        case float():
            return f"`{default:g}`"
        case int() if _has_unit(metadata):
            return f"`{format_data_size(default)}`"
        case tuple():
            return ", ".join(f"`{part}`" for part in default)
        case _:
            return f"`{default}`"


def _has_unit(metadata: Sequence[object]) -> bool:
    """Whether the property is a duration or a size: those are read from text."""
    return any(isinstance(part, BeforeValidator) for part in metadata)


def _plain(duration: str) -> str:
    """``5m`` for ``5.00m``: a default as somebody would write it."""
    return re.sub(r"\.?0+(?=[a-z])", "", duration) if "." in duration else duration


if __name__ == "__main__":
    PAGE.write_text(configuration_reference(), encoding="utf-8")
