"""Wall and CPU seconds of each test, children included: ``PROCESSION_TEST_TIMES=FILE pytest -p tests.times``.

One JSON line a phase is appended to FILE; ``python -m tests.times FILE`` sums them up by file, dearest first.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

_WORTH_A_LOOK = 0.05
"""Seconds: asking for all children takes some milliseconds itself."""


def _cpu() -> float:
    """CPU seconds of this process and of all below it, those that have ended too."""
    mine = os.times()
    total = mine.user + mine.system + mine.children_user + mine.children_system
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


class _Watch:
    """The moment and the CPU seconds at the end of the last phase that took long."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._cpu = _cpu()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        start = time.monotonic()
        result = yield
        wall = time.monotonic() - start
        cpu, before = (_cpu() if wall > _WORTH_A_LOOK else self._cpu), self._cpu
        self._cpu = cpu
        entry = {"test": item.nodeid, "wall": round(wall, 3), "cpu": round(cpu - before, 3)}
        entry["worker"] = os.environ.get("PYTEST_XDIST_WORKER", "")
        with self._target.open("a") as out:
            out.write(json.dumps(entry) + "\n")
        return result


def pytest_configure(config: pytest.Config) -> None:
    target = os.environ.get("PROCESSION_TEST_TIMES")
    if target:
        config.pluginmanager.register(_Watch(Path(target)))


def _table(lines: list[dict[str, object]]) -> list[tuple[str, int, float, float]]:
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for line in lines:
        found = sums[str(line["test"]).partition("::")[0]]
        found[0] += 1
        found[1] += float(str(line["wall"]))
        found[2] += float(str(line["cpu"]))
    return sorted(((n, int(c), w, s) for n, (c, w, s) in sums.items()), key=lambda row: -row[3])


def main() -> None:
    lines = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    for name, count, wall, cpu in _table(lines):
        print(f"{cpu:8.1f} {wall:8.1f} {count:5d}  {name}")


if __name__ == "__main__":
    main()
