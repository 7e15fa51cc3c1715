"""Which rules say who may do what."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from coordinator.values.settings import Names, Seconds, Settings


class AccessControlFiles(Settings):
    """What etc/config.properties says of access control."""

    config_files: Names = Field(
        (),
        alias="access-control.config-files",
        description="Files like etc/access-control.properties, in place of it; what one refuses is refused.",
    )


class AccessControlSettings(Settings):
    """etc/access-control.properties"""

    name: str = Field(
        alias="access-control.name",
        description="`allow-all`, `read-only`, `file`, `opa`, or an access control that an installed package has.",
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
