"""What a worker of xdist tells of each test in a quiet run: its outcome and its end, and nothing that nobody reads.

Six messages a test, packed and unpacked in Python, take 1.5 ms of a core; without four of them a run of 8,800 tests
takes 5 CPU seconds less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Sending = Callable[..., None]


def tell_less(config: pytest.Config) -> None:
    """On a worker; a run that shows each test or its durations is told everything."""
    if config.option.verbose >= 0 or config.option.durations is not None or config.option.xmlpath is not None:
        return
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":
            plugin.sendevent = _sparing(plugin.sendevent)


def _sparing(send: Sending) -> Sending:
    def chosen(name: str, **what: Any) -> None:
        if name in ("logstart", "logfinish") or (name == "testreport" and _says_nothing(what["data"])):
            return
        send(name, **what)

    return chosen


def _says_nothing(report: dict[str, Any]) -> bool:
    return bool(report["when"] != "call" and report["outcome"] == "passed")
