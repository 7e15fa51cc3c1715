"""The listener ``jsonl``: one JSON object a line, in a file that is set aside when it has become long."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from pydantic import Field

from coordinator.events.settings import parse_listener_settings
from coordinator.values.settings import Bytes, Names, Settings
from shared.properties import ConfigurationError
from shared.spi.event_listener import Event, EventListener, ListenerContext

EVENTS = ("queryCreated", "queryUpdated", "queryCompleted", "procedureProgress", "accessDenied", "service")


class JsonLinesSettings(Settings):
    """etc/event-listener.properties with event-listener.name=jsonl"""

    file: Path = Field(
        Path("logs/events.jsonl"),
        alias="jsonl-event-listener.file",
        description="Where the lines go; a relative path starts in `node.data-dir`.",
    )
    max_size: Bytes = Field(
        64 << 20,
        alias="jsonl-event-listener.max-size",
        ge=1024,
        description="A file that has become longer is renamed to `.1`, and a new one is begun.",
    )
    max_files: int = Field(
        5,
        alias="jsonl-event-listener.max-files",
        ge=1,
        le=1000,
        description="How many renamed files are kept, `.1` being the newest.",
    )
    events: Names = Field(
        EVENTS,
        alias="jsonl-event-listener.events",
        description="Which events are written: `queryCreated`, `queryUpdated`, `queryCompleted`, `procedureProgress`,"
        " `accessDenied`, `service`.",
    )


class JsonLinesProvider:
    name = "jsonl"

    def create(self, properties: Mapping[str, str], context: ListenerContext) -> EventListener:
        settings = parse_listener_settings(JsonLinesSettings, properties)
        unknown = set(settings.events) - set(EVENTS)
        if unknown:
            known = ", ".join(EVENTS)
            raise ConfigurationError(f"'jsonl-event-listener.events': unknown event {min(unknown)} (known: {known})")
        file = context.data_dir / settings.file
        try:
            return JsonLines(file, settings.max_size, settings.max_files, frozenset(settings.events))
        except OSError as error:
            raise ConfigurationError(f"'jsonl-event-listener.file': cannot write {file}: {error.strerror}") from error


class JsonLines:
    """Owns its file."""

    def __init__(
        self, file: Path, max_size: int = 64 << 20, max_files: int = 5, events: frozenset[str] = frozenset(EVENTS)
    ) -> None:
        """Raises OSError."""
        self._file, self._max_size, self._max_files, self._events = file, max_size, max_files, events
        file.parent.mkdir(parents=True, exist_ok=True)
        self._opened = self._open()

    def receive(self, events: Sequence[Event]) -> None:
        lines = [msgspec.json.encode(e) + b"\n" for e in events if e.__struct_config__.tag in self._events]
        # One write a line: whoever reads along never sees half of one.
        for line in lines:
            if self._size and self._size + len(line) > self._max_size:
                self._rotate()
            os.write(self._opened, line)
            self._size += len(line)

    def close(self) -> None:
        os.close(self._opened)

    def _open(self) -> int:
        opened = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._size = os.fstat(opened).st_size
        return opened

    def _rotate(self) -> None:
        os.close(self._opened)
        names = [self._file, *(self._file.with_name(f"{self._file.name}.{n}") for n in range(1, self._max_files + 1))]
        for older, newer in zip(names[:0:-1], names[-2::-1], strict=True):
            if newer.exists():
                newer.replace(older)
        self._opened = self._open()
