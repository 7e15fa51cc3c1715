"""Event listeners of the configuration, found by name as in Presto: our own, or those of installed packages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

from coordinator.events.bus import NamedListener
from coordinator.events.http import HttpProvider
from coordinator.events.json_lines import JsonLinesProvider
from coordinator.events.kafka import KafkaProvider
from coordinator.events.openlineage.listener import OpenLineageProvider
from coordinator.events.settings import ListenerConfig
from shared.properties import ConfigurationError
from shared.spi.event_listener import EventListener, EventListenerProvider, ListenerContext

ENTRY_POINTS = "procession.event_listeners"


def event_listener_providers() -> dict[str, EventListenerProvider]:
    """Every provider by name: ours, then those of installed packages, which may not take a name twice."""
    ours = (JsonLinesProvider(), HttpProvider(), KafkaProvider(), OpenLineageProvider())
    providers: dict[str, EventListenerProvider] = {provider.name: provider for provider in ours}
    for point in entry_points(group=ENTRY_POINTS):
        if point.name not in providers:
            loaded = point.load()
            providers[point.name] = loaded() if isinstance(loaded, type) else loaded
    return providers


def load_listeners(
    configs: Sequence[ListenerConfig], context: ListenerContext, max_queued: int
) -> tuple[NamedListener, ...]:
    """The listeners of all files, named as in the metrics. Raises ConfigurationError naming file and line."""
    providers = event_listener_providers() if configs else {}
    made: list[NamedListener] = []
    try:
        for config in configs:
            listener = _load(config, providers, context)
            made.append(NamedListener(_shown_name(config.file), listener, max_queued=max_queued))
    except ConfigurationError:
        for named in made:
            named.listener.close()
        raise
    return tuple(made)


def _load(
    config: ListenerConfig, providers: dict[str, EventListenerProvider], context: ListenerContext
) -> EventListener:
    provider = providers.get(config.name.value)
    if provider is None:
        known = ", ".join(sorted(providers))
        raise config.name.error(f"no event listener is named '{config.name.value}' (known: {known})")
    try:
        return provider.create({entry.name: entry.value for entry in config.properties.values()}, context)
    except ConfigurationError as error:
        named = re.findall(r"'([^']*)'", str(error))
        quoted = (config.properties[word] for word in named if word in config.properties)
        raise next(quoted, config.name).error(str(error)) from error


def _shown_name(file: Path) -> str:
    """``event-listener-audit.properties`` is ``audit``."""
    return file.stem.removeprefix("event-listener").strip("-_.") or "event-listener"
