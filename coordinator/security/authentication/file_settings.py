"""The files that say where passwords and groups are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, assert_never

from pydantic import Field

from coordinator.values.settings import Seconds, Settings

GroupCase = Literal["keep", "lower", "upper"]
GROUP_CASE = "What becomes of the names of groups: `keep`, `lower` or `upper`."


class PasswordFileSettings(Settings):
    """etc/password-authenticator.properties"""

    name: Literal["file"] = Field(
        alias="password-authenticator.name", description="Kind of the password authenticator: `file` or `ldap`."
    )
    password_file: Path = Field(
        alias="file.password-file",
        description="File with lines `user:hash`, hashed by bcrypt or PBKDF2 (docs/authentication.md).",
    )
    refresh_period: Seconds = Field(
        5.0,
        alias="file.refresh-period",
        gt=0,
        description="How often the file is checked for changes; a wrong file is logged and the old one stays.",
    )
    cache_size: int = Field(
        1000,
        alias="file.auth-token-cache.max-size",
        ge=0,
        description="How many verified passwords are remembered, so that not every request computes a hash.",
    )


class GroupProviderSettings(Settings):
    """etc/group-provider.properties"""

    name: Literal["file"] = Field(
        alias="group-provider.name", description="Kind of the group provider: `file` or `ldap`."
    )
    group_case: GroupCase = Field("keep", alias="group-provider.group-case", description=GROUP_CASE)
    group_file: Path = Field(alias="file.group-file", description="File with lines `group:user1,user2`.")
    refresh_period: Seconds = Field(
        5.0,
        alias="file.refresh-period",
        gt=0,
        description="How often the file is checked for changes; a wrong file is logged and the old one stays.",
    )


def in_case(case: GroupCase, groups: Iterable[str]) -> tuple[str, ...]:
    """Names of groups as the settings want them, in order."""
    match case:
        case "keep":
            changed = set(groups)
        case "lower":
            changed = {each.lower() for each in groups}
        case "upper":
            changed = {each.upper() for each in groups}
        case _:
            assert_never(case)
    return tuple(sorted(changed))
