"""The access control of one catalog as its file says: ``iceberg.security`` and what belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from coordinator.security.access_control.built_in import ReadOnly
from coordinator.security.access_control.catalog_controls import SecuredCatalogs
from coordinator.security.access_control.catalog_rules import read_catalog_rules
from coordinator.security.access_control.enabled_roles import enabled_roles
from coordinator.security.access_control.file_rules import FileRules
from coordinator.security.access_control.sql_standard import SqlStandard
from coordinator.security.current_session import may_use_catalog
from coordinator.security.refreshed_file import RefreshedFile, RefreshedFiles
from coordinator.values.settings_files import find_file
from shared.properties import ConfigurationError, Property
from shared.spi.access_control import AccessDeniedError, Identity, SystemAccessControl
from shared.spi.grants import PUBLIC_ROLE, GrantStore
from shared.units import parse_duration

SECURITY = "iceberg.security"
CONFIG_FILE = "security.config-file"
REFRESH_PERIOD = "security.refresh-period"
RESTRICT_CALLS = "hive.restrict-procedure-call"
ADMINS = "hive.users.in.admin.role"
_KINDS = ("allow-all", "file", "read-only", "sql-standard", "system")


def catalog_access_control(
    etc: Path,
    files: RefreshedFiles,
    store: Callable[[str], GrantStore],
    catalog: str,
    properties: Mapping[str, Property],
) -> SystemAccessControl | None:
    """``store`` gives the roles and grants that a catalog keeps. None where the catalog has no rules of its own.

    Raises ConfigurationError.
    """
    entry = properties.get(SECURITY)
    kind = "allow-all" if entry is None else _kind(entry)
    if entry is not None and kind not in _KINDS:
        raise entry.error(f"invalid value '{entry.value}' for '{SECURITY}' (known: {', '.join(_KINDS)})")
    for meant, names in (("file", (CONFIG_FILE, REFRESH_PERIOD)), ("sql-standard", (RESTRICT_CALLS, ADMINS))):
        for name in names:
            if name in properties and kind != meant:
                raise properties[name].error(f"'{name}' is set, but '{SECURITY}' is not '{meant}'")
    if kind == "sql-standard":
        return SqlStandard(catalog, partial(store, catalog), restrict_calls=_restricts(properties.get(RESTRICT_CALLS)))
    if entry is None or kind != "file":
        return ReadOnly() if kind == "read-only" else None
    if CONFIG_FILE not in properties:
        raise entry.error(f"property '{CONFIG_FILE}' is missing")
    file = find_file(etc, Path(properties[CONFIG_FILE].value), properties[CONFIG_FILE].file)
    period = _period(properties.get(REFRESH_PERIOD))
    return FileRules(files.add(RefreshedFile(file, read_catalog_rules, period)).get)


def roles_in(catalogs: SecuredCatalogs, identity: Identity, catalog: str) -> frozenset[str]:
    """Those that the identity uses in a catalog that keeps any; a choice that is not theirs gives none.

    Raises ProcessionError where the catalog cannot be asked.
    """
    entry = catalogs.properties().get(catalog, {}).get(SECURITY)
    if entry is None or _kind(entry) != "sql-standard" or not may_use_catalog(catalog):
        return frozenset()
    grants = catalogs.grants(catalog).read()
    try:
        return enabled_roles(grants, identity, catalog)
    except AccessDeniedError:
        return frozenset({PUBLIC_ROLE})


def _kind(entry: Property) -> str:
    return entry.value.lower().replace("_", "-")


def _restricts(entry: Property | None) -> bool:
    if entry is not None and entry.value.lower() not in ("true", "false"):
        raise entry.error(f"invalid value '{entry.value}' for '{entry.name}': true or false")
    return entry is None or entry.value.lower() == "true"


def _period(entry: Property | None) -> float | None:
    if entry is None:
        return None
    try:
        seconds = parse_duration(entry.value)
    except ValueError as error:
        raise _invalid(entry) from error
    if seconds <= 0:
        raise _invalid(entry)
    return seconds


def _invalid(entry: Property) -> ConfigurationError:
    return entry.error(f"Invalid duration value '{entry.value}' for property '{entry.name}' in '{entry.file}'")
