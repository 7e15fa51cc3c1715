"""What an engine lacks, as a call of the Python kernels: an expression as a program over the columns it reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from coordinator.analyzer.builders import NAMESPACE, typed, value_of
from coordinator.engine.python_functions import python_function, python_functions
from coordinator.engine.spark.kernels.functions.library import LIBRARY
from coordinator.unparser.refusals import unsupported
from coordinator.unparser.session_zone import session_zone
from coordinator.unparser.trees import call, cast, text
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, StaticFunctionHandle, Variable
from shared.plan.types import UNBOUNDED_LENGTH, Type

VOLATILE = frozenset(["rand", "random", "secure_rand", "secure_random", "shuffle", "uuid"])
_CASTS = ("$operator$cast", "try_cast")
Unparse = Callable[[RowExpression, str], Any]


def runs_in_python(function: str) -> bool:
    """Whether the kernels have the function."""
    return function in LIBRARY


def python_call(node: RowExpression, dialect: str, unparse: Unparse) -> Any:
    """The engine's call of the program of ``node``. Raises NOT_SUPPORTED for a function that the kernels lack too."""
    build = _Builder(dialect)
    expression = build.expression(node, frozenset())
    program = {
        "zone": session_zone(),
        "columns": [_passed(typed(c), dialect) for c in build.columns],
        "result": _passed(typed(node), dialect),
        "volatile": build.volatile,
        "expression": expression,
    }
    # What is computed is told its type, which the engine may see otherwise.
    arguments = [
        unparse(c, dialect) if isinstance(c, Variable) else cast(unparse(c, dialect), typed(c), dialect)
        for c in build.columns
    ]
    name = python_function(typed(node), volatile=build.volatile)
    return call(name, text(json.dumps(program, separators=(",", ":"))), *arguments)


def constant_program(node: RowExpression) -> dict[str, Any] | None:
    """The program of an expression that reads no column; None when it does, is volatile or needs an engine."""
    build = _Builder("duckdb")
    expression = build.expression(node, frozenset())
    if build.columns or build.volatile:
        return None
    kind = encoded_type(typed(node))
    return {"zone": session_zone(), "columns": [], "result": kind, "expression": expression}


@dataclass(frozen=True, slots=True)
class RowProgram:
    """A program and the columns that it reads, in its order."""

    program: dict[str, Any]
    columns: tuple[Variable, ...]


def row_program(node: RowExpression) -> RowProgram | None:
    """The program of an expression over columns; None when it needs an engine. Raises NOT_SUPPORTED likewise."""
    build = _Builder("duckdb")
    expression = build.expression(node, frozenset())
    columns = tuple(c for c in build.columns if isinstance(c, Variable))
    if len(columns) < len(build.columns) or build.volatile:
        return None
    kinds = [encoded_type(typed(c)) for c in columns]
    program = {"zone": session_zone(), "columns": kinds, "result": encoded_type(typed(node)), "expression": expression}
    return RowProgram(program, columns)


def calls_python(tree: Any) -> bool:
    """Whether an engine's tree calls a program anywhere."""
    return any(
        str(node.this).lower().startswith(("procession_eval_", "procession_vary_"))
        if isinstance(node, exp.Anonymous)
        else isinstance(node, exp.Var) and bool(python_functions(str(node.this)))
        for node in tree.walk()
    )


def aggregate_program(
    function: str, kinds: tuple[Type, ...], result: Type, collected: Any, lambdas: list[Any], dialect: str
) -> Any:
    """The call that folds an array of rows, one a row of the group, by an aggregate of the kernels."""
    column = ["array", ["row", *([f"v{i}", encoded_type(k)] for i, k in enumerate(kinds))]]
    types = [column, *([["function"]] * len(lambdas))]
    body = ["call", function, encoded_type(result), types, [["column", 0], *lambdas]]
    program = {
        "zone": session_zone(),
        "columns": [column if dialect != "spark" else _clocks(column)],
        "result": _passed(result, dialect),
        "expression": body,
    }
    return call(python_function(result, volatile=False), text(json.dumps(program, separators=(",", ":"))), collected)


def lambda_program(node: Lambda, dialect: str) -> list[Any]:
    """A lambda that reads nothing but its own parameters."""
    build = _Builder(dialect)
    made = build.expression(node, frozenset())
    if build.columns:
        raise unsupported("A lambda over columns in an aggregate", dialect)
    return made


