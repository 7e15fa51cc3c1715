"""The native checker over a scripted sidecar, and what that answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from coordinator.checks.native import NativePlanChecker
from coordinator.checks.native_settings import NativeSettings
from shared.plan.fragment import SimplePlanFragment
from shared.spi.plan_checker import PrestoWarning
from shared.spi.session import Session

REFUSED_PORT = "http://127.0.0.1:1"
PLAN_ERROR = {"code": 13, "name": "NOT_SUPPORTED", "type": "USER_ERROR", "retriable": False, "catchableByTry": False}


def refusal(message: str | None = "no such thing", **fields: Any) -> tuple[int, str, bytes]:
    failure = {"type": "VeloxUserError", "message": message, "suppressed": [], "stack": [], "errorCode": PLAN_ERROR}
    return 422, "application/json", json.dumps({"failures": [failure | fields]}).encode()


def checker(url: str, **options: Any) -> NativePlanChecker:
    return NativePlanChecker(NativeSettings(sidecar_uri=url, **({"mode": "veto"} | options)))


async def check(native: NativePlanChecker, fragment: SimplePlanFragment, session: Session) -> list[PrestoWarning]:
    warnings: list[PrestoWarning] = []
    try:
        async with asyncio.timeout(60):
            await native.validate_fragment(fragment, session, warnings.append)
    finally:
        await native.aclose()
    return warnings
