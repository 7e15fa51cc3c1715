"""Java ``.properties`` files as Presto's configuration uses them, with the line of each entry kept for error texts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

_ENTRY = re.compile(r"([^=:\s]+)\s*[=:\s]\s*(.*)")
_ENVIRONMENT = re.compile(r"\$\{ENV:([A-Za-z_][A-Za-z0-9_]*)\}")


class ConfigurationError(Exception):
    """A configuration that must stop the start; the text names file and line."""


@dataclass(frozen=True, slots=True)
class Property:
    """One ``name=value`` entry and where it stands."""

    name: str
    value: str
    file: Path
    line: int

    def error(self, problem: str) -> ConfigurationError:
        return ConfigurationError(f"{self.file}:{self.line}: {problem}")

    def unknown(self, known: Iterable[str]) -> ConfigurationError:
        """The error for a name that is none of ``known``."""
        return self.error(unknown_property(self.name, known))


def unknown_property(name: str, known: Iterable[str]) -> str:
    """What is wrong with a name that is none of ``known``, with the one that was probably meant."""
    meant = get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f"unknown property '{name}'" + (f"; did you mean {meant[0]}?" if meant else "")


def read_properties(file: Path) -> dict[str, Property]:
    """The entries of ``file`` in order; ``${ENV:NAME}`` in a value is replaced from the environment.

    Raises ConfigurationError for an unreadable file, a line that is no entry, a duplicate name or an unset variable.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigurationError(f"{file}: cannot be read: {reason}") from error
    return parse_properties(text, file)


def parse_properties(text: str, file: Path) -> dict[str, Property]:
    """The same of the text of ``file``, which may not be written yet."""
    entries: dict[str, Property] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        match = _ENTRY.fullmatch(stripped)
        if match is None:
            raise ConfigurationError(f"{file}:{number}: expected name=value, found: {stripped[:60]}")
        entry = Property(match[1], match[2].strip(), file, number)
        if entry.name in entries:
            raise entry.error(f"duplicate property '{entry.name}' (first on line {entries[entry.name].line})")
        entries[entry.name] = Property(entry.name, _from_environment(entry), file, number)
    return entries


def entry_name(line: str) -> str | None:
    """The name that a line sets; None for comments, empty lines and what is no entry.

    >>> entry_name(" a.b : 1"), entry_name("a.b 1"), entry_name("! a=b")
    ('a.b', 'a.b', None)
    """
    stripped = line.strip()
    match = _ENTRY.fullmatch(stripped) if stripped and stripped[0] not in "#!" else None
    return None if match is None else match[1]


def _from_environment(entry: Property) -> str:
    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise entry.error(f"environment variable {match[1]} is not set")
        return found

    return _ENVIRONMENT.sub(value, entry.value)
