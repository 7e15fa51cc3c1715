"""Evaluates expressions of Presto, a batch of rows at a time.

A program is JSON: ``{"zone": …, "columns": [type…], "result": type, "volatile": bool, "expression": …}``. An
expression is a list whose first item says what it is:

- ``["column", i]``: the value of argument ``i``
- ``["parameter", name]``: of a lambda around it
- ``["constant", value, type]``
- ``["call", function, result type, [argument types], [expressions]]``
- ``["form", SPECIAL_FORM, result type, [expressions]]``
- ``["cast", attempt, source, target, expression]``
- ``["try", expression]``
- ``["lambda", [names], expression]``

Compiled once to closures over a frame: a list of the row's values and the lambdas' parameters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import tzinfo
from math import isnan
from time import perf_counter
from typing import Any

import pyarrow as pa

from ..errors import KernelError
from ..kept import kept
from ..types import Type, parse_type
from .aggregates import COLUMN_FOLDS, FAST_FOLDS, GROUP_FOLDS
from .arrow_forms import arrow_type, decoded, reader, writer
from .bounds import watched
from .casts import caster
from .column_folds import ColumnFold, GroupFold, of_groups
from .compare import equal
from .failures import TRIED, own_faults, unsupported
from .library import LIBRARY
from .patience import deadline, look
from .sketches.hyperloglog_functions import xx_hash_column
from .table import Function, Signature
from .timestamp_columns import column_program
from .zones import zone_of

Frame = list[object]
Step = Callable[[Frame], Any]
_TURNS_BETWEEN_LOOKS = 16
_SECONDS_BETWEEN_LOOKS = 0.05
"""A row may take a second, or a microsecond."""


def evaluate(*given: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The program in the first column's text, over the others; as many rows as they have. Raises KernelError."""
    columns = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in given]
    program = compiled(columns[0][0].as_py())
    with own_faults():
        return program.run(columns[1:], len(columns[0]))


def evaluate_row(*given: object) -> object:
    """The program in the first text over the values of one row, as Arrow's ``to_pylist`` gives them.

    NaN comes as text, which DuckDB reads: it takes Python's own for NULL. Raises KernelError.
    """
    program = compiled(str(given[0]))
    with own_faults():
        result = program.run_row(given[1:])
    return "NaN" if isinstance(result, float) and isnan(result) else result


def _listed(column: pa.Array) -> list[object]:
    try:
        found: list[object] = column.to_pylist()
    except (OverflowError, ValueError) as error:
        # Python's dates end there; Arrow, Spark and DuckDB go on.
        raise unsupported("Functions over dates and timestamps outside of the years 1 to 9999") from error
    return found


class Program:
    """A compiled program."""

    def __init__(self, text: str) -> None:
        source = json.loads(text)
        self._readers = [reader(parse_type(t)) for t in source["columns"]]
        result = parse_type(source["result"])
        self._write, self._type, self._result = writer(result), arrow_type(result), str(result)
        self._volatile = bool(source.get("volatile"))
        compiler = _Compiler(len(self._readers), zone_of(source["zone"]))
        self._step = compiler.step(source["expression"])
        self._width = compiler.width
        self._clock = compiler.clock
        self._fold = _column_fold(source["expression"])
        self._fast_fold = self._fold is not None and source["expression"][1] in FAST_FOLDS
        self._hashed = _hashed_column(source["expression"])
        types = [parse_type(t) for t in source["columns"]]
        self._whole = column_program(source["expression"], types, result, zone_of(source["zone"]))

    @property
    def by_columns(self) -> bool:
        """Whether whole columns are taken, but for odd ones, instead of row by row."""
        return self._fast_fold or self._whole is not None or self._hashed is not None

    def run(self, columns: Sequence[pa.Array], count: int) -> pa.Array:
        """The result of each row."""
        if self._whole is not None and (found := self._whole(columns)) is not None:
            return found
        if self._hashed is not None:
            (column,) = columns
            return xx_hash_column(self._hashed, column)
        if self._fold is not None:
            (groups,), (fold, types, together) = columns, self._fold
            folded = of_groups(fold, types, groups, together)
            return self._array([None if v is None else self._write(v) for v in folded])
        values = [
            [None if v is None else read(v) for v in _listed(column)]
            for read, column in zip(self._readers, columns, strict=True)
        ]
        frame: Frame = [None] * self._width
        results: list[object] = []
        if not values and not self._volatile:
            frame[self._clock] = deadline()
            results = [self._row(frame)] * count
        elif not values:
            results = [self._row(frame) for _ in range(count)]
        else:
            width, following = len(values), 0.0
            for row in zip(*values, strict=True):
                now = perf_counter()
                if now >= following:
                    look(None)
                    following = now + _SECONDS_BETWEEN_LOOKS
                frame[:width] = row
                results.append(self._row(frame))
        return self._array(results)

    def _array(self, results: list[object]) -> pa.Array:
        try:
            return pa.array(results, self._type)
        except MemoryError:  # Arrow's is an ArrowException too
            raise
        except (pa.ArrowException, OverflowError) as error:
            raise KernelError("NUMERIC_VALUE_OUT_OF_RANGE", f"Value out of range for {self._result}") from error

    def run_row(self, values: Sequence[object]) -> object:
        """The result of one row, which its type has room for."""
        look(None)
        frame: Frame = [None if v is None else read(v) for read, v in zip(self._readers, values, strict=True)]
        frame += [None] * (self._width - len(frame))
        result = self._row(frame)
        return result if result is None or isinstance(result, str) else self._array([result])[0].as_py()

    def value(self, row: Iterable[object]) -> Any:
        """The result of one row of Python forms."""
        values = list(row)
        frame = [*values, *[None] * (self._width - len(values))]
        if not values:
            frame[self._clock] = deadline()
        return self._step(frame)

    def _row(self, frame: Frame) -> object:
        value = self._step(frame)
        return None if value is None else self._write(value)


