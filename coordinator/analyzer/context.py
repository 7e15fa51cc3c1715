"""What analyzing one expression needs to know, and its located errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any, Protocol

from coordinator.analyzer.locations import Places
from coordinator.analyzer.scope import Scope
from coordinator.kernels.functions.kinds import zone_of
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.expressions import Call, RowExpression, SourceLocation, Variable
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class SortItem:
    """One analyzed item of an ORDER BY."""

    expression: RowExpression
    order: str


class Sinks(Protocol):
    """Where the query planner takes out of expressions what becomes plan nodes; each gives the variable instead."""

    def aggregate(
        self, node: Any, call: Call, *, distinct: bool, condition: RowExpression | None, order: tuple[SortItem, ...]
    ) -> RowExpression: ...

    def window(self, node: Any, context: Context) -> RowExpression: ...

    def scalar_subquery(self, node: Any, context: Context) -> RowExpression: ...

    def exists(self, node: Any, context: Context) -> RowExpression: ...

    def in_subquery(self, node: Any, value: RowExpression, query: Any, context: Context) -> RowExpression: ...

    def quantified(
        self, node: Any, symbol: str, value: RowExpression, every: bool, query: Any, context: Context
    ) -> RowExpression: ...

    def grouping(self, node: Any, arguments: tuple[RowExpression, ...]) -> RowExpression: ...


@dataclass(frozen=True, slots=True)
class Context:
    """``clause`` names the place for the error of a misplaced aggregation; ``sinks`` is None where none may stand."""

    text: str
    session: Session
    scope: Scope = Scope()  # noqa: RUF009 - frozen
    sinks: Sinks | None = None
    clause: str = "expression"
    lambdas: Mapping[str, Variable] = field(default_factory=dict)
    parameters: tuple[RowExpression, ...] = ()
    places: Places | None = None

    @property
    def zone(self) -> tzinfo:
        """The session's time zone."""
        found: tzinfo = zone_of(self.session.time_zone)
        return found

    def locate(self, node: Any) -> ErrorLocation | None:
        """Where Presto points for ``node``."""
        if not self.text:
            return _from_meta(node)
        return (self.places or Places(self.text)).error_location(node)

    def place(self, node: Any) -> SourceLocation | None:
        """The same for plan nodes and expressions; None where the places of the statement are not kept."""
        return None if self.places is None else self.places.of(node)

    def error(self, node: Any, message: str, code: ErrorCode = ErrorCode.SYNTAX_ERROR) -> ProcessionError:
        """A located error."""
        return ProcessionError(code, message, location=self.locate(node))

    def planning_error(self, node: Any, message: str, code: ErrorCode) -> ProcessionError:
        """An error of Presto's planner, which names the place in its text alone."""
        return placed_in_text(code, message, self.locate(node))

    def unsupported(self, node: Any, what: str) -> ProcessionError:
        """A located NOT_SUPPORTED."""
        return self.error(node, f"{what} is not supported", ErrorCode.NOT_SUPPORTED)

    def only(self, node: Any, *names: str) -> None:
        """Refuses a node that says more than the arguments named, so that nothing is silently dropped."""
        for name, value in node.args.items():
            if value and name not in names:
                raise self.unsupported(node, f"{type(node).__name__.upper()} with {name.strip('_')}")

    def variable_names(self) -> frozenset[str]:
        """The names of the variables that an expression here may read."""
        found = {v.name for v in self.lambdas.values()}
        scope: Scope | None = self.scope
        while scope is not None:
            found |= {f.variable.name for f in scope.fields}
            scope = scope.parent
        return frozenset(found)

    def inside_lambda(self, variables: Mapping[str, Variable]) -> Context:
        """The context of a lambda's body."""
        return replace(self, lambdas={**self.lambdas, **variables})


def placed_in_text(code: ErrorCode, message: str, location: ErrorLocation | None) -> ProcessionError:
    """An error that says its place in the text and has no ``errorLocation``."""
    place = "" if location is None else f"line {location.line}:{location.column}: "
    return ProcessionError(code, place + message)


def _from_meta(node: Any) -> ErrorLocation | None:
    found = [n.meta for n in node.walk() if n.meta and "start" in n.meta]
    if not found:
        return None
    first = min(found, key=lambda meta: meta["start"])
    return ErrorLocation(first["line"], max(1, first["col"] - (first["end"] - first["start"])))
