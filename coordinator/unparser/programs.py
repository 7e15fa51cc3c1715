"""What an engine lacks, as a call of the Python kernels: an expression as a program over the columns it reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from sqlglot import exp

from coordinator.expressions.builders import typed
from coordinator.expressions.programs import ByEngine, ProgramBuilder
from coordinator.kernels.functions.library import LIBRARY
from coordinator.unparser.refusals import unsupported
from coordinator.unparser.session_zone import session_zone
from coordinator.unparser.trees import call, cast, text
from coordinator.values.python_functions import python_function, python_functions
from shared.plan.expressions import Lambda, RowExpression, Variable
from shared.plan.types import Field, Type

Unparse = Callable[[RowExpression, str], exp.Expr]
_CALLED = ContextVar[list[str] | None]("called_programs", default=None)


def _builder(dialect: str, by_engine: ByEngine | None = None) -> ProgramBuilder:
    return ProgramBuilder(lambda what: unsupported(what, dialect), by_engine)


def runs_in_python(function: str) -> bool:
    """Whether the kernels have the function."""
    return function in LIBRARY


def python_call(
    node: RowExpression, dialect: str, unparse: Unparse, *, rare: bool = False, by_engine: ByEngine | None = None
) -> exp.Expr:
    """The engine's call of the program of ``node``, ``rare`` where few rows need it.

    ``by_engine`` tells which arguments of which calls in it are columns that the engine computes.

    Raises NOT_SUPPORTED for a function that the kernels lack too.
    """
    build = _builder(dialect, by_engine)
    expression = build.expression(node)
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
    passed = map(typed, build.columns)
    name = python_function(typed(node), volatile=build.volatile, rare=rare, arguments=passed)
    return _call(name, program, arguments, rare=rare)


def constant_program(node: RowExpression) -> dict[str, object] | None:
    """The program of an expression that reads no column; None when it does, is volatile or needs an engine."""
    build = _builder("duckdb")
    expression = build.expression(node)
    if build.columns or build.volatile:
        return None
    type_ = str(typed(node))
    return {"zone": session_zone(), "columns": [], "result": type_, "expression": expression}


@dataclass(frozen=True, slots=True)
class RowProgram:
    """A program and the columns that it reads, in its order."""

    program: Mapping[str, object]
    columns: tuple[Variable, ...]


def row_program(node: RowExpression) -> RowProgram | None:
    """The program of an expression over columns; None when it needs an engine. Raises NOT_SUPPORTED likewise."""
    build = _builder("duckdb")
    expression = build.expression(node)
    columns = tuple(c for c in build.columns if isinstance(c, Variable))
    if len(columns) < len(build.columns) or build.volatile:
        return None
    types = [str(typed(c)) for c in columns]
    program = {"zone": session_zone(), "columns": types, "result": str(typed(node)), "expression": expression}
    return RowProgram(program, columns)


_KINDS = tuple(f"procession_{kind}_" for kind in ("eval", "vary", "rare", "few"))


def calls_python(tree: exp.Expr) -> bool:
    """Whether an engine's tree calls a program anywhere."""
    return any(
        str(node.this).lower().startswith(_KINDS)
        if isinstance(node, exp.Anonymous)
        else isinstance(node, exp.Var) and bool(python_functions(str(node.this)))
        for node in tree.walk()
    )


def aggregate_program(
    function: str,
    found_types: tuple[Type, ...],
    result: Type,
    collected: exp.Expr,
    lambdas: Sequence[object],
    dialect: str,
    *,
    distinct: bool = False,
) -> exp.Expr:
    """The call that folds an array of rows, one a row of the group, by an aggregate of the kernels.

    ``distinct``: of equal rows one, which are equal as Presto's values are.
    """
    column = Type("array", (Type("row", tuple(Field(f"v{i}", k) for i, k in enumerate(found_types))),))
    types = [str(column), *(["function"] * len(lambdas))]
    rows: list[object] = ["column", 0]
    if distinct:
        rows = ["call", "array_distinct", str(column), [str(column)], [rows]]
    body = ["call", function, str(result), types, [rows, *lambdas]]
    program = {
        "zone": session_zone(),
        "columns": [_passed(column, dialect)],
        "result": _passed(result, dialect),
        "expression": body,
    }
    return _call(python_function(result, volatile=False), program, (collected,))


def kernel_call(
    function: str, types: tuple[Type, ...], result: Type, arguments: Sequence[exp.Expr], dialect: str
) -> exp.Expr:
    """A call of one function of the kernels over an engine's trees."""
    columns = [["column", i] for i in range(len(types))]
    program = {
        "zone": session_zone(),
        "columns": [_passed(type_, dialect) for type_ in types],
        "result": _passed(result, dialect),
        "expression": ["call", function, str(result), [_passed(type_, dialect) for type_ in types], columns],
    }
    return _call(python_function(result, volatile=False), program, arguments)


def _call(
    function: str, program: Mapping[str, object], arguments: Sequence[exp.Expr], *, rare: bool = False
) -> exp.Expr:
    """What every call of a program is made by."""
    if not rare and (called := _CALLED.get()) is not None:
        called.append(function)
    return call(function, text(json.dumps(program, separators=(",", ":"))), *arguments)


@contextmanager
def called_programs() -> Iterator[Sequence[str]]:
    """The functions of the programs that trees get meanwhile, but of rare ones: those that ``program_names`` tells of.

    Without any, no text has to be looked through.
    """
    called: list[str] = []
    token = _CALLED.set(called)
    try:
        yield called
    finally:
        _CALLED.reset(token)


def lambda_program(node: Lambda, dialect: str) -> list[object]:
    """A lambda that reads nothing but its own parameters."""
    build = _builder(dialect)
    made = build.expression(node)
    if build.columns:
        raise unsupported("A lambda over columns in an aggregate", dialect)
    return made


def _passed(type_: Type, dialect: str) -> str:
    """As the engine passes it: Spark has no type for a time of day, which is text there."""
    return str(type_ if dialect != "spark" else _clocks(type_))


def _clocks(type_: Type) -> Type:
    return Type("clock") if type_.base == "time" else Type(type_.base, tuple(map(_clocks_within, type_.parameters)))


def _clocks_within(parameter: int | Type | Field) -> int | Type | Field:
    match parameter:
        case Field():
            return replace(parameter, type=_clocks(parameter.type))
        case Type():
            return _clocks(parameter)
        case _:
            return parameter
