"""Expressions as programs of the Python kernels, which alone know what Presto's expressions mean.

The language is that of ``coordinator.kernels.functions.program``.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from coordinator.expressions.builders import NAMESPACE, constant, operator, special, typed, value_of
from coordinator.expressions.kernel_values import to_kernel
from coordinator.expressions.types import BOOLEAN, TIME_TZ, displayed
from coordinator.kernels.functions.library import LIBRARY
from coordinator.kernels.functions.zones import zone_name
from shared.errors import ProcessionError
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, StaticFunctionHandle, Variable
from shared.plan.traversal import walk_expression
from shared.plan.types import Type

VOLATILE = frozenset(
    ["rand", "random", "secure_rand", "secure_random", "shuffle", "uuid", "merge_sfm", "noisy_empty_approx_set_sfm"]
)
"""Functions of chance, which give another value each time."""
_CASTS = ("$operator$cast", "try_cast")
Refuse = Callable[[str], ProcessionError]
ByEngine = Callable[[RowExpression, RowExpression, bool], bool]
"""Whether the engine computes an argument of a call; the last tells whether that is tried."""


def asks_chance(expression: RowExpression) -> bool:
    """Whether an expression has another value each time that it is computed."""
    return any(isinstance(e, Call) and e.displayName.lower() in VOLATILE for e in walk_expression(expression))


_LAZY = ("IF", "SWITCH", "WHEN", "COALESCE", "AND", "OR")
"""Forms that may leave out what follows the first argument."""


class ProgramBuilder:
    """Builds the steps of expressions that share their ``columns``: variables, and calls that only an engine knows."""

    def __init__(self, refuse: Refuse, by_engine: ByEngine | None = None) -> None:
        self.columns: list[RowExpression] = []
        self.volatile = False
        self._refuse, self._by_engine = refuse, by_engine
        self._tried = 0
        self._lazy = 0

    def expression(self, node: RowExpression, parameters: frozenset[str] = frozenset()) -> list[Any]:
        """The steps; ``parameters`` are those of the lambdas around. Raises what ``refuse`` makes."""
        match node:
            case Variable():
                return ["parameter", node.name] if node.name in parameters else self._column(node)
            case Constant():
                type_ = typed(node)
                return ["constant", encoded(value_of(node), type_), str(type_)]
            case Lambda():
                names = list(node.arguments)
                return ["lambda", names, self._perhaps(node.body, parameters | set(names))]
            case SpecialForm():
                return self._form(node, parameters)
            case Call():
                return self._call(node, parameters)

    def _column(self, node: RowExpression) -> list[object]:
        if node not in self.columns:
            self.columns.append(node)
        return ["column", self.columns.index(node)]

    def _form(self, node: SpecialForm, parameters: frozenset[str]) -> list[object]:
        if node.form == "DEREFERENCE":
            index = node.arguments[1]
            assert isinstance(index, Constant)
            inner = [self.expression(node.arguments[0], parameters), ["constant", value_of(index), "integer"]]
        else:
            node = _with_operators(node)
            lazy = node.form in _LAZY
            inner = [
                (self._perhaps if lazy and place else self.expression)(argument, parameters)
                for place, argument in enumerate(node.arguments)
            ]
        return ["form", node.form, str(typed(node)), inner]

    def _perhaps(self, node: RowExpression, parameters: frozenset[str]) -> list[object]:
        """The steps of what is not computed for every row: an engine's column would be, and could fail."""
        self._lazy += 1
        made = self.expression(node, parameters)
        self._lazy -= 1
        return made

    def _call(self, node: Call, parameters: frozenset[str]) -> list[Any]:
        handle = node.functionHandle
        if not isinstance(handle, StaticFunctionHandle):
            raise self._refuse(f"Function {node.displayName}")
        name = handle.signature.name.removeprefix(NAMESPACE)
        if name in _CASTS:
            (inner,) = node.arguments
            source, target = str(typed(inner)), str(typed(node))
            return ["cast", name == "try_cast", source, target, self._argument(node, inner, parameters)]
        if name == "$internal$try":
            thunk = node.arguments[0]
            assert isinstance(thunk, Lambda)
            self._tried += 1
            tried = ["try", self.expression(thunk.body, parameters)]
            self._tried -= 1
            return tried
        if name == "typeof":
            return ["constant", displayed(typed(node.arguments[0])), "varchar"]
        if name not in LIBRARY:
            if self._tried or _reads(node, parameters):
                raise self._refuse(f"Function {name}")
            return self._column(node)
        self.volatile |= name in VOLATILE
        types = ["function" if isinstance(a, Lambda) else str(typed(a)) for a in node.arguments]
        return [
            "call",
            name,
            str(typed(node)),
            types,
            [self._argument(node, a, parameters) for a in node.arguments],
        ]

    def _argument(self, call: Call, node: RowExpression, parameters: frozenset[str]) -> list[object]:
        own = self._by_engine is not None and self._by_engine(call, node, self._tried + self._lazy > 0)
        return self._column(node) if own and not _reads(node, parameters) else self.expression(node, parameters)


def _with_operators(form: SpecialForm) -> SpecialForm:
    """IN, NULL_IF and SWITCH of times with zones, whose texts differ where they are equal, by their operator."""
    if form.form not in ("IN", "NULL_IF", "SWITCH") or typed(form.arguments[0]) != TIME_TZ:
        return form
    value, *others = form.arguments
    type_ = typed(form)
    match form.form:
        case "IN":
            tests = [operator("=", (value, other), BOOLEAN) for other in others]
            return special("OR", BOOLEAN, *tests)
        case "NULL_IF":
            return special("IF", type_, operator("=", (value, others[0]), BOOLEAN), constant(None, type_), value)
        case _:
            whens = []
            for when in others[:-1]:
                assert isinstance(when, SpecialForm)
                test = operator("=", (value, when.arguments[0]), BOOLEAN)
                whens.append(special("WHEN", type_, test, when.arguments[1]))
            return special("SWITCH", type_, constant(True, BOOLEAN), *whens, others[-1])


def _reads(node: RowExpression, parameters: frozenset[str]) -> bool:
    match node:
        case Variable():
            return node.name in parameters
        case Lambda():
            return _reads(node.body, parameters)
        case Call() | SpecialForm():
            return any(_reads(a, parameters) for a in node.arguments)
        case _:
            return False


def encoded(value: object, type_: Type) -> object:
    """A constant in the JSON form that ``kernels.functions.arrow_forms.decoded`` reads."""
    return _encoded(to_kernel(value, type_), type_)


def _encoded(value: Any, type_: Type) -> object:
    if value is None:
        return None
    match type_.base:
        case "double" | "real" | "decimal":
            return f"{value:f}" if isinstance(value, Decimal) else repr(value)
        case "timestamp with time zone":
            return [value.isoformat(), zone_name(value.tzinfo)]
        case "array":
            return [_encoded(v, type_.arguments[0]) for v in value]
        case "row":
            return [_encoded(v, a) for v, a in zip(value, type_.arguments, strict=True)]
        case "map":
            key, item = type_.arguments
            return [[_encoded(k, key), _encoded(v, item)] for k, v in value.items()]
        case "date" | "time" | "timestamp":
            return value.isoformat()
        case _ if isinstance(value, bytes):
            return value.hex()
        case _:
            return value
