"""The resource group file, followed while the coordinator runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.specification import ManagerSpec
from coordinator.resource_groups.specification_file import read_specification
from shared.properties import ConfigurationError

_log = structlog.get_logger(__name__)
Stamp = tuple[int, int, int] | None


class SpecificationFile:
    """Reads ``file``, and reads it again when it has changed. ``memory_pool``: what percentages are of, in bytes."""

    def __init__(self, file: Path, interval: float, memory_pool: float) -> None:
        self._file, self._interval, self._memory_pool = file, interval, memory_pool
        self._seen: Stamp = None

    def read(self) -> ManagerSpec:
        """Raises ConfigurationError."""
        self._seen = self._stamp()
        return read_specification(self._file, self._memory_pool)

    @asynccontextmanager
    async def following(self, groups: ResourceGroups) -> AsyncIterator[None]:
        """Meanwhile, ``groups`` takes every valid change; an invalid one is logged and the old state stays."""
        task = asyncio.create_task(self._follow(groups), name="resource-group-file")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _follow(self, groups: ResourceGroups) -> None:
        while True:
            await asyncio.sleep(self._interval)
            if self._stamp() in (self._seen, None):
                continue
            try:
                spec = await asyncio.to_thread(self.read)
            except ConfigurationError as error:
                _log.error("resource groups stay as they are", reason=str(error))
            else:
                groups.configure(spec)
                _log.info("resource groups were reconfigured", file=str(self._file))

    def _stamp(self) -> Stamp:
        try:
            status = self._file.stat()
        except OSError:
            return None  # it may just be replaced
        return status.st_mtime_ns, status.st_size, status.st_ino
