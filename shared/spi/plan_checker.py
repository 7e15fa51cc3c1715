"""PlanChecker: plans may be warned about or vetoed in three phases before a statement queues (Presto RFC-0008)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from shared.errors import ProcessionError
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import PlanNode
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class PrestoWarning:
    """A warning as clients receive it: ``{"warningCode": {"code", "name"}, "message"}``."""

    code: int
    name: str
    message: str


WarningCollector = Callable[[PrestoWarning], None]


class PlanChecker(Protocol):
    """Veto by raising ProcessionError; warn through the collector. Each method may do nothing."""

    name: str

    def validate_intermediate(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        """After planning, before optimization."""
        ...

    def validate_final(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None:
        """After optimization."""
        ...

    async def validate_fragment(self, fragment: SimplePlanFragment, session: Session, warn: WarningCollector) -> None:
        """For each fragment; fragments of one plan are checked concurrently."""
        ...


@dataclass(frozen=True, slots=True)
class NativeVerdict:
    """Whether native workers could run a fragment, which is not whether the statement may run.

    ``error`` says why not, for a refusal and where nobody could say (undecided); ``vetoes``: the statement ends by it.
    """

    verdict: Literal["accepted", "refused", "not_checked", "undecided"]
    error: ProcessionError | None = None
    vetoes: bool = False


@runtime_checkable
class NativeJudge(Protocol):
    """A checker that knows what native workers can run; asked instead of ``validate_fragment``, which vetoes alike."""

    async def judge_fragment(
        self, fragment: SimplePlanFragment, session: Session, warn: WarningCollector
    ) -> NativeVerdict:
        """The verdict on one fragment; raises ProcessionError for what is no verdict, such as a wrong setting."""
        ...


@dataclass(frozen=True, slots=True)
class KnownVerdict:
    """A verdict on the fragment ``fragment_id``; ``not_checked``: why no worker will run it, else None."""

    verdict: NativeVerdict
    fragment_id: str
    not_checked: str | None


@runtime_checkable
class QuickJudge(NativeJudge, Protocol):
    """One that may know the verdict by the fragment's JSON: most are asked for again and again."""

    def known_verdict(self, encoded: bytes, session: Session) -> KnownVerdict | None:
        """None, or an error, where ``judge_fragment`` has to be asked."""
        ...


class PlanCheckerProvider(Protocol):
    """A named factory found through the entry point group ``procession.plan_checker_providers``."""

    name: str

    def create(self, properties: Mapping[str, str]) -> Sequence[PlanChecker]:
        """The checkers of one ``etc/plan-checker-providers/*.properties`` file; raises ConfigurationError."""
        ...
