"""What analyzing one expression needs to know, and its located errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from coordinator.analyzer.scope import Scope
from coordinator.kernels.functions.zones import zone_of
from coordinator.sql.tree.expressions import (
    ExistsPredicate,
    Expression,
    FunctionCall,
    GroupingOperation,
    InPredicate,
    QuantifiedComparisonExpression,
    SubqueryExpression,
)
from coordinator.sql.tree.node import Node
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.expressions import Call, RowExpression, SourceLocation, Variable
from shared.spi.session import Session


class SortItem(Struct, frozen=True):
    """One analyzed item of an ORDER BY."""

    expression: RowExpression
    order: str


class SubexpressionCollector(Protocol):
    """Takes out of expressions what becomes plan nodes; each method gives the variable that stands for it."""

    def aggregate(
        self,
        node: FunctionCall,
        call: Call,
        *,
        distinct: bool,
        condition: RowExpression | None,
        order: tuple[SortItem, ...],
    ) -> RowExpression: ...

    def window(self, node: FunctionCall, context: Context) -> RowExpression: ...

    def scalar_subquery(self, node: SubqueryExpression, context: Context) -> RowExpression: ...

    def exists(self, node: ExistsPredicate, context: Context) -> RowExpression: ...

    def in_subquery(
        self,
        node: InPredicate | QuantifiedComparisonExpression,
        value: RowExpression,
        query: SubqueryExpression,
        context: Context,
    ) -> RowExpression: ...

    def quantified(
        self, node: QuantifiedComparisonExpression, value: RowExpression, context: Context
    ) -> RowExpression: ...

    def grouping(self, node: GroupingOperation, arguments: tuple[RowExpression, ...]) -> RowExpression: ...


class Context(Struct, frozen=True):
    """``clause`` names the place for the error of a misplaced aggregation.

    ``collector`` is None where neither aggregates nor subqueries may stand. ``columns`` are the variables that are
    columns of tables: each reference to one has its own place, other variables stand where they are made. It is None
    where the plan keeps no places, as for the query of a view.
    """

    session: Session
    scope: Scope = Scope()
    collector: SubexpressionCollector | None = None
    clause: str = "expression"
    lambdas: Mapping[str, Variable] = field(default_factory=dict)
    parameters: tuple[RowExpression, ...] = ()
    columns: set[str] | None = None
    references: set[str] = field(default_factory=set)
    """The names of the variables that names of columns meant so far."""
    reserved: frozenset[str] = frozenset()
    """Names of variables around it, which nothing in the expression can mean."""

    @property
    def zone(self) -> tzinfo:
        """The session's time zone."""
        found: tzinfo = zone_of(self.session.time_zone)
        return found

    def locate(self, node: Node) -> ErrorLocation:
        """Where Presto points for ``node``."""
        return ErrorLocation(node.location.line, node.location.column)

    def place(self, node: Node) -> SourceLocation | None:
        """The same for plan nodes and expressions; None where the plan keeps no places."""
        return None if self.columns is None else node.location

    def error(self, node: Node, message: str, code: ErrorCode = ErrorCode.SYNTAX_ERROR) -> ProcessionError:
        """A located error."""
        return ProcessionError(code, message, location=self.locate(node))

    def planning_error(self, node: Node, message: str, code: ErrorCode) -> ProcessionError:
        """An error of Presto's planner, which names the place in its text alone."""
        return placed_in_text(code, message, self.locate(node))

    def unsupported(self, node: Node, what: str) -> ProcessionError:
        """A located NOT_SUPPORTED."""
        return self.error(node, f"{what} is not supported", ErrorCode.NOT_SUPPORTED)

    def variable_names(self) -> frozenset[str]:
        """The names of the variables that an expression here may read, or that stand around it."""
        found = {v.name for v in self.lambdas.values()} | self.reserved
        scope: Scope | None = self.scope
        while scope is not None:
            found |= {f.variable.name for f in scope.fields}
            scope = scope.parent
        return frozenset(found)

    def inside_lambda(self, variables: Mapping[str, Variable]) -> Context:
        """The context of a lambda's body."""
        return replace(self, lambdas={**self.lambdas, **variables})


Analyze = Callable[[Expression, Context], RowExpression]
"""``expressions.analyze_expression``, for the forms that hold expressions."""


def placed_in_text(code: ErrorCode, message: str, location: ErrorLocation | None) -> ProcessionError:
    """An error that says its place in the text and has no ``errorLocation``."""
    place = "" if location is None else f"line {location.line}:{location.column}: "
    return ProcessionError(code, place + message)
