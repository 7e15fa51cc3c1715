"""A verdict as JSON and as headers. Shapes: docs/gateways.md."""

from __future__ import annotations

import msgspec
from fastapi import Response

from coordinator.dispatch.failures import wire_failure
from coordinator.gateway.settings import GatewaySettings
from coordinator.gateway.validator import CheckedFragment, StatementVerdict
from shared.protocol.statement import Failure, WarningCode, WireWarning

VERDICT_HEADER = "X-Procession-Verdict"
NATIVE_HEADER = "X-Procession-Native-Verdict"
ERROR_HEADER = "X-Procession-Error"
TARGET_HEADER = "X-Procession-Target"
GROUP_HEADER = "X-Procession-Resource-Group"
RETRY_AFTER_SECONDS = "1"


class WireFragment(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """``verdict``: accepted, refused or not_checked, the last with a ``reason``."""

    id: str
    verdict: str
    reason: str | None = None
    error: Failure | None = None


class WireVerdict(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Body of ``POST /v1/validate``, one line of a batch's answer; absent fields are unknown."""

    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    ok: bool
    verdict: str
    seconds: float
    queryType: str | None = None
    inputs: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    resourceGroupId: tuple[str, ...] | None = None
    resourceGroupState: str | None = None
    target: str | None = None
    nativeVerdict: str | None = None
    fragments: tuple[WireFragment, ...] | msgspec.UnsetType = msgspec.UNSET
    warnings: tuple[WireWarning, ...] | msgspec.UnsetType = msgspec.UNSET
    error: Failure | None = None


def word(verdict: StatementVerdict) -> str:
    """accepted, refused or undecided."""
    return "accepted" if verdict.ok else "undecided" if verdict.undecided else "refused"


def target(verdict: StatementVerdict, settings: GatewaySettings) -> str | None:
    """Where the configuration sends such a statement, if it says."""
    targets = {
        "accepted": settings.accepted_target,
        "refused": settings.refused_target,
        "undecided": settings.undecided_target,
    }
    if verdict.ok and verdict.native == "refused" and settings.native_refused_target:
        return settings.native_refused_target
    return targets[word(verdict)] or None


def headers(verdict: StatementVerdict, settings: GatewaySettings) -> dict[str, str]:
    """The verdict for proxies that read no bodies."""
    found = {VERDICT_HEADER: word(verdict), "Cache-Control": "no-store"}
    if verdict.error is not None:
        found[ERROR_HEADER] = verdict.error.code.name
    if verdict.native is not None:
        found[NATIVE_HEADER] = verdict.native
    if verdict.undecided:
        found["Retry-After"] = RETRY_AFTER_SECONDS
    where = target(verdict, settings)
    if where is not None:
        found[TARGET_HEADER] = where
    group = ".".join(verdict.resource_group)
    if group and group.isascii() and group.isprintable():
        found[GROUP_HEADER] = group
    return found


def json_response(status: int, body: object, extra: dict[str, str] | None = None) -> Response:
    """``body`` as JSON."""
    return Response(msgspec.json.encode(body), status, media_type="application/json", headers=extra)


def wire_verdict(
    verdict: StatementVerdict, settings: GatewaySettings, request_id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
) -> WireVerdict:
    """``verdict`` for the wire; what could not be found out is absent."""
    planned = verdict.query_type is not None
    warnings = tuple(WireWarning(WarningCode(w.code, w.name), w.message) for w in verdict.warnings)
    return WireVerdict(
        id=request_id,
        ok=verdict.ok,
        verdict=word(verdict),
        seconds=round(verdict.seconds, 6),
        queryType=verdict.query_type,
        inputs=verdict.inputs if planned else msgspec.UNSET,
        resourceGroupId=verdict.resource_group or None,
        resourceGroupState=verdict.resource_group_state,
        target=target(verdict, settings),
        nativeVerdict=verdict.native,
        fragments=tuple(_wire_fragment(f) for f in verdict.fragments) if planned else msgspec.UNSET,
        warnings=warnings if planned else msgspec.UNSET,
        error=wire_failure(verdict.error) if verdict.error is not None else None,
    )


def _wire_fragment(fragment: CheckedFragment) -> WireFragment:
    return WireFragment(
        id=fragment.fragment_id,
        verdict=fragment.verdict,
        reason=fragment.reason,
        error=wire_failure(fragment.error) if fragment.error is not None else None,
    )