def _column_fold(expression: list[object]) -> tuple[ColumnFold, tuple[Type, ...], GroupFold | None] | None:
    """Of an aggregate over the only column, when whole columns are enough for it."""
    match expression:
        case ["call", str(name), _, [str(type_)], [["column", 0]]] if name in COLUMN_FOLDS:
            return COLUMN_FOLDS[name], parse_type(type_).arguments[0].arguments, GROUP_FOLDS.get(name)
    return None


def _hashed_column(expression: list[object]) -> Type | None:
    """Of the only column, whose hashes are made of the whole of it."""
    match expression:
        case ["call", "$xx_hash_64", _, [str(type_)], [["column", 0]]]:
            return parse_type(type_)
    return None


def evaluated(expression: list[object], zone: tzinfo) -> object:
    """The value, in its Python form, of an expression that reads no column. Raises KernelError."""
    compiler = _Compiler(0, zone)
    step = compiler.step(expression)
    frame: Frame = [None] * compiler.width
    frame[compiler.clock] = deadline()
    return step(frame)


@kept(128, longest=500_000)
def compiled(text: str) -> Program:
    """The program of a text, compiled once a process."""
    return Program(text)


class _Compiler:
    def __init__(self, width: int, zone: tzinfo) -> None:
        self.clock = width
        self.width = width + 1
        self._zone = zone
        self._slots: dict[str, int] = {}

    def step(self, node: list[Any]) -> Step:
        match node:
            case ["column", int(index)]:
                return lambda frame: frame[index]
            case ["parameter", str(name)]:
                slot = self._slots[name]
                return lambda frame: frame[slot]
            case ["constant", value, type_]:
                constant = decoded(value, parse_type(type_))
                return lambda _: constant
            case ["call", str(name), result, types, arguments]:
                return self._call(name, parse_type(result), [parse_type(k) for k in types], arguments)
            case ["form", str(form), _, arguments]:
                return self._form(form, arguments)
            case ["cast", attempt, source, target, argument]:
                return self._cast(bool(attempt), parse_type(source), parse_type(target), argument)
            case ["try", argument]:
                return _tried(self.step(argument))
            case ["lambda", names, body]:
                return self._lambda(names, body)
        raise KernelError("GENERIC_INTERNAL_ERROR", f"No such step: {node[0]}")

    def _lambda(self, names: list[str], body: list[object]) -> Step:
        outer = dict(self._slots)
        slots = range(self.width, self.width + len(names))
        self.width += len(names)
        self._slots.update(zip(names, slots, strict=True))
        inner = self.step(body)
        self._slots = outer
        first, width, clock = slots.start, len(names), self.clock

        def make(frame: Frame) -> Callable[..., object]:
            turns = 0

            def function(*values: object) -> object:
                nonlocal turns
                turns += 1
                if not turns % _TURNS_BETWEEN_LOOKS:
                    look(frame[clock])
                frame[first : first + len(values)] = values
                return inner(frame)

            # ARRAY_SORT takes a key or a comparator.
            function.width = width  # type: ignore[attr-defined]
            return function

        return make

    def _cast(self, attempt: bool, source: Type, target: Type, argument: list[object]) -> Step:
        convert, inner = caster(source, target, self._zone), self.step(argument)

        def converted(value: object) -> object:
            return None if value is None else convert(value)

        tried = _tried(converted) if attempt else converted  # what fails below the cast fails
        return lambda frame: tried(inner(frame))

    def _call(self, name: str, result: Type, types: list[Type], arguments: list[Any]) -> Step:
        function = LIBRARY.get(name)
        if function is None:
            raise KernelError("NOT_SUPPORTED", f"Function {name} is not supported")
        steps = [self.step(a) for a in arguments]
        call = function.call
        if function.typed:
            signature = Signature(tuple(types), result, self._zone)
            inner = call

            def call(*values: object) -> object:
                return inner(signature, *values)

        return _applied(name, result, Function(call, function.nulls), steps)

    def _form(self, form: str, arguments: list[Any]) -> Step:
        if form == "DEREFERENCE":
            base, index = self.step(arguments[0]), int(arguments[1][1])

            def field(frame: Frame) -> object:
                value = base(frame)
                return None if value is None else value[index]

            return field
        if form == "SWITCH":
            return self._switch(arguments)
        return _FORMS[form]([self.step(a) for a in arguments])

    def _switch(self, arguments: list[Any]) -> Step:
        operand = self.step(arguments[0])
        whens = [(self.step(w[3][0]), self.step(w[3][1])) for w in arguments[1:-1]]
        otherwise = self.step(arguments[-1])

        def step(frame: Frame) -> object:
            value = operand(frame)
            if value is not None:
                for condition, result in whens:
                    found = condition(frame)
                    if found is not None and equal(value, found):
                        return result(frame)
            return otherwise(frame)

        return step


