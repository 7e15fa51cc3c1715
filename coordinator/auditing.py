"""The audit log of one coordinator, made from the configuration where that asks for one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from coordinator.config import CoordinatorConfig
from coordinator.security.audit_log.file import AuditFile
from coordinator.security.audit_log.trail import Trail
from coordinator.security.redaction import Redactor


@dataclass(frozen=True, slots=True)
class Auditing:
    file: AuditFile
    trail: Trail

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Lines are written meanwhile; what came before waits."""
        self.file.start()
        try:
            yield
        finally:
            self.trail.finish()
            await asyncio.to_thread(self.file.close)


def load_auditing(config: CoordinatorConfig, redact: Redactor) -> Auditing | None:
    """Raises ConfigurationError when the file cannot be written."""
    settings = config.audit
    if not settings.enabled:
        return None
    file = AuditFile(settings, config.node.data_dir)
    trail = Trail(
        file, config.node.node_id, required=settings.required, max_query=settings.max_query_length, redact=redact
    )
    return Auditing(file, trail)
