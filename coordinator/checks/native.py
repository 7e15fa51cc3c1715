"""Provider ``native``: every fragment that workers will run is converted by the sidecar's Velox before it may queue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordinator.checks.circuit_breaker import BreakerState
from coordinator.checks.fragment_keys import FragmentKey, FragmentKeys, fresh_key
from coordinator.checks.native_settings import NativeSettings, Policy, policy
from coordinator.checks.refusal_location import location_of
from coordinator.checks.settings import parse_provider_settings
from coordinator.checks.sidecar_answers import SidecarUnavailableError, refusal_error
from coordinator.checks.verdict_cache import VerdictCache
from coordinator.checks.worker_form import is_procedure, why_not_checked, worker_form
from shared.errors import ProcessionError
from shared.plan.fragment import SimplePlanFragment, encode_fragment
from shared.plan.nodes import PlanNode
from shared.protocol.sidecar import Failure
from shared.spi.plan_checker import KnownVerdict, NativeVerdict, PlanChecker, PrestoWarning, WarningCollector
from shared.spi.session import Session

if TYPE_CHECKING:
    from coordinator.checks.sidecar_client import SidecarClient

_LOG = logging.getLogger(__name__)
WARNING_REFUSED = (0x0519_0001, "NATIVE_PLAN_CHECKER_REFUSED")
WARNING_UNAVAILABLE = (0x0519_0000, "NATIVE_PLAN_CHECKER_UNAVAILABLE")
_ACCEPTED = NativeVerdict("accepted")
_NOT_CHECKED = NativeVerdict("not_checked")


class NativePlanCheckerProvider:
    """Makes the checker of one ``native`` file."""

    name = "native"

    def create(self, properties: Mapping[str, str]) -> Sequence[PlanChecker]:
        """Raises ConfigurationError for an unknown property, a wrong value or a missing sidecar address."""
        return (NativePlanChecker(parse_provider_settings(NativeSettings, properties)),)


@dataclass(slots=True)
class NativeStats:
    """Counters since the start and the breaker's state, for metrics. ``skipped``: fragments no worker runs."""

    sent: int = 0
    skipped: int = 0
    cache_hits: int = 0
    refused: int = 0
    unavailable: int = 0
    breaker: BreakerState = BreakerState.CLOSED


_LARGE = 100_000
"""Bytes of JSON; a hundredth of a second of work."""


class NativePlanChecker:
    """Contributes to the fragment phase only. Belongs to one event loop; ``aclose`` closes its connections."""

    name = "native"

    def __init__(self, settings: NativeSettings, client: SidecarClient | None = None) -> None:
        self._settings = settings
        self._given = client
        self._cache = VerdictCache(settings.cache_size, settings.cache_ttl)
        self._keys = FragmentKeys()
        self._stats = NativeStats()

    @property
    def settings(self) -> NativeSettings:
        """Where the sidecar is, and how long it may take."""
        return self._settings

    @property
    def _client(self) -> SidecarClient:
        """Made where it is asked for: planner processes have a checker too, and no use for HTTP."""
        if self._given is None:
            from coordinator.checks.sidecar_client import SidecarClient

            self._given = SidecarClient(self._settings)
        return self._given

    def validate_intermediate(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        """Nothing: what workers run is known only of fragments."""

    def validate_final(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        """Nothing: what workers run is known only of fragments."""

    async def validate_fragment(self, fragment: SimplePlanFragment, session: Session, warn: WarningCollector) -> None:
        """Raises the sidecar's refusal, or its absence where that is told to count, by mode and policy."""
        judged = await self.judge_fragment(fragment, session, warn)
        if judged.vetoes and judged.error is not None:
            raise judged.error

    async def judge_fragment(
        self, fragment: SimplePlanFragment, session: Session, warn: WarningCollector
    ) -> NativeVerdict:
        """What workers make of the fragment, whatever the mode; mode and policy say what that means."""
        chosen = policy(self._settings, session)
        if not chosen.enabled:
            return _NOT_CHECKED
        about, sent = await self._sent(fragment)
        remembered = self._remembered(about)
        if remembered is not None:
            return remembered
        try:
            failure = await self._convert(worker_form(fragment) if sent is None else sent)
        except SidecarUnavailableError as error:
            return self._unavailable(error, chosen.fails_closed(procedure=is_procedure(fragment.root)), warn)
        if failure is None:
            self._cache.accept(about.key)
            return _ACCEPTED
        self._stats.refused += 1
        return _refused(refusal_error(failure, location_of(failure, fragment)), chosen, fragment, session, warn)

    def known_verdict(self, encoded: bytes, session: Session) -> KnownVerdict | None:
        """The verdict that ``judge_fragment`` would give without asking anybody, nor looking into the fragment."""
        if len(encoded) >= _LARGE:
            return None
        chosen = policy(self._settings, session)
        about = self._keys.known_key(encoded)
        if about is None:
            return None
        verdict = self._remembered(about) if chosen.enabled else _NOT_CHECKED
        return None if verdict is None else KnownVerdict(verdict, about.fragment_id, about.not_checked)

    def _remembered(self, about: FragmentKey) -> NativeVerdict | None:
        if about.not_checked is not None:
            self._stats.skipped += 1
            return _NOT_CHECKED
        if self._cache.is_accepted(about.key):
            self._stats.cache_hits += 1
            return _ACCEPTED
        return None

    async def _sent(self, fragment: SimplePlanFragment) -> tuple[FragmentKey, SimplePlanFragment | None]:
        """The key of a fragment; of a large one, which takes seconds, beside the event loop, with the workers' form."""
        encoded = encode_fragment(fragment)
        if len(encoded) < _LARGE:
            return self._keys.key(encoded), None
        if (reason := why_not_checked(fragment)) is not None:
            return FragmentKey(fragment.id, reason, b""), None
        return await asyncio.to_thread(lambda: (fresh_key(fragment), worker_form(fragment)))

    def stats(self) -> NativeStats:
        """A copy of the counters."""
        counted = self._stats
        return NativeStats(
            counted.sent,
            counted.skipped,
            counted.cache_hits,
            counted.refused,
            counted.unavailable,
            self._client.state,
        )

    async def aclose(self) -> None:
        """Close the connections to the sidecar."""
        await self._client.aclose()

    async def _convert(self, fragment: SimplePlanFragment) -> Failure | None:
        self._stats.sent += 1
        answer = await self._client.post(encode_fragment(fragment))
        return answer.failure

    def _unavailable(self, error: SidecarUnavailableError, vetoes: bool, warn: WarningCollector) -> NativeVerdict:
        self._stats.unavailable += 1
        self._cache.clear()
        if not vetoes:
            warn(PrestoWarning(*WARNING_UNAVAILABLE, f"Not checked by native plan checker: {error.message}"))
        return NativeVerdict("undecided", error, vetoes)


def _refused(
    error: ProcessionError, chosen: Policy, fragment: SimplePlanFragment, session: Session, warn: WarningCollector
) -> NativeVerdict:
    vetoes = chosen.vetoes(procedure=is_procedure(fragment.root))
    if chosen.mode == "log":
        _LOG.warning("query %s fragment %s: %s", session.query_id, fragment.id, error.wire_message)
    elif not vetoes:
        warn(PrestoWarning(*WARNING_REFUSED, error.wire_message))
    return NativeVerdict("refused", error, vetoes)
