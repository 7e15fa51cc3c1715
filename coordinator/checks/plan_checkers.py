"""PlanCheckers: the checks of the three phases in their fixed order, built-ins first, then the providers' checkers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from coordinator.checks.built_in import (
    call_distributed_procedure_validator,
    check_unsupported_external_functions,
    check_unsupported_prestissimo_types,
    dynamic_filters_checker,
    no_duplicate_plan_node_ids,
    type_validator,
    validate_aggregations_with_default_values,
    validate_dependencies,
    validate_streaming_aggregations,
    validate_streaming_joins,
    verify_local_exchange,
    verify_no_filtered_aggregations,
    verify_no_intermediate_form_expression,
    verify_no_unresolved_symbol_expression,
    verify_only_one_output_node,
    verify_projection_locality,
)
from coordinator.vocabulary.planned_statement import PlannedStatement
from coordinator.vocabulary.session_properties import session_flag
from shared.errors import ErrorCode, ProcessionError
from shared.plan.fragment import SimplePlanFragment, SubPlan
from shared.plan.nodes import PlanNode
from shared.spi.event_listener import FragmentVerdictInfo
from shared.spi.plan_checker import NativeJudge, NativeVerdict, PlanChecker, PrestoWarning, WarningCollector
from shared.spi.session import Session

BuiltIn = tuple[str, Callable[[PlanNode], None]]
NoteVerdict = Callable[[FragmentVerdictInfo], None]
Observer = Callable[[str, str, float], None]
"""Called with phase, checker's name and seconds after each check, failed ones included; for metrics and spans."""

_EVERY_PLAN: tuple[BuiltIn, ...] = (
    ("ValidateDependenciesChecker", validate_dependencies.check),
    ("NoDuplicatePlanNodeIdsChecker", no_duplicate_plan_node_ids.check),
    ("TypeValidator", type_validator.check),
)
_INTERMEDIATE: tuple[BuiltIn, ...] = (
    *_EVERY_PLAN,
    ("VerifyOnlyOneOutputNode", verify_only_one_output_node.check),
    ("VerifyNoUnresolvedSymbolExpression", verify_no_unresolved_symbol_expression.check),
)
_NATIVE_INTERMEDIATE: tuple[BuiltIn, ...] = (
    *_INTERMEDIATE,
    ("CheckUnsupportedPrestissimoTypes", check_unsupported_prestissimo_types.check),
)
_FINAL: tuple[BuiltIn, ...] = (
    ("CheckUnsupportedExternalFunctions", check_unsupported_external_functions.check),
    *_EVERY_PLAN,
    ("VerifyOnlyOneOutputNode", verify_only_one_output_node.check),
    ("VerifyProjectionLocality", verify_projection_locality.check),
    ("DynamicFiltersChecker", dynamic_filters_checker.check),
    (
        "CallDistributedProcedureValidator",
        lambda plan: call_distributed_procedure_validator.check((plan,), "FINAL"),
    ),
)
_FRAGMENT: tuple[BuiltIn, ...] = (
    *_EVERY_PLAN,
    ("VerifyNoFilteredAggregations", verify_no_filtered_aggregations.check),
    ("VerifyNoIntermediateFormExpression", verify_no_intermediate_form_expression.check),
    ("ValidateStreamingAggregations", validate_streaming_aggregations.check),
    ("VerifyProjectionLocality", verify_projection_locality.check),
    ("VerifyLocalExchange", verify_local_exchange.check),
    ("ValidateStreamingJoins", validate_streaming_joins.check),
)
_SUBPLAN: tuple[tuple[str, Callable[[SubPlan], None]], ...] = (
    ("ValidateAggregationsWithDefaultValues", validate_aggregations_with_default_values.check),
    (
        "CallDistributedProcedureValidator",
        lambda subplan: call_distributed_procedure_validator.check(
            (fragment.root for fragment in subplan.fragments()), "FRAGMENT"
        ),
    ),
)


def _observe_nothing(_phase: str, _name: str, _seconds: float) -> None:
    return


def _note_nothing(_verdict: FragmentVerdictInfo) -> None:
    return


@dataclass(frozen=True, slots=True)
class FragmentVerdict:
    """What the providers' checkers made of one fragment; ``error`` is None for an accepted one.

    ``native``: whether native workers could run it, also where that is no reason to refuse it; None: nobody looked.
    """

    fragment: SimplePlanFragment
    warnings: tuple[PrestoWarning, ...]
    error: ProcessionError | None
    native: NativeVerdict | None = None


