"""The files that say where a directory is, for passwords and for groups."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field

from coordinator.security.authentication.file_settings import GROUP_CASE, GroupCase
from coordinator.values.settings import Seconds, Settings
from coordinator.values.settings_files import find_file, read_settings
from shared.properties import ConfigurationError


class DirectorySettings(Settings):
    """How a directory is reached."""

    url: str = Field(
        alias="ldap.url",
        pattern="ldaps?://.+",
        description="The directory: `ldaps://host:636`. Required for `ldap`.",
    )
    start_tls: bool = Field(
        False,
        alias="ldap.start-tls",
        description="TLS on the port of `ldap://`, before anything else is said (StartTLS).",
    )
    allow_insecure: bool = Field(
        False,
        alias="ldap.allow-insecure",
        description="Allows `ldap://` without TLS, which shows passwords to the network.",
    )
    truststore: Path | None = Field(
        None, alias="ldap.ssl.truststore.path", description="PEM file of those who sign the directory's certificate."
    )
    connect_timeout: Seconds = Field(
        5.0, alias="ldap.timeout.connect", gt=0, description="How long the directory may take to answer the door."
    )
    read_timeout: Seconds = Field(5.0, alias="ldap.timeout.read", gt=0, description="How long an answer may take.")

    def problem(self) -> str | None:
        """What is wrong with them together."""
        if self.url.startswith("ldap://") and not (self.allow_insecure or self.start_tls):
            return "ldap.url needs ldaps://, or ldap.start-tls=true, or ldap.allow-insecure=true"
        if self.url.startswith("ldaps://") and self.start_tls:
            return "ldap.start-tls is for ldap://"
        return None


class LdapSettings(DirectorySettings):
    """etc/password-authenticator.properties of password-authenticator.name=ldap"""

    name: Literal["ldap"] = Field(alias="password-authenticator.name", description="See above.")
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

    def problem(self) -> str | None:
        """What is wrong with them together."""
        problem = super().problem()
        if problem is not None:
            return problem
        if (self.bind_dn is None) == (self.user_bind_pattern is None):
            return "either ldap.user-bind-pattern or ldap.bind-dn is needed"
        if (self.bind_dn is None) != (self.bind_password is None):
            return "ldap.bind-dn and ldap.bind-password belong together"
        if self.bind_dn is not None and self.group_auth_pattern is None:
            return "ldap.bind-dn needs ldap.group-auth-pattern"
        if (self.group_auth_pattern is None) != (self.user_base_dn is None):
            return "ldap.group-auth-pattern and ldap.user-base-dn belong together"
        return None


class LdapGroupSettings(DirectorySettings):
    """etc/group-provider.properties of group-provider.name=ldap"""

    name: Literal["ldap"] = Field(alias="group-provider.name", description="See above.")
    group_case: GroupCase = Field("keep", alias="group-provider.group-case", description=GROUP_CASE)
    admin_user: str = Field(alias="ldap.admin-user", min_length=1, description="Who looks for users and groups.")
    admin_password: str = Field(
        alias="ldap.admin-password", min_length=1, description="The password of `ldap.admin-user`.", repr=False
    )
    user_base_dn: str = Field(alias="ldap.user-base-dn", description="Below which name users are looked for.")
    user_search_filter: str = Field(
        "(uid={0})",
        alias="ldap.user-search-filter",
        pattern=r"\(.*\{0\}.*\)",
        description="Search filter that finds the user, whose name stands for `{0}`.",
    )
    group_name_attribute: str = Field(
        "cn", alias="ldap.group-name-attribute", description="Attribute of a group that is its name."
    )
    use_group_filter: bool = Field(
        True,
        alias="ldap.use-group-filter",
        description="Whether groups that have the user as a member are looked for; otherwise the user's own attribute"
        " names them.",
    )
    group_base_dn: str | None = Field(
        None, alias="ldap.group-base-dn", description="Below which name groups are looked for."
    )
    group_search_filter: str | None = Field(
        None,
        alias="ldap.group-search-filter",
        pattern=r"\(.*\)",
        description="Search filter that groups must pass too, such as `(cn=lake_*)`.",
    )
    member_attribute: str | None = Field(
        None,
        alias="ldap.group-search-member-attribute",
        description="Attribute of a group that names its members, such as `member`.",
    )
    member_of_attribute: str | None = Field(
        None,
        alias="ldap.user-member-of-attribute",
        description="Attribute of a user that names groups, such as `memberOf`, without `ldap.use-group-filter`.",
    )
    cache_ttl: Seconds = Field(
        60.0, alias="ldap.cache-ttl", ge=0, description="How long the groups of a user are remembered."
    )

    def problem(self) -> str | None:
        """What is wrong with them together."""
        problem = super().problem()
        if problem is not None:
            return problem
        if self.use_group_filter and (self.group_base_dn is None or self.member_attribute is None):
            return "ldap.use-group-filter needs ldap.group-base-dn and ldap.group-search-member-attribute"
        if not self.use_group_filter and self.member_of_attribute is None:
            return "ldap.use-group-filter=false needs ldap.user-member-of-attribute"
        return None


S = TypeVar("S", bound=DirectorySettings)


def read_directory(kind: type[S], etc: Path, file: Path) -> S:
    """The settings of a directory, with the place of its trust store. Raises ConfigurationError."""
    settings = read_settings(kind, file)
    problem = settings.problem()
    if problem is not None:
        raise ConfigurationError(f"{file}: {problem}")
    if settings.truststore is None:
        return settings
    return settings.model_copy(update={"truststore": find_file(etc, settings.truststore, file)})
