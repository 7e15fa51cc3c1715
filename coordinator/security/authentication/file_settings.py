"""The files that say where passwords and groups are."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from coordinator.values.settings import Seconds, Settings


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


class LdapSettings(Settings):
    """etc/password-authenticator.properties of password-authenticator.name=ldap"""

    name: Literal["ldap"] = Field(alias="password-authenticator.name", description="See above.")
    url: str = Field(
        alias="ldap.url",
        pattern="ldaps?://.+",
        description="The directory: `ldaps://host:636`. Required for `ldap`.",
    )
    allow_insecure: bool = Field(
        False,
        alias="ldap.allow-insecure",
        description="Allows `ldap://`, which shows passwords to the network.",
    )
    truststore: Path | None = Field(
        None, alias="ldap.ssl.truststore.path", description="PEM file of those who sign the directory's certificate."
    )
    user_bind_pattern: str | None = Field(
        None,
        alias="ldap.user-bind-pattern",
        description="As whom a user logs in, such as `uid=${USER},ou=people` or `${USER}@corp`; several with `:`.",
    )
    user_base_dn: str | None = Field(
        None, alias="ldap.user-base-dn", description="Below which name `ldap.group-auth-pattern` is looked for."
    )
    group_auth_pattern: str | None = Field(
        None,
        alias="ldap.group-auth-pattern",
        description="A search filter with `${USER}` that must find the user, for members of groups.",
    )
    bind_dn: str | None = Field(
        None, alias="ldap.bind-dn", description="Who looks for users, where names cannot be made of a pattern."
    )
    bind_password: str | None = Field(
        None, alias="ldap.bind-password", description="The password of `ldap.bind-dn`.", repr=False
    )
    cache_ttl: Seconds = Field(
        3600.0, alias="ldap.cache-ttl", ge=0, description="How long a right password is remembered."
    )
    connect_timeout: Seconds = Field(
        5.0, alias="ldap.timeout.connect", gt=0, description="How long the directory may take to answer the door."
    )
    read_timeout: Seconds = Field(5.0, alias="ldap.timeout.read", gt=0, description="How long an answer may take.")

    def problem(self) -> str | None:
        """What is wrong with them together."""
        if self.url.startswith("ldap://") and not self.allow_insecure:
            return "ldap.url needs ldaps://, or ldap.allow-insecure=true"
        if (self.bind_dn is None) == (self.user_bind_pattern is None):
            return "either ldap.user-bind-pattern or ldap.bind-dn is needed"
        if (self.bind_dn is None) != (self.bind_password is None):
            return "ldap.bind-dn and ldap.bind-password belong together"
        if self.bind_dn is not None and self.group_auth_pattern is None:
            return "ldap.bind-dn needs ldap.group-auth-pattern"
        if (self.group_auth_pattern is None) != (self.user_base_dn is None):
            return "ldap.group-auth-pattern and ldap.user-base-dn belong together"
        return None


class GroupProviderSettings(Settings):
    """etc/group-provider.properties"""

    name: Literal["file"] = Field(
        alias="group-provider.name", description="Kind of the group provider; only `file` exists."
    )
    group_file: Path = Field(alias="file.group-file", description="File with lines `group:user1,user2`.")
    refresh_period: Seconds = Field(
        5.0,
        alias="file.refresh-period",
        gt=0,
        description="How often the file is checked for changes; a wrong file is logged and the old one stays.",
    )