class PlanCheckers:
    """The checks of one process. Stateless but for what the providers' checkers hold; ``aclose`` closes those."""

    def __init__(self, providers: Sequence[PlanChecker] = (), observe: Observer = _observe_nothing) -> None:
        self._providers = tuple(providers)
        self._observe = observe

    @property
    def providers(self) -> tuple[PlanChecker, ...]:
        """The checkers after the built-ins, in order."""
        return self._providers

    def validate_intermediate(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        """After planning, before optimization; raises the first checker's ProcessionError."""
        native = session_flag(session, "native_execution_enabled")
        for name, check in _NATIVE_INTERMEDIATE if native else _INTERMEDIATE:
            self._run("INTERMEDIATE", name, partial(check, plan))
        for provider in self._providers:
            self._run("INTERMEDIATE", provider.name, partial(provider.validate_intermediate, plan, session, warn))

    def validate_final(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        """After optimization; raises the first checker's ProcessionError."""
        for name, check in _FINAL:
            self._run("FINAL", name, partial(check, plan))
        for provider in self._providers:
            self._run("FINAL", provider.name, partial(provider.validate_final, plan, session, warn))

    def validate_built_in_fragments(self, subplan: SubPlan) -> None:
        """The built-in part of the fragment phase: pure, so it may run where the plan was made."""
        for fragment in subplan.fragments():
            for name, check in _FRAGMENT:
                self._run("FRAGMENT", name, partial(check, fragment.root))
        for name, check_subplan in _SUBPLAN:
            self._run("FRAGMENT", name, partial(check_subplan, subplan))

    async def validate_fragments(
        self,
        subplan: SubPlan,
        session: Session,
        warn: WarningCollector,
        *,
        verified: bool = False,
        note: NoteVerdict = _note_nothing,
    ) -> None:
        """All fragments at the same time; warnings and the error come in the order of the fragments, equal ones once.

        Raises ProcessionError: the failure of the first fragment that failed, after which the rest is cancelled.
        """
        warnings: set[PrestoWarning] = set()
        async with aclosing(self.fragment_verdicts(subplan, session, verified=verified)) as verdicts:
            async for verdict in verdicts:
                note(_verdict_info(verdict))
                for warning in verdict.warnings:
                    if warning not in warnings:
                        warnings.add(warning)
                        warn(warning)
                if verdict.error is not None:
                    raise verdict.error

    async def fragment_verdicts(
        self, subplan: SubPlan, session: Session, *, verified: bool = False
    ) -> AsyncGenerator[FragmentVerdict, None]:
        """The verdict of every fragment, in order, while all are checked at the same time.

        ``verified``: the built-in checks have passed already, where the plan was made.

        Raises ProcessionError when the built-in checks veto. Leaving early cancels what is still being checked.
        """
        if not verified:
            self.validate_built_in_fragments(subplan)
        checks = [asyncio.ensure_future(self._validate_fragment(f, session)) for f in subplan.fragments()]
        try:
            for check in checks:
                yield await check
        finally:
            for check in checks:
                check.cancel()
            await asyncio.gather(*checks, return_exceptions=True)

    async def check(
        self, planned: PlannedStatement, session: Session, note: NoteVerdict = _note_nothing
    ) -> tuple[PrestoWarning, ...]:
        """The fragment phase of a planned statement: the warnings; raises ProcessionError when a checker vetoes.

        ``note`` is told of each verdict, for the history.
        """
        if planned.subplan is None:
            return ()
        warnings: list[PrestoWarning] = []
        verified = planned.fragments_verified
        await self.validate_fragments(planned.subplan, session, warnings.append, verified=verified, note=note)
        return tuple(warnings)

    async def aclose(self) -> None:
        """Close what providers' checkers hold open, such as connections."""
        for provider in self._providers:
            close = getattr(provider, "aclose", None)
            if close is not None:
                await close()

    async def _validate_fragment(self, fragment: SimplePlanFragment, session: Session) -> FragmentVerdict:
        warnings: list[PrestoWarning] = []
        failure: ProcessionError | None = None
        native: NativeVerdict | None = None
        for provider in self._providers:
            start = perf_counter()
            try:
                if isinstance(provider, NativeJudge):
                    native = await provider.judge_fragment(fragment, session, warnings.append)
                    failure = native.error if native.vetoes else None
                else:
                    await provider.validate_fragment(fragment, session, warnings.append)
            except ProcessionError as error:
                failure = error
            except Exception as error:  # a third party's checker may raise anything
                failure = _checker_failed(provider.name, error)
            finally:
                self._observe("FRAGMENT", provider.name, perf_counter() - start)
            if failure is not None:
                break
        return FragmentVerdict(fragment, tuple(warnings), failure, native)

    def _run(self, phase: str, name: str, check: Callable[[], None]) -> None:
        start = perf_counter()
        try:
            check()
        except (ProcessionError, RecursionError):
            # A plan that is too deep is the statement's fault, told as such by the planning line.
            raise
        except Exception as error:
            raise _checker_failed(name, error) from error
        finally:
            self._observe(phase, name, perf_counter() - start)


def _verdict_info(verdict: FragmentVerdict) -> FragmentVerdictInfo:
    error = verdict.error or (None if verdict.native is None else verdict.native.error)
    word = "accepted" if verdict.error is None else "refused"
    return FragmentVerdictInfo(
        fragment_id=verdict.fragment.id,
        verdict=word if verdict.native is None else verdict.native.verdict,
        reason=None if error is None else error.message,
    )


def _checker_failed(name: str, error: Exception) -> ProcessionError:
    return ProcessionError(
        ErrorCode.GENERIC_INTERNAL_ERROR, f"Plan checker {name} failed: {type(error).__name__}: {error}"
    )
