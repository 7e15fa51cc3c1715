"""Files and texts that define catalogs: what they say, and what they are after a change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from coordinator.connectors.registry import CatalogConfig
from coordinator.vocabulary.planned_statement import CatalogDefinition
from shared.errors import ErrorCode, ProcessionError
from shared.properties import entry_name

Stamps = Mapping[Path, tuple[int, int, int]]


def text_of(definition: CatalogDefinition) -> str:
    lines = [("connector.name", definition.connector), *definition.properties]
    return "# Made by CREATE CATALOG\n" + "".join(f"{key}={value}\n" for key, value in lines)


def said_by(config: CatalogConfig) -> tuple[str, dict[str, str]]:
    """What a definition says, wherever in its file."""
    return config.connector_name, {name: entry.value for name, entry in config.properties.items()}


def text_in(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"The catalog file {file.name} cannot be read: {error}"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message) from error


def edited(text: str, properties: Mapping[str, str | None]) -> str:
    """The file with these properties; every other line, comments too, stays as it was written."""
    lines = []
    left = dict(properties)
    for line in text.splitlines():
        name = entry_name(line)
        if name is None or name not in properties:
            lines.append(line)
        elif (value := left.pop(name, None)) is not None:
            lines.append(f"{name}={value}")
    lines += [f"{name}={value}" for name, value in left.items() if value is not None]
    return "".join(f"{line}\n" for line in lines)


def stamps_of(folder: Path) -> Stamps:
    """Of the catalog files; one that goes meanwhile counts as gone."""
    found = {}
    for file in sorted(folder.glob("*.properties")):
        try:
            status = file.stat()
        except OSError:
            continue
        found[file] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found


def without_place(text: str, file: Path) -> str:
    """Whoever sends a statement has no lines of a file."""
    rest = text.removeprefix(str(file))
    return rest.lstrip(":0123456789").strip() if rest != text else text


def unwritable(error: OSError) -> ProcessionError:
    return ProcessionError(ErrorCode.NOT_SUPPORTED, f"The catalog files cannot be written: {error.strerror}")
