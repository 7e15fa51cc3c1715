"""PlanCheckers: the checks of the three phases in their fixed order, built-ins first, then the providers' checkers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import cast

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
from coordinator.checks.worker_form import why_not_checked
from coordinator.vocabulary.planned_statement import PlannedStatement
from coordinator.vocabulary.session_properties import session_flag
from shared.errors import ErrorCode, ProcessionError
from shared.plan import nodes
from shared.plan.fragment import SubPlan
from shared.plan.nodes import PlanNode
from shared.plan.traversal import walk
from shared.spi.event_listener import FragmentVerdictInfo
from shared.spi.plan_checker import (
    KnownVerdict,
    NativeJudge,
    NativeVerdict,
    PlanChecker,
    PrestoWarning,
    QuickJudge,
    WarningCollector,
)
from shared.spi.session import Session

NoteVerdict = Callable[[FragmentVerdictInfo], None]
Observer = Callable[[str, str, float], None]
"""Called with phase, checker's name and seconds after each check, failed ones included; for metrics and spans."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """``kinds`` are the nodes that the check looks at, all for none: a plan without any of them passes it unseen."""

    name: str
    check: Callable[[PlanNode], None]
    kinds: frozenset[type]


_EVALUATING = (
    nodes.FilterNode,
    nodes.ProjectNode,
    nodes.AggregationNode,
    nodes.JoinNode,
    nodes.MergeJoinNode,
    nodes.IndexJoinNode,
    nodes.SpatialJoinNode,
    nodes.ValuesNode,
    nodes.WindowNode,
    nodes.ExchangeNode,
)
"""The nodes of which ``traversal.expressions`` may give any."""
_ASSIGNING = (nodes.ProjectNode, nodes.AggregationNode, nodes.WindowNode, nodes.ValuesNode)
_PROMISING = (nodes.JoinNode, nodes.SemiJoinNode, nodes.FilterNode)
_PROCEDURE = nodes.CallDistributedProcedureNode


def _built_in(name: str, check: Callable[[PlanNode], None], *kinds: type) -> BuiltIn:
    return BuiltIn(name, check, frozenset(kinds))