class _Builder:
    def __init__(self, dialect: str) -> None:
        self.columns: list[RowExpression] = []
        self.volatile = False
        self._dialect = dialect
        self._tried = 0

    def expression(self, node: RowExpression, parameters: frozenset[str]) -> list[Any]:
        match node:
            case Variable():
                return ["parameter", node.name] if node.name in parameters else self._column(node)
            case Constant():
                kind = typed(node)
                return ["constant", encoded(value_of(node), kind), encoded_type(kind)]
            case Lambda():
                names = list(node.arguments)
                return ["lambda", names, self.expression(node.body, parameters | set(names))]
            case SpecialForm():
                return self._form(node, parameters)
            case Call():
                return self._call(node, parameters)

    def _column(self, node: RowExpression) -> list[Any]:
        if node not in self.columns:
            self.columns.append(node)
        return ["column", self.columns.index(node)]

    def _form(self, node: SpecialForm, parameters: frozenset[str]) -> list[Any]:
        if node.form == "DEREFERENCE":
            index = node.arguments[1]
            assert isinstance(index, Constant)
            inner = [self.expression(node.arguments[0], parameters), ["constant", value_of(index), ["integer"]]]
        else:
            inner = [self.expression(a, parameters) for a in node.arguments]
        return ["form", node.form, encoded_type(typed(node)), inner]

    def _call(self, node: Call, parameters: frozenset[str]) -> list[Any]:
        handle = node.functionHandle
        if not isinstance(handle, StaticFunctionHandle):
            raise unsupported(f"Function {node.displayName}", self._dialect)
        name = handle.signature.name.removeprefix(NAMESPACE)
        if name in _CASTS:
            (inner,) = node.arguments
            source, target = encoded_type(typed(inner)), encoded_type(typed(node))
            return ["cast", name == "try_cast", source, target, self.expression(inner, parameters)]
        if name == "$internal$try":
            thunk = node.arguments[0]
            assert isinstance(thunk, Lambda)
            self._tried += 1
            tried = ["try", self.expression(thunk.body, parameters)]
            self._tried -= 1
            return tried
        if name == "typeof":
            return ["constant", _shown(typed(node.arguments[0])), ["varchar"]]
        if name not in LIBRARY:
            if self._tried or _reads(node, parameters):
                raise unsupported(f"Function {name}", self._dialect)
            return self._column(node)
        self.volatile |= name in VOLATILE
        kinds = [["function"] if isinstance(a, Lambda) else encoded_type(typed(a)) for a in node.arguments]
        return [
            "call",
            name,
            encoded_type(typed(node)),
            kinds,
            [self.expression(a, parameters) for a in node.arguments],
        ]


def _shown(kind: Type) -> str:
    from coordinator.analyzer.types import displayed

    return displayed(kind)


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


def encoded_type(kind: Type) -> list[Any]:
    """The JSON form that ``kernels.functions.kinds.kind_of`` reads."""
    if kind.base == "row":
        return ["row", *([f.name or "", encoded_type(f.type)] for f in kind.fields)]
    if kind.base == "varchar" and kind.numbers == (UNBOUNDED_LENGTH,):
        return ["varchar"]
    parameters = (p for p in kind.parameters if isinstance(p, int | Type))
    return [kind.base, *(p if isinstance(p, int) else encoded_type(p) for p in parameters)]


def _passed(kind: Type, dialect: str) -> list[Any]:
    """As the engine passes it: Spark has no type for a time of day, which is text there."""
    made = encoded_type(kind)
    return made if dialect != "spark" else _clocks(made)


def _clocks(made: Any) -> Any:
    if made == ["time"]:
        return ["clock"]
    return [_clocks(m) if isinstance(m, list) else m for m in made]


def encoded(value: Any, kind: Type) -> Any:
    """A constant in the JSON form that ``kernels.functions.kinds.decoded`` reads."""
    if value is None:
        return None
    match kind.base:
        case "double" | "real" | "decimal":
            return f"{value:f}" if isinstance(value, Decimal) else repr(value)
        case "varbinary":
            return value.hex()
        case "timestamp with time zone":
            zone = getattr(value.tzinfo, "key", None) or _offset(value)
            return [value.isoformat(), zone]
        case "array":
            return [encoded(v, kind.arguments[0]) for v in value]
        case "row":
            return [encoded(v, a) for v, a in zip(value, kind.arguments, strict=True)]
        case "map":
            key, item = kind.arguments
            return [[encoded(k, key), encoded(v, item)] for k, v in value.items()]
        case _ if isinstance(value, timedelta):
            return value // timedelta(milliseconds=1)
        case _ if isinstance(value, bool | int | str):
            return value
        case "time with time zone":
            from coordinator.unparser.constants import time_text

            return time_text(value)
        case "date" | "time" | "timestamp":
            return value.isoformat()
        case _:
            return str(value)


def _offset(value: datetime) -> str:
    offset = value.utcoffset() or timedelta()
    minutes = offset // timedelta(minutes=1)
    return "UTC" if not minutes else f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
