"""A line of the log for each denied access: who, on what, by which rule, in which query."""

from __future__ import annotations

import structlog

from shared.errors import ErrorCode, ProcessionError
from shared.spi.access_control import AccessDeniedError, Identity

_log = structlog.get_logger("procession.audit")


def audit(error: ProcessionError, identity: Identity | None, query_id: str | None = None) -> None:
    """Logs a refusal of the access control; nothing for other errors."""
    if error.code is not ErrorCode.PERMISSION_DENIED:
        return
    denied = error if isinstance(error, AccessDeniedError) else None
    _log.warning(
        "access denied",
        user=None if identity is None else identity.user,
        principal=None if identity is None else identity.principal,
        access=None if denied is None else denied.access,
        object=None if denied is None else denied.subject,
        rule=None if denied is None else denied.rule,
        query_id=query_id,
        problem=error.message.removeprefix("Access Denied: "),
    )