_EVERY_PLAN: tuple[BuiltIn, ...] = (
    _built_in("ValidateDependenciesChecker", validate_dependencies.check),
    _built_in("NoDuplicatePlanNodeIdsChecker", no_duplicate_plan_node_ids.check),
    _built_in("TypeValidator", type_validator.check, *_ASSIGNING),
)
_INTERMEDIATE: tuple[BuiltIn, ...] = (
    *_EVERY_PLAN,
    _built_in("VerifyOnlyOneOutputNode", verify_only_one_output_node.check),
    _built_in("VerifyNoUnresolvedSymbolExpression", verify_no_unresolved_symbol_expression.check),
)
_NATIVE_INTERMEDIATE: tuple[BuiltIn, ...] = (
    *_INTERMEDIATE,
    _built_in("CheckUnsupportedPrestissimoTypes", check_unsupported_prestissimo_types.check),
)
_FINAL: tuple[BuiltIn, ...] = (
    _built_in(
        "CheckUnsupportedExternalFunctions",
        check_unsupported_external_functions.check,
        *(nodes.FilterNode, nodes.AggregationNode, nodes.JoinNode),
    ),
    *_EVERY_PLAN,
    _built_in("VerifyOnlyOneOutputNode", verify_only_one_output_node.check),
    _built_in("VerifyProjectionLocality", verify_projection_locality.check, nodes.ProjectNode),
    _built_in("DynamicFiltersChecker", dynamic_filters_checker.check, *_PROMISING),
    _built_in(
        "CallDistributedProcedureValidator",
        lambda plan: call_distributed_procedure_validator.check((plan,), "FINAL"),
        _PROCEDURE,
    ),
)
_FRAGMENT: tuple[BuiltIn, ...] = (
    *_EVERY_PLAN,
    _built_in("VerifyNoFilteredAggregations", verify_no_filtered_aggregations.check, nodes.AggregationNode),
    _built_in("VerifyNoIntermediateFormExpression", verify_no_intermediate_form_expression.check, *_EVALUATING),
    _built_in("ValidateStreamingAggregations", validate_streaming_aggregations.check, nodes.AggregationNode),
    _built_in("VerifyProjectionLocality", verify_projection_locality.check, nodes.ProjectNode),
    _built_in("VerifyLocalExchange", verify_local_exchange.check, nodes.ExchangeNode),
    _built_in("ValidateStreamingJoins", validate_streaming_joins.check, nodes.ExchangeNode),
)
_SUBPLAN: tuple[tuple[str, Callable[[SubPlan], None], type], ...] = (
    ("ValidateAggregationsWithDefaultValues", validate_aggregations_with_default_values.check, nodes.AggregationNode),
    (
        "CallDistributedProcedureValidator",
        lambda subplan: call_distributed_procedure_validator.check(
            (fragment.root for fragment in subplan.fragments()), "FRAGMENT"
        ),
        _PROCEDURE,
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
    ``known`` where that was known before.
    """

    part: SubPlan
    warnings: tuple[PrestoWarning, ...]
    error: ProcessionError | None
    native: NativeVerdict | None = None
    known: KnownVerdict | None = None

    @property
    def fragment_id(self) -> str:
        return self.part.fragment.id if self.known is None else self.known.fragment_id

    @property
    def not_checked(self) -> str | None:
        """Why no worker will run the fragment, else None."""
        return why_not_checked(self.part.fragment) if self.known is None else self.known.not_checked


class PlanCheckers:
    """The checks of one process. Stateless but for what the providers' checkers hold; ``aclose`` closes those."""

    def __init__(self, providers: Sequence[PlanChecker] = (), observe: Observer = _observe_nothing) -> None:
        self._providers = tuple(providers)
        self._judges: tuple[NativeJudge | None, ...] = tuple(
            provider if isinstance(provider, NativeJudge) else None for provider in providers
        )
        only = self._judges[0] if len(self._judges) == 1 else None
        self._quick = only if isinstance(only, QuickJudge) else None
        self._observe = observe

    @property
    def providers(self) -> tuple[PlanChecker, ...]:
        """The checkers after the built-ins, in order."""
        return self._providers

    def validate_intermediate(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        """After planning, before optimization; raises the first checker's ProcessionError."""
        native = session_flag(session, "native_execution_enabled")
        self._check("INTERMEDIATE", _NATIVE_INTERMEDIATE if native else _INTERMEDIATE, plan)
        for provider in self._providers:
            self._run("INTERMEDIATE", provider.name, partial(provider.validate_intermediate, plan, session, warn))

    def validate_final(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        """After optimization; raises the first checker's ProcessionError."""
        self._check("FINAL", _FINAL, plan)
        for provider in self._providers:
            self._run("FINAL", provider.name, partial(provider.validate_final, plan, session, warn))

    def validate_built_in_fragments(self, subplan: SubPlan) -> None:
        """The built-in part of the fragment phase: pure, so it may run where the plan was made."""
        found: set[type] = set()
        for fragment in subplan.fragments():
            found |= self._check("FRAGMENT", _FRAGMENT, fragment.root)
        for name, check_subplan, kind in _SUBPLAN:
            if kind in found:
                self._run("FRAGMENT", name, partial(check_subplan, subplan))
            else:
                self._observe("FRAGMENT", name, 0.0)

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
        verdicts = [self._known(part, session) or self._begun(part, session) for part in subplan.walk()]
        checks = [verdict for verdict in verdicts if not isinstance(verdict, FragmentVerdict)]
        try:
            for verdict in verdicts:
                yield verdict if isinstance(verdict, FragmentVerdict) else await verdict
        finally:
            for check in checks:
                check.cancel()
            if checks:
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

    def _known(self, part: SubPlan, session: Session) -> FragmentVerdict | None:
        if self._quick is None:
            return None
        start = perf_counter()
        try:
            known = self._quick.known_verdict(part.encoded, session)
        except Exception:  # whatever it is, it is told by who is asked next
            return None
        if known is None:
            return None
        self._observe("FRAGMENT", self._providers[0].name, perf_counter() - start)
        native = known.verdict
        return FragmentVerdict(part, (), native.error if native.vetoes else None, native, known)

    def _begun(self, part: SubPlan, session: Session) -> asyncio.Task[FragmentVerdict]:
        return asyncio.ensure_future(self._validate_fragment(part, session))

    async def _validate_fragment(self, part: SubPlan, session: Session) -> FragmentVerdict:
        fragment = part.fragment
        warnings: list[PrestoWarning] = []
        failure: ProcessionError | None = None
        native: NativeVerdict | None = None
        for provider, judge in zip(self._providers, self._judges, strict=True):
            start = perf_counter()
            try:
                if judge is not None:
                    native = await judge.judge_fragment(fragment, session, warnings.append)
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
        return FragmentVerdict(part, tuple(warnings), failure, native)

    def _check(self, phase: str, checks: Sequence[BuiltIn], plan: PlanNode) -> set[type]:
        """The kinds of nodes in a plan that passes; raises the first checker's ProcessionError."""
        found = {type(node) for node in walk(plan)}
        for built_in in checks:
            if built_in.kinds and found.isdisjoint(built_in.kinds):
                self._observe(phase, built_in.name, 0.0)
            else:
                self._run(phase, built_in.name, partial(built_in.check, plan))
        return cast("set[type]", found)

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
        fragment_id=verdict.fragment_id,
        verdict=word if verdict.native is None else verdict.native.verdict,
        reason=None if error is None else error.message,
    )


def _checker_failed(name: str, error: Exception) -> ProcessionError:
    return ProcessionError(
        ErrorCode.GENERIC_INTERNAL_ERROR, f"Plan checker {name} failed: {type(error).__name__}: {error}"
    )
