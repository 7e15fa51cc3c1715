"""Order, concurrency, warnings and failures of the composed checkers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ProcessionError
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Constant, Variable
from shared.plan.fragment import SimplePlanFragment, SubPlan
from shared.plan.nodes import OutputNode, PlanNode, ValuesNode
from shared.spi.plan_checker import PrestoWarning, WarningCollector
from shared.spi.session import Session

pytestmark = pytest.mark.anyio

MakeFragment = Callable[..., SimplePlanFragment]
A = Variable(name="a", type="bigint")
ONE = Constant(valueBlock=encode_constant(1, "bigint"), type="bigint")
PLAN = OutputNode(
    id="1",
    source=ValuesNode(id="0", outputVariables=(A,), rows=((ONE,),)),
    columnNames=("a",),
    outputVariables=(A,),
)


@dataclass
class Recorder:
    """A checker that writes down what it was asked, waits, warns and fails as told by fragment id."""

    name: str = "recorder"
    calls: list[str] = field(default_factory=list)
    delays: dict[str, float] = field(default_factory=dict)
    failures: dict[str, Exception] = field(default_factory=dict)
    finished: list[str] = field(default_factory=list)

    def validate_intermediate(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        self.calls.append(f"intermediate {plan.id}")

    def validate_final(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        self.calls.append(f"final {plan.id}")
        warn(PrestoWarning(1, "HELLO", "from final"))

    async def validate_fragment(self, fragment: SimplePlanFragment, session: Session, warn: WarningCollector) -> None:
        self.calls.append(f"fragment {fragment.id}")
        await asyncio.sleep(self.delays.get(fragment.id, 0))
        warn(PrestoWarning(2, "SEEN", fragment.id))
        if fragment.id in self.failures:
            raise self.failures[fragment.id]
        self.finished.append(fragment.id)


def subplan(make: MakeFragment, count: int = 3) -> SubPlan:
    first, *rest = [make(PLAN, str(i)) for i in range(count)]
    return SubPlan(first, tuple(SubPlan(fragment) for fragment in rest))


def test_built_ins_run_first_and_in_order(session: Session) -> None:
    seen: list[tuple[str, str]] = []
    recorder = Recorder()
    checkers = PlanCheckers([recorder], observe=lambda phase, name, _s: seen.append((phase, name)))
    warnings: list[PrestoWarning] = []
    checkers.validate_intermediate(PLAN, session, warnings.append)
    checkers.validate_final(PLAN, session, warnings.append)
    assert [name for phase, name in seen if phase == "INTERMEDIATE"] == [
        "ValidateDependenciesChecker",
        "NoDuplicatePlanNodeIdsChecker",
        "TypeValidator",
        "VerifyOnlyOneOutputNode",
        "VerifyNoUnresolvedSymbolExpression",
        "recorder",
    ]
    assert [name for phase, name in seen if phase == "FINAL"][-2:] == ["CallDistributedProcedureValidator", "recorder"]
    assert recorder.calls == ["intermediate 1", "final 1"]
    assert warnings == [PrestoWarning(1, "HELLO", "from final")]


def test_native_sessions_check_types(session: Session) -> None:
    column = Variable(name="c", type="char(3)")
    plan = OutputNode(
        id="1",
        source=ValuesNode(id="0", outputVariables=(column,), rows=()),
        columnNames=("c",),
        outputVariables=(column,),
    )
    PlanCheckers().validate_intermediate(plan, session, print)
    native = Session(user="u", properties={"native_execution_enabled": "true"})
    with pytest.raises(ProcessionError, match="Char type is not supported in Prestissimo"):
        PlanCheckers().validate_intermediate(plan, native, print)


def test_a_veto_of_a_built_in_keeps_providers_out(session: Session) -> None:
    recorder = Recorder()
    with pytest.raises(ProcessionError):
        PlanCheckers([recorder]).validate_final(PLAN.source, session, print)
    assert recorder.calls == []


async def test_fragments_are_checked_at_the_same_time(session: Session, make_fragment: MakeFragment) -> None:
    barrier = asyncio.Barrier(3)

    class Meeting(Recorder):
        async def validate_fragment(
            self, fragment: SimplePlanFragment, session: Session, warn: WarningCollector
        ) -> None:
            await barrier.wait()

    async with asyncio.timeout(60):
        await PlanCheckers([Meeting()]).validate_fragments(subplan(make_fragment), session, print)


async def test_warnings_come_in_fragment_order(session: Session, make_fragment: MakeFragment) -> None:
    """Whichever is done first: each waits here until the one behind it is done."""

    class Reversed(Recorder):
        async def validate_fragment(
            self, fragment: SimplePlanFragment, session: Session, warn: WarningCollector
        ) -> None:
            while len(self.finished) < 2 - int(fragment.id):
                await asyncio.sleep(0)
            await super().validate_fragment(fragment, session, warn)

    recorder = Reversed()
    planned = PlannedStatement("SELECT", (), ReturnRows(()), subplan=subplan(make_fragment))
    warnings = await PlanCheckers([recorder]).check(planned, session)
    assert [w.message for w in warnings] == ["0", "1", "2"]
    assert recorder.finished == ["2", "1", "0"]


async def test_the_first_failing_fragment_is_reported_and_the_rest_cancelled(
    session: Session, make_fragment: MakeFragment
) -> None:
    one, two = (ProcessionError(ErrorCode.QUERY_REJECTED, text) for text in ("one", "two"))
    recorder = Recorder(delays={"0": 0.02, "2": 30}, failures={"0": one, "1": two})
    async with asyncio.timeout(60):
        with pytest.raises(ProcessionError, match="one"):
            await PlanCheckers([recorder]).validate_fragments(subplan(make_fragment), session, print)
    assert recorder.finished == []


async def test_a_checker_with_a_bug_is_a_clear_internal_error(session: Session, make_fragment: MakeFragment) -> None:
    recorder = Recorder(name="acme", failures={"0": KeyError("oops")})
    with pytest.raises(ProcessionError) as caught:
        await PlanCheckers([recorder]).validate_fragments(subplan(make_fragment, 1), session, print)
    assert caught.value.code is ErrorCode.GENERIC_INTERNAL_ERROR
    assert caught.value.message == "Plan checker acme failed: KeyError: 'oops'"


async def test_statements_without_fragments_pass(session: Session) -> None:
    planned = PlannedStatement("CONTROL", (), ReturnRows(()))
    assert await PlanCheckers([Recorder()]).check(planned, session) == ()
