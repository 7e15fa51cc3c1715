"""NativePlanConverter: the Velox plan of a fragment as text, for EXPLAIN (TYPE NATIVE)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coordinator.checks.native import NativePlanChecker
from coordinator.checks.native_settings import NativeSettings
from coordinator.checks.refusal_location import location_of
from coordinator.checks.sidecar_answers import refusal_error
from coordinator.checks.sidecar_client import SidecarClient
from coordinator.checks.worker_form import why_not_checked, worker_form
from shared.errors import ErrorCode, ProcessionError
from shared.plan.fragment import SimplePlanFragment, encode_fragment
from shared.spi.plan_checker import PlanChecker
from shared.spi.plan_converter import ConvertedPlan, PlanFormat


def native_converter(checkers: Sequence[PlanChecker], defaults: Mapping[str, str]) -> NativePlanConverter | None:
    """Of the sidecar that the native checker asks, with its timeouts; without checker, of the service's own.

    ``defaults`` are properties that its file would not repeat.
    """
    found = next((checker.settings for checker in checkers if isinstance(checker, NativePlanChecker)), None)
    if found is None and "native-plan-checker.sidecar-uri" in defaults:
        found = NativeSettings.model_validate(dict(defaults))
    return None if found is None else NativePlanConverter(found)


class NativePlanConverter:
    """Asks the sidecar by ``Accept``. Belongs to one event loop; ``aclose`` closes its connections."""

    def __init__(self, settings: NativeSettings, client: SidecarClient | None = None) -> None:
        self._client = client or SidecarClient(settings)

    async def convert(self, fragment: SimplePlanFragment, plan_format: PlanFormat) -> ConvertedPlan:
        """The plan, or why there is none; fragments that no worker runs say so.

        Raises ProcessionError when the sidecar does not answer, or answers with another media type than asked for.
        """
        reason = why_not_checked(fragment)
        if reason is not None:
            return ConvertedPlan(skipped=reason)
        answer = await self._client.post(encode_fragment(worker_form(fragment)), accept=plan_format.value)
        if answer.failure is not None:
            return ConvertedPlan(
                failure=refusal_error(answer.failure, location_of(answer.failure, fragment)).wire_message
            )
        media_type = answer.content_type.partition(";")[0].strip().lower()
        if media_type != plan_format.value:
            raise ProcessionError(
                ErrorCode.GENERIC_INTERNAL_ERROR,
                f"Expected {plan_format.value} from native plan checker, got {answer.content_type or 'no type'}",
            )
        try:
            return ConvertedPlan(text=answer.body.decode())
        except UnicodeDecodeError as error:
            raise ProcessionError(
                ErrorCode.GENERIC_INTERNAL_ERROR, "The plan from native plan checker is not UTF-8 text"
            ) from error

    async def aclose(self) -> None:
        """Close the connections to the sidecar."""
        await self._client.aclose()
