"""The access control of one catalog as its file says: ``iceberg.security`` and what belongs to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from coordinator.security.access_control.built_in import ReadOnly
from coordinator.security.access_control.catalog_rules import read_catalog_rules
from coordinator.security.access_control.file_rules import FileRules
from coordinator.security.refreshed_file import RefreshedFile, RefreshedFiles
from coordinator.values.settings_files import find_file
from shared.properties import ConfigurationError, Property
from shared.spi.access_control import SystemAccessControl
from shared.units import parse_duration

SECURITY = "iceberg.security"
CONFIG_FILE = "security.config-file"
REFRESH_PERIOD = "security.refresh-period"
_KINDS = ("allow-all", "file", "read-only", "system")


def catalog_access_control(
    etc: Path, files: RefreshedFiles, _catalog: str, properties: Mapping[str, Property]
) -> SystemAccessControl | None:
    """None where the catalog has no rules of its own. Raises ConfigurationError."""
    entry = properties.get(SECURITY)
    kind = "allow-all" if entry is None else entry.value.lower().replace("_", "-")
    if entry is not None and kind not in _KINDS:
        raise entry.error(f"invalid value '{entry.value}' for '{SECURITY}' (known: {', '.join(_KINDS)})")
    if kind != "file":
        for name in (CONFIG_FILE, REFRESH_PERIOD):
            if name in properties:
                raise properties[name].error(f"'{name}' is set, but '{SECURITY}' is not 'file'")
        return ReadOnly() if kind == "read-only" else None
    assert entry is not None
    if CONFIG_FILE not in properties:
        raise entry.error(f"property '{CONFIG_FILE}' is missing")
    file = find_file(etc, Path(properties[CONFIG_FILE].value), properties[CONFIG_FILE].file)
    period = _period(properties.get(REFRESH_PERIOD))
    return FileRules(files.add(RefreshedFile(file, read_catalog_rules, period)).get)


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
