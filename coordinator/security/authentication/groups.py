"""Groups of users, from a file of lines ``group:user1,user2``. Source: Trino's FileGroupProvider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from coordinator.security.authentication.file_settings import GroupProviderSettings
from coordinator.security.refreshed_file import RefreshedFile, read_text
from coordinator.values.settings_files import find_file, read_settings
from shared.properties import ConfigurationError

GroupsOf = Callable[[str], tuple[str, ...]]
"""The groups of a user, in order of name."""


def no_groups(_: str) -> tuple[str, ...]:
    return ()


def load_group_provider(etc: Path) -> GroupsOf:
    """As ``group-provider.properties`` says; nobody has groups without it. Raises ConfigurationError."""
    file = etc / "group-provider.properties"
    if not file.is_file():
        return no_groups
    settings = read_settings(GroupProviderSettings, file)
    groups = RefreshedFile(find_file(etc, settings.group_file, file), read_groups, settings.refresh_period)
    return lambda user: groups.get().get(user, ())


def read_groups(file: Path) -> Mapping[str, tuple[str, ...]]:
    """Groups by user; raises ConfigurationError with file and line."""
    by_user: dict[str, set[str]] = {}
    for number, line in enumerate(read_text(file).splitlines(), 1):
        if not line.strip():
            continue
        group, separator, users = line.partition(":")
        if not separator or not group.strip():
            raise ConfigurationError(f"{file}:{number}: Expected group and users: {line[:60]}")
        for user in filter(None, map(str.strip, users.split(","))):
            by_user.setdefault(user, set()).add(group.strip())
    return {user: tuple(sorted(groups)) for user, groups in by_user.items()}
