"""Plans under construction: the current node, its fields, and the nodes put on top of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from coordinator.analyzer.context import SortItem
from coordinator.analyzer.scope import Names, ScopeField
from shared.plan.expressions import (
    Call,
    Constant,
    Lambda,
    RowExpression,
    SourceLocation,
    SpecialForm,
    Variable,
    type_of,
)
from shared.plan.nodes import (
    Assignments,
    FilterNode,
    Ordering,
    OrderingScheme,
    PlanNode,
    ProjectNode,
    ValuesNode,
)
from shared.plan.traversal import output_variables


@dataclass(slots=True)
class Ids:
    """Gives out plan node ids and variable names, each once in a plan."""

    next_node: int = 0
    names: Names = field(default_factory=Names)
    guards: set[str] = field(default_factory=set)
    """Projections above row filters, which hide the values of the rows that the filter hides."""

    def node(self) -> str:
        """A new node id."""
        self.next_node += 1
        return str(self.next_node - 1)

    def variable(self, hint: str, type_text: str, place: SourceLocation | None = None) -> Variable:
        """A new variable."""
        return self.names.variable(hint, type_text, place)


class RelationPlan(Struct, frozen=True):
    """A relation: its plan and the fields that names can mean, in order."""

    node: PlanNode
    fields: tuple[ScopeField, ...]

    @property
    def visible(self) -> tuple[ScopeField, ...]:
        return tuple(f for f in self.fields if not f.hidden)


def with_own_variables(ids: Ids, plan: RelationPlan) -> RelationPlan:
    """The plan with a variable of its own for each column: what tells two columns apart afterwards is the variable."""
    seen: set[Variable] = set()
    fields: list[ScopeField] = []
    copies: dict[str, RowExpression] = {}
    for field_ in plan.fields:
        variable = field_.variable
        if variable in seen:
            variable = ids.variable(field_.name or variable.name, variable.type, variable.sourceLocation)
            copies[variable.key] = field_.variable
        seen.add(variable)
        fields.append(ScopeField(field_.name, variable, field_.relation, field_.hidden))
    if not copies:
        return plan
    builder = Builder(ids, plan.node)
    builder.project({v.key: v for v in output_variables(plan.node)} | copies)
    return RelationPlan(builder.node, tuple(fields))


@dataclass(slots=True)
class Builder:
    """The plan of one query block while it grows upwards."""

    ids: Ids
    node: PlanNode

    def filter(self, predicate: RowExpression) -> None:
        """Keeps the rows for which ``predicate`` is true."""
        self.node = FilterNode(id=self.ids.node(), source=self.node, predicate=predicate)

    def add(self, expressions: Iterable[tuple[RowExpression, str]]) -> list[Variable]:
        """Variables of the expressions (with name hints), computed on top where they are not columns already.

        A variable of a query around this one is no column: it gets a name of its own, which the subquery computes.
        """
        wanted: list[Variable] = []
        computed: dict[RowExpression, Variable] = {}
        own = set(output_variables(self.node))
        for expression, hint in expressions:
            if isinstance(expression, Variable) and expression in own:
                wanted.append(expression)
                continue
            if expression not in computed:
                computed[expression] = self.ids.variable(hint, type_of(expression), expression.sourceLocation)
            wanted.append(computed[expression])
        if computed:
            kept: dict[str, RowExpression] = {v.key: v for v in output_variables(self.node)}
            self.project(kept | {v.key: e for e, v in computed.items()})
        return wanted

    def add_each(self, expressions: Iterable[tuple[RowExpression, str]]) -> list[Variable]:
        """As ``add``, with a variable of its own for each expression, also where two are the same."""
        wanted, copies = self.add(expressions), dict[str, RowExpression]()
        for position, variable in enumerate(wanted):
            if variable in wanted[:position]:
                wanted[position] = self.ids.variable(variable.name, variable.type, variable.sourceLocation)
                copies[wanted[position].key] = variable
        if copies:
            self.project({v.key: v for v in output_variables(self.node)} | copies)
        return wanted

    def project(self, assignments: Mapping[str, RowExpression]) -> None:
        """Exactly the assigned variables."""
        self.node = ProjectNode(
            id=self.ids.node(),
            source=self.node,
            assignments=Assignments(assignments=dict(assignments)),
            locality="LOCAL",
        )

    def ordering(self, items: Sequence[SortItem]) -> OrderingScheme:
        """The ordering by expressions, computed on top where needed; an expression counts once."""
        variables = self.add((item.expression, "sortkey") for item in items)
        seen: dict[str, Ordering] = {}
        for variable, item in zip(variables, items, strict=True):
            seen.setdefault(variable.name, Ordering(variable=variable, sortOrder=item.order))  # type: ignore[arg-type]
        return OrderingScheme(orderBy=tuple(seen.values()))


def single_row(ids: Ids) -> ValuesNode:
    """The relation of a query without FROM: one row without columns."""
    return ValuesNode(id=ids.node(), outputVariables=(), rows=((),))


def variable_of_key(key: str) -> Variable:
    """The inverse of ``Variable.key``."""
    name, _, rest = key.partition("<")
    return Variable(name=name, type=rest[:-1])


def replace(expression: RowExpression, mapping: Mapping[RowExpression, RowExpression]) -> RowExpression:
    """``expression`` with every outermost occurrence of a key replaced."""
    if not mapping:
        return expression
    found = mapping.get(expression)
    if found is not None:
        return found
    match expression:
        case Variable() | Constant():
            return expression
        case Call():
            arguments = tuple(replace(a, mapping) for a in expression.arguments)
            if all(a is b for a, b in zip(arguments, expression.arguments, strict=True)):
                return expression
            return Call(
                sourceLocation=expression.sourceLocation,
                displayName=expression.displayName,
                functionHandle=expression.functionHandle,
                returnType=expression.returnType,
                arguments=arguments,
            )
        case SpecialForm():
            arguments = tuple(replace(a, mapping) for a in expression.arguments)
            if all(a is b for a, b in zip(arguments, expression.arguments, strict=True)):
                return expression
            return SpecialForm(
                sourceLocation=expression.sourceLocation,
                form=expression.form,
                returnType=expression.returnType,
                arguments=arguments,
            )
        case Lambda():
            return Lambda(
                sourceLocation=expression.sourceLocation,
                argumentTypes=expression.argumentTypes,
                arguments=expression.arguments,
                body=replace(expression.body, mapping),
            )


def free_variables(expression: RowExpression) -> set[Variable]:
    """The variables that an expression reads, without the parameters of its lambdas."""
    found: set[Variable] = set()
    stack: list[tuple[RowExpression, frozenset[str]]] = [(expression, frozenset())]
    while stack:
        current, bound = stack.pop()
        match current:
            case Variable():
                if current.name not in bound:
                    found.add(current)
            case Call() | SpecialForm():
                stack.extend((a, bound) for a in current.arguments)
            case Lambda():
                stack.append((current.body, bound | set(current.arguments)))
            case Constant():
                pass
    return found