def _applied(name: str, result: Type, function: Function, steps: list[Step]) -> Step:
    call, nulls = function.call, function.nulls
    shown = name.removeprefix("$operator$")

    def step(frame: Frame) -> object:
        values = [s(frame) for s in steps]
        if not nulls and None in values:
            return None
        try:
            return call(*watched(name, values))
        except KernelError:
            raise
        except OverflowError as error:
            raise KernelError("NUMERIC_VALUE_OUT_OF_RANGE", f"Value of {result} out of range") from error
        except Exception as error:
            raise KernelError("INVALID_FUNCTION_ARGUMENT", f"Invalid argument of {shown}") from error

    return step


def _tried(inner: Step) -> Step:
    def step(frame: Frame) -> object:
        try:
            return inner(frame)
        except KernelError as error:
            if error.name in TRIED:
                return None
            raise

    return step


def _logic(decisive: bool) -> Callable[[list[Step]], Step]:
    def build(steps: list[Step]) -> Step:
        def step(frame: Frame) -> object:
            unknown = False
            for inner in steps:
                value = inner(frame)
                if value is decisive:
                    return decisive
                unknown |= value is None
            return None if unknown else not decisive

        return step

    return build


def _if(steps: list[Step]) -> Step:
    condition, then, otherwise = steps
    return lambda frame: then(frame) if condition(frame) else otherwise(frame)


def _coalesce(steps: list[Step]) -> Step:
    def step(frame: Frame) -> object:
        for inner in steps:
            value = inner(frame)
            if value is not None:
                return value
        return None

    return step


def _in(steps: list[Step]) -> Step:
    value_of, *items = steps

    def step(frame: Frame) -> object:
        value, unknown, found = value_of(frame), False, [item(frame) for item in items]
        if value is None:
            return None
        for other in found:
            if other is None:
                unknown = True
            else:
                same = equal(value, other)
                if same:
                    return True
                unknown |= same is None
        return None if unknown else False

    return step


def _null_if(steps: list[Step]) -> Step:
    def step(frame: Frame) -> object:
        first, second = steps[0](frame), steps[1](frame)
        return None if first is not None and second is not None and equal(first, second) else first

    return step


_FORMS: dict[str, Callable[[list[Step]], Step]] = {
    "AND": _logic(False),
    "OR": _logic(True),
    "IF": _if,
    "COALESCE": _coalesce,
    "IN": _in,
    "NULL_IF": _null_if,
    "IS_NULL": lambda steps: lambda frame: steps[0](frame) is None,
    "ROW_CONSTRUCTOR": lambda steps: lambda frame: tuple(s(frame) for s in steps),
}
