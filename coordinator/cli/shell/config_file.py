"""Defaults of options from a file: lines ``option=value``, named by a variable or found where shells keep theirs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

_VARIABLES = ("PROCESSION_CONFIG", "TRINO_CONFIG", "PRESTO_CONFIG")


class ConfigFileError(Exception):
    """A line that is none; the text names file and line."""


def config_file(environment: Mapping[str, str], home: Path) -> Path | None:
    """The file that counts: one that a variable names must be there."""
    named = next((environment[name] for name in _VARIABLES if environment.get(name)), None)
    if named is not None:
        return Path(named)
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    places = (home / ".procession_config", config / "procession" / "config")
    return next((place for place in places if place.is_file()), None)


def read_defaults(file: Path, options: Mapping[str, bool], repeated: Collection[str]) -> dict[str, object]:
    """Values by the name of the option. ``options``: known names, and whether each is a switch."""
    found: dict[str, object] = {}
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigFileError(f"{file} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = (part.strip() for part in text.partition("="))
        if name not in options:
            raise ConfigFileError(f"{file}:{number}: there is no option --{name}")
        if not equals and not options[name]:
            raise ConfigFileError(f"{file}:{number}: --{name} needs a value")
        if name in repeated:
            before = found.get(name)
            found[name] = [*(before if isinstance(before, list) else []), value]
        else:
            found[name] = value if equals else "true"
    return found
