"""Settings of the native plan checker: its provider file, and what a session may choose."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from coordinator.checks.settings import ProviderSettings
from coordinator.values.settings import Seconds
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

Mode = Literal["auto", "veto", "warn", "log"]
Unavailable = Literal["auto", "fail-open", "fail-closed"]

ENABLED_PROPERTY = "native_plan_checker_enabled"
MODE_PROPERTY = "native_plan_checker_mode"
NATIVE_WORKERS_PROPERTY = "native_execution_enabled"
UNAVAILABLE_PROPERTY = "native_plan_checker_unavailable"
_PROPERTIES = frozenset({ENABLED_PROPERTY, MODE_PROPERTY, NATIVE_WORKERS_PROPERTY, UNAVAILABLE_PROPERTY})


class NativeSettings(ProviderSettings):
    """Properties of a ``native`` file."""

    enabled: bool = Field(True, alias="native-plan-checker.plan-validation-enabled")
    sidecar_uri: str = Field(alias="native-plan-checker.sidecar-uri", pattern=r"https?://.+")
    mode: Mode = Field("auto", alias="native-plan-checker.mode")
    unavailable: Unavailable = Field("auto", alias="native-plan-checker.unavailable")
    request_timeout: Seconds = Field(10.0, alias="native-plan-checker.request-timeout", gt=0)
    connect_timeout: Seconds = Field(1.0, alias="native-plan-checker.connect-timeout", gt=0)
    max_retries: int = Field(2, alias="native-plan-checker.max-retries", ge=0, le=10)
    max_connections: int = Field(16, alias="native-plan-checker.max-connections", ge=1)
    breaker_threshold: int = Field(5, alias="native-plan-checker.circuit-breaker.failures", ge=1)
    breaker_reset: Seconds = Field(5.0, alias="native-plan-checker.circuit-breaker.reset-interval", gt=0)
    cache_size: int = Field(10_000, alias="native-plan-checker.verdict-cache.max-entries", ge=0)
    native_workers: bool = Field(False, alias="native-execution-enabled")
    shared_secret: str | None = Field(None, alias="internal-communication.shared-secret", min_length=1)
    secret_of: str | None = Field(None, alias="internal-communication.shared-secret-of")
    trust_store: Path | None = Field(None, alias="internal-communication.https.trust-store-path")
    cache_ttl: Seconds = Field(600.0, alias="native-plan-checker.verdict-cache.ttl", gt=0)

    @property
    def secret(self) -> str | None:
        """What this sidecar is asked with; one that was made for another is none of its business."""
        if self.secret_of is not None and self.secret_of.rstrip("/") != self.sidecar_uri.rstrip("/"):
            return None
        return self.shared_secret


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for one statement: the file's settings under the session's.

    ``native_workers``: the statement's fragments go to native workers, and not to Spark.
    """

    enabled: bool
    mode: Mode
    native_workers: bool
    unavailable: Unavailable

    def vetoes(self, *, procedure: bool) -> bool:
        """Whether a refusal ends the statement."""
        return self.mode == "veto" or (self.mode == "auto" and (self.native_workers or procedure))

    def fails_closed(self, *, procedure: bool) -> bool:
        """Whether the statement ends where there is no verdict: ``auto`` does what a refusal would."""
        if self.unavailable == "auto":
            return self.vetoes(procedure=procedure)
        return self.unavailable == "fail-closed"


def policy(settings: NativeSettings, session: Session) -> Policy:
    """Raises INVALID_SESSION_PROPERTY for a value that is none of the allowed ones."""
    if session.properties.keys().isdisjoint(_PROPERTIES):
        return Policy(settings.enabled, settings.mode, settings.native_workers, settings.unavailable)
    enabled = _chosen(session, ENABLED_PROPERTY, ("true", "false"), str(settings.enabled).lower())
    mode = _chosen(session, MODE_PROPERTY, ("auto", "veto", "warn", "log"), settings.mode)
    unavailable = _chosen(session, UNAVAILABLE_PROPERTY, ("auto", "fail-open", "fail-closed"), settings.unavailable)
    native = _chosen(session, NATIVE_WORKERS_PROPERTY, ("true", "false"), str(settings.native_workers).lower())
    return Policy(enabled == "true", mode, native == "true", unavailable)  # type: ignore[arg-type]  # _chosen gives one of the allowed


def _chosen(session: Session, name: str, allowed: tuple[str, ...], default: str) -> str:
    value = session.properties.get(name)
    if value is None:
        return default
    folded = value.strip().lower()
    if folded not in allowed:
        raise ProcessionError(
            ErrorCode.INVALID_SESSION_PROPERTY, f"{name} must be one of {', '.join(allowed)}, got: {value}"
        )
    return folded
