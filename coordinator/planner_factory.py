"""What runs inside a planner process: its own catalogs and checkers, and the pure line over them.

Kept apart from ``coordinator.app`` so that a planner process imports neither HTTP nor Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.checks.providers import load_plan_checkers
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.processes.memory import limit_memory
from coordinator.planning.plan_statement import plan_statement
from coordinator.security.access_control.load import load_access_policy
from coordinator.security.current_session import acting_for
from coordinator.vocabulary.planned_statement import PlannedStatement
from coordinator.vocabulary.trace_context import begin_tracing
from coordinator.vocabulary.traced_calls import TracedCalls, collecting
from shared.errors import ProcessionError
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class PlannerFactory:
    """Picklable; calling it in a planner process gives the function that plans there."""

    catalogs: tuple[CatalogConfig, ...]
    checker_directory: Path
    checker_defaults: dict[str, dict[str, str]]
    session_defaults: Mapping[str, str] = field(default_factory=dict)
    """Of session properties, where the configuration sets others."""
    etc: Path | None = None
    """Where the rules are that say who may do what; None allows everything."""
    authenticated: bool = False
    """Whether users have to say who they are."""
    facts: bool = False
    """Whether listeners or the history are told of statements."""
    memory_bytes: int | None = None
    """That planning may take beyond what the process begins with; None sets no limit."""

    managed: bool = False
    """Whether statements may make and drop catalogs."""
    traced: bool = False
    """Whether calls of other services are told for traces."""

    def __call__(self) -> Callable[[str, Session], PlannedStatement]:
        catalogs = Catalogs(self.catalogs)
        catalogs.managed = self.managed
        if self.etc is not None:
            catalogs.access = load_access_policy(self.etc, catalogs, authenticated=self.authenticated)
        checkers = PlanCheckers(load_plan_checkers(self.checker_directory, self.checker_defaults))
        if self.memory_bytes is not None:
            limit_memory(self.memory_bytes)
        return _Planner(catalogs, checkers, self.session_defaults, facts=self.facts, traced=self.traced)


class _Planner:
    """Plans statements over catalogs that may change between two of them."""

    def __init__(
        self,
        catalogs: Catalogs,
        checkers: PlanCheckers,
        session_defaults: Mapping[str, str],
        *,
        facts: bool,
        traced: bool,
    ) -> None:
        self._catalogs, self._checkers, self._facts = catalogs, checkers, facts
        self._session_defaults, self._traced = session_defaults, traced
        # What another's checker makes of a plan may change with the day.
        self._other_checkers = any(provider.name != "native" for provider in checkers.providers)

    def change(self, value: object) -> None:
        """``value`` are the definitions of all catalogs."""
        self._catalogs.replace(cast(tuple[CatalogConfig, ...], value))

    def __call__(self, text: str, session: Session) -> PlannedStatement:
        session = replace(session, property_defaults=self._session_defaults)
        trace = begin_tracing(session.query_id, session.traceparent)
        calls = TracedCalls() if self._traced and trace.sampled else None
        try:
            with acting_for(session), collecting(calls, "plan"):
                # A pre-check is no query: it has no id, and nobody is told of it.
                recorded = self._facts and bool(session.query_id)
                planned = plan_statement(text, session, self._catalogs, self._checkers, facts=recorded)
        except ProcessionError as error:
            error.calls = () if calls is None else calls.calls
            raise
        if calls is not None:
            planned = replace(planned, calls=calls.calls)
        if planned.subplan is None:
            return planned
        # Here and not on the coordinator's event loop, where they would hold up everybody.
        self._checkers.validate_built_in_fragments(planned.subplan)
        # Who checks, explains or runs it has no use for the whole plans, which cost as much to send as the rest.
        return replace(
            planned,
            fragments_verified=True,
            initial_plan=None,
            logical_plan=None,
            repeatable=planned.repeatable and not self._other_checkers,
        )
