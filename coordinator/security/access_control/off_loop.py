"""Questions from the event loop to an access control that may have to ask somebody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from shared.spi.access_control import SystemAccessControl

T = TypeVar("T")


async def asked(control: SystemAccessControl, question: Callable[[], T]) -> T:
    """The answer; on a thread where it may take long, which is where the rules have no version."""
    return await asyncio.to_thread(question) if control.rules_version is None else question()
