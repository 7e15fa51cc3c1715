"""The files that say where passwords and groups are."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from coordinator.values.settings import Seconds, Settings


class PasswordFileSettings(Settings):
    """etc/password-authenticator.properties"""

    name: Literal["file"] = Field(
        alias="password-authenticator.name", description="Where passwords are; only `file` exists."
    )
    password_file: Path = Field(
        alias="file.password-file", description="Lines `user:hash`, bcrypt or PBKDF2 (docs/authentication.md)."
    )
    refresh_period: Seconds = Field(
        5.0, alias="file.refresh-period", gt=0, description="How often it is looked at; a wrong one is logged."
    )
    cache_size: int = Field(
        1000,
        alias="file.auth-token-cache.max-size",
        ge=0,
        description="Right passwords remembered, so that not each request costs a hash.",
    )


class GroupProviderSettings(Settings):
    """etc/group-provider.properties"""

    name: Literal["file"] = Field(alias="group-provider.name", description="Where groups are; only `file` exists.")
    group_file: Path = Field(alias="file.group-file", description="Lines `group:user1,user2`.")
    refresh_period: Seconds = Field(
        5.0, alias="file.refresh-period", gt=0, description="How often it is looked at; a wrong one is logged."
    )
