"""EXPLAIN (TYPE NATIVE): every worker fragment as the sidecar's Velox would run it."""

from __future__ import annotations

import asyncio

from coordinator.explain.native_format import native_plans
from coordinator.vocabulary.planned_statement import ExplainNative
from shared.errors import ErrorCode, ProcessionError
from shared.plan.fragment import SimplePlanFragment
from shared.spi.plan_converter import ConvertedPlan, PlanConverter

_ANSWER_SECONDS = 60.0


class NativeExplainer:
    """Called from executor threads; the converter belongs to the event loop that ``bind`` names."""

    def __init__(self, converter: PlanConverter | None) -> None:
        self._converter = converter
        self._loop: asyncio.AbstractEventLoop | None = None

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop that the server runs on."""
        self._loop = loop

    def __call__(self, work: ExplainNative) -> str:
        """The plans of all fragments in the asked format; raises ProcessionError when no sidecar answers."""
        if self._converter is None:
            message = "EXPLAIN (TYPE NATIVE) needs a sidecar: set sidecar.uri in etc/config.properties"
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
        assert self._loop is not None, "bound before statements run"
        future = asyncio.run_coroutine_threadsafe(self._convert_all(work), self._loop)
        return native_plans(future.result(_ANSWER_SECONDS), work.plan_format)

    async def _convert_all(self, work: ExplainNative) -> list[tuple[SimplePlanFragment, ConvertedPlan]]:
        assert self._converter is not None
        fragments = list(work.subplan.fragments())
        plans = await asyncio.gather(*(self._converter.convert(f, work.plan_format) for f in fragments))
        return list(zip(fragments, plans, strict=True))

    async def aclose(self) -> None:
        """Close the converter's connections."""
        close = getattr(self._converter, "aclose", None)
        if close is not None:
            await close()
