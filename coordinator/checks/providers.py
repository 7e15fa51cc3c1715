"""Plan checker providers of ``etc/plan-checker-providers/*.properties``, found by name as in Presto.

``plan-checker-provider.name`` selects a provider: one of our own two, or one that an installed package declares in the
entry point group ``procession.plan_checker_providers``. The other properties of the file go to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from coordinator.checks.business_rules import BusinessRulesProvider
from coordinator.checks.native import NativePlanCheckerProvider
from shared.installed import installed
from shared.properties import ConfigurationError, Property, read_properties
from shared.spi.plan_checker import PlanChecker, PlanCheckerProvider

ENTRY_POINTS = "procession.plan_checker_providers"
NAME_PROPERTY = "plan-checker-provider.name"


def plan_checker_providers() -> dict[str, PlanCheckerProvider]:
    """Every provider by name: ours, then those of installed packages, which may not take a name twice."""
    ours: tuple[PlanCheckerProvider, ...] = (NativePlanCheckerProvider(), BusinessRulesProvider())
    providers = {provider.name: provider for provider in ours}
    for point in installed(ENTRY_POINTS):
        if point.name in providers:
            continue
        loaded = point.load()
        providers[point.name] = loaded() if isinstance(loaded, type) else loaded
    return providers


def load_plan_checkers(
    directory: Path, defaults: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[PlanChecker, ...]:
    """The checkers of every file of ``directory`` in order of file name; none when there is no such directory.

    ``defaults`` holds, by provider name, properties that a file may leave out. Raises ConfigurationError naming file
    and line.
    """
    files = sorted(directory.glob("*.properties"))
    if not files:
        return ()
    providers = plan_checker_providers()
    checkers: list[PlanChecker] = []
    for file in files:
        checkers.extend(_load(file, providers, defaults or {}))
    return tuple(checkers)


def _load(
    file: Path, providers: Mapping[str, PlanCheckerProvider], defaults: Mapping[str, Mapping[str, str]]
) -> list[PlanChecker]:
    entries = read_properties(file)
    name = entries.pop(NAME_PROPERTY, None)
    if name is None:
        raise ConfigurationError(f"{file}:1: {NAME_PROPERTY} is missing")
    provider = providers.get(name.value)
    if provider is None:
        known = ", ".join(sorted(providers))
        raise name.error(f"no plan checker provider is named '{name.value}' (known: {known})")
    given = {entry.name: entry.value for entry in entries.values()}
    try:
        return list(provider.create({**defaults.get(name.value, {}), **given}))
    except ConfigurationError as error:
        raise _located(error, name, entries) from error


def _located(error: ConfigurationError, name: Property, entries: Mapping[str, Property]) -> ConfigurationError:
    """The provider's error at the line of the property that its text quotes, else at the provider's name."""
    quoted = (entries[word] for word in re.findall(r"'([^']*)'", str(error)) if word in entries)
    return next(quoted, name).error(str(error))
