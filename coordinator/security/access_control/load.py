"""System access control as ``access-control.properties`` says."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from coordinator.security.access_control.built_in import AllowAll, OwnQueries, ReadOnly
from coordinator.security.access_control.catalog_controls import CatalogControls, SecuredCatalogs
from coordinator.security.access_control.catalog_security import catalog_access_control, roles_in
from coordinator.security.access_control.combined import Combined
from coordinator.security.access_control.file_rules import FileRules, RolesOf, no_roles
from coordinator.security.access_control.opa import OpaAccessControl
from coordinator.security.access_control.opa_settings import OpaSettings
from coordinator.security.access_control.policy import AccessPolicy
from coordinator.security.access_control.rules import read_rules
from coordinator.security.access_control.settings import AccessControlFiles, AccessControlSettings
from coordinator.security.authentication.groups import load_group_provider
from coordinator.security.refreshed_file import RefreshedFile, RefreshedFiles
from coordinator.values.settings_files import check_known, find_file, parse_settings
from shared.installed import installed
from shared.properties import ConfigurationError, read_properties
from shared.spi.access_control import AccessControlFactory, SystemAccessControl

ENTRY_POINTS = "procession.access_controls"
_NAME = "access-control.name"


def load_access_policy(
    etc: Path, catalogs: SecuredCatalogs, *, authenticated: bool, files: RefreshedFiles | None = None
) -> AccessPolicy:
    """The access control with the rules of catalogs, and the groups of users, for one process.

    ``files`` gets those that may change. Raises ConfigurationError.
    """
    files = RefreshedFiles() if files is None else files
    roles = partial(roles_in, catalogs)
    system = load_access_control(etc, authenticated=authenticated, rules=files, roles=roles)
    control = CatalogControls(system, catalogs, partial(catalog_access_control, etc, files, catalogs.grants))
    return AccessPolicy(control, load_group_provider(etc))


def load_access_control(
    etc: Path, *, authenticated: bool, rules: RefreshedFiles | None = None, roles: RolesOf = no_roles
) -> SystemAccessControl:
    """The system's. Without a file everything is allowed; with authentication, everything but what is another's.

    Raises ConfigurationError.
    """
    rules = RefreshedFiles() if rules is None else rules
    file = etc / "access-control.properties"
    files = _files(etc) or ((file,) if file.is_file() else ())
    if not files:
        return OwnQueries() if authenticated else AllowAll()
    controls = [_of_file(etc, each, rules, roles) for each in files]
    return controls[0] if len(controls) == 1 else Combined(controls)


def _files(etc: Path) -> tuple[Path, ...]:
    """Those that config.properties names."""
    config = etc / "config.properties"
    if not config.is_file():
        return ()
    names = parse_settings(AccessControlFiles, read_properties(config)).config_files
    return tuple(find_file(etc, Path(name), config) for name in names)


def _of_file(etc: Path, file: Path, files: RefreshedFiles, roles: RolesOf) -> SystemAccessControl:
    entries = read_properties(file)
    name = entries.get(_NAME)
    if name is None:
        raise ConfigurationError(f"{file}: property '{_NAME}' is missing")
    plugin = next((point for point in installed(ENTRY_POINTS) if point.name == name.value), None)
    match name.value:
        case "allow-all" | "read-only" | "file":
            check_known((AccessControlSettings,), entries)
            return _built_in(etc, file, files, roles, parse_settings(AccessControlSettings, entries))
        case "opa":
            check_known((OpaSettings,), {key: entry for key, entry in entries.items() if key != _NAME})
            settings = parse_settings(OpaSettings, entries)
            if settings.column_masking_uri is not None and settings.batch_column_masking_uri is not None:
                raise entries["opa.policy.column-masking-uri"].error(
                    "opa.policy.batch-column-masking-uri is set too; one of the two"
                )
            return OpaAccessControl(settings)
        case _ if plugin is not None:
            factory: AccessControlFactory = plugin.load()
            return factory({entry.name: entry.value for entry in entries.values() if entry is not name})
        case _:
            raise name.error(f"no access control is named '{name.value}' (known: allow-all, file, opa, read-only)")


def _built_in(
    etc: Path, file: Path, files: RefreshedFiles, roles: RolesOf, settings: AccessControlSettings
) -> SystemAccessControl:
    if settings.name == "allow-all":
        return AllowAll()
    if settings.name == "read-only":
        return ReadOnly()
    if settings.config_file is None:
        raise ConfigurationError(f"{file}: property 'security.config-file' is missing")
    rules = RefreshedFile(find_file(etc, settings.config_file, file), read_rules, settings.refresh_period)
    return FileRules(files.add(rules).get, roles)
