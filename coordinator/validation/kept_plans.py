"""Plans of statements that read nothing but system tables, kept for when a client asks the same again.

BI tools browse with the same few statements: what they mean depends on the text and the session alone, since system
tables look the same as long as the process runs. Their rows are made anew each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import fields, replace

from coordinator.dispatch.ports import StatementPlanner
from coordinator.security.access_control.built_in import AllowAll
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.spi.session import Session

_MAX_PLANS = 500
_MAX_TEXT = 10_000
_BUILT_IN = AllowAll().rules_version
_UNREAD = frozenset(["query_id", "start", "trace_token", "traceparent", "extra_credentials"])
_READ = tuple(field.name for field in fields(Session) if field.name not in _UNREAD)


class KeptPlans:
    """Implements ``coordinator.dispatch.ports.StatementPlanner`` in front of another one; belongs to one event loop."""

    def __init__(
        self,
        planner: StatementPlanner,
        max_plans: int = _MAX_PLANS,
        version: Callable[[], str | None] = lambda: _BUILT_IN,
        catalogs: Callable[[], int] = lambda: 0,
    ) -> None:
        """``version`` of the rules that say who may do what; plans are kept for one alone, and for None not at all.

        ``catalogs`` is another number whenever there are other catalogs: plans are kept for one of these alone too.
        """
        self._planner = planner
        self._max_plans = max_plans
        self._version = version
        self._catalogs = catalogs
        self._kept_for: tuple[str | None, int] = (None, 0)
        self._kept: OrderedDict[tuple[object, ...], PlannedStatement] = OrderedDict()

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        """As the planner does; a kept plan took no time of any verb."""
        if len(text) > _MAX_TEXT or session.extra_credentials:
            return await self._planner.plan(text, session)
        version, catalogs = self._version(), self._catalogs()
        if (version, catalogs) != self._kept_for:
            self._kept.clear()
            self._kept_for = (version, catalogs)
        key = (text, *(_hashable(getattr(session, name)) for name in _READ))
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        planned = await self._planner.plan(text, session)
        # A planner process may have seen rules that are newer or older than those of this one.
        same = planned.rules_version in (None, version) and catalogs == self._catalogs()
        if planned.repeatable and version is not None and same:
            without = dict.fromkeys(planned.verb_seconds, 0.0)
            self._kept[key] = replace(planned, verb_seconds=without, calls=())
            if len(self._kept) > self._max_plans:
                self._kept.popitem(last=False)
        return planned


def _hashable(value: object) -> object:
    """Mappings as tuples; what else a session holds can be hashed."""
    if not hasattr(value, "items"):
        return value
    return tuple(sorted((key, _hashable(inner)) for key, inner in value.items()))
