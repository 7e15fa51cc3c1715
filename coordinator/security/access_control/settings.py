"""Which rules say who may do what."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from coordinator.values.settings import Seconds, Settings


class AccessControlSettings(Settings):
    """etc/access-control.properties"""

    name: str = Field(
        alias="access-control.name",
        description="`allow-all`, `read-only`, `file`, or the name of an access control in an installed package.",
    )
    config_file: Path | None = Field(
        None, alias="security.config-file", description="JSON rules of `file` (docs/access-control.md)."
    )
    refresh_period: Seconds | None = Field(
        None,
        alias="security.refresh-period",
        gt=0,
        description="How often the file is checked for changes; never when it is not set. A wrong file is logged,"
        " and the old rules stay.",
    )
