"""Presto's function registry and the binding of a call to one signature.

The signatures are those of a real 0.296 server (``functions/presto_functions.tsv``) with ``JoniRegExp`` read as
``Re2JRegExp``, which is what a cluster with native workers uses. Binding follows Presto's FunctionResolver: an exact
match first, then signatures without type variables before those with them, then the most specific by coercion.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from coordinator.analyzer.constraints import variables_text
from coordinator.analyzer.types import (
    BIGINT,
    INTEGERS,
    UNKNOWN,
    array,
    can_coerce,
    common_super_type,
    decimal,
    is_comparable,
    is_orderable,
    length_of,
    type_text,
    varchar,
)
from shared.errors import ErrorCode, ProcessionError
from shared.plan.types import UNBOUNDED_LENGTH, Field, Type, parse_type

LambdaTyper = Callable[[int, tuple[Type, ...]], Type | None]
"""The result type of the lambda at an argument position, from its parameter types; None for another count."""

_VARIABLES = frozenset(
    ["t", "e", "k", "v", "u", "r", "s", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "k1", "k2", "v1", "v2", "v3"]
)
_ORDERED = frozenset(
    [
        "max",
        "min",
        "array_max",
        "array_min",
        "array_sort",
        "array_sort_desc",
        "greatest",
        "least",
        "max_by",
        "min_by",
        "approx_percentile",
    ]
)


_SKETCHES = ("qdigest_agg", "tdigest_agg", "sketch_kll", "sketch_kll_with_k")


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """One line of the registry; types may hold variables."""

    name: str
    kind: str
    arguments: tuple[Type, ...]
    result: Type
    deterministic: bool
    variadic: bool

    @property
    def generic(self) -> bool:
        return any(_has_variable(a) for a in self.arguments)

    def __str__(self) -> str:
        variables = dict.fromkeys(n for a in (*self.arguments, self.result) for n in _type_variables(a))
        inside = ", ".join(_shown(a) for a in self.arguments)
        return f"{self.name}({inside}) {variables_text(self.name, variables, len(self.arguments))}"


@dataclass(frozen=True, slots=True)
class BoundFunction:
    """A signature with every variable replaced; ``arguments`` has one type for each actual argument."""

    name: str
    kind: str
    arguments: tuple[Type, ...]
    result: Type
    deterministic: bool


HIDDEN = frozenset(["at_timezone", "create_hll", "max_data_size_for_stats", "sum_data_size_for_stats"])
"""Functions that can be called and that SHOW FUNCTIONS leaves out."""


@dataclass(slots=True)
class _Bindings:
    types: dict[str, Type] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    """Variables of which a NULL literal is given."""


@cache
def registry() -> Mapping[str, tuple[FunctionSignature, ...]]:
    """Every function by lower-case name, read once from the package's data."""
    text = (files("coordinator.analyzer.functions") / "presto_functions.tsv").read_text(encoding="utf-8")
    functions: dict[str, list[FunctionSignature]] = {}
    for line in csv.DictReader(text.splitlines(), delimiter="\t"):
        signature = FunctionSignature(
            line["function"].lower(),
            line["kind"],
            tuple(_read(a) for a in _split(line["argument_types"])),
            _read(line["return_type"]),
            line["deterministic"] == "true",
            line["variable_arity"] == "true",
        )
        functions.setdefault(signature.name, []).append(signature)
    for moment in ("timestamp with time zone", "time with time zone"):
        # Hidden from SHOW FUNCTIONS; AT TIME ZONE calls it.
        for zone in ("varchar(x)", "interval day to second"):
            taken = (_read(moment), _read(zone))
            hidden = FunctionSignature("at_timezone", "scalar", taken, _read(moment), True, False)
            functions.setdefault("at_timezone", []).append(hidden)
    for name in ("max_data_size_for_stats", "sum_data_size_for_stats"):
        # Hidden too; ANALYZE of other engines writes them out.
        functions[name] = [FunctionSignature(name, "aggregate", (_read("T"),), _read("bigint"), True, False)]
    for types in ((_read("bigint"),), (_read("bigint"), _read("double"))):
        made = FunctionSignature("create_hll", "scalar", types, _read("HyperLogLog"), True, False)
        functions.setdefault("create_hll", []).append(made)
    return {name: tuple(signatures) for name, signatures in functions.items()}


def _read(text: str) -> Type:
    return parse_type(text.replace("JoniRegExp", "Re2JRegExp"))


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [*parts, current.strip()] if current.strip() else parts


@cache
def _has_variable(value: Type) -> bool:
    return value.base in _VARIABLES or any(_has_variable(a) for a in value.arguments)


@cache
def _type_variables(value: Type) -> tuple[str, ...]:
    if value.base in _VARIABLES:
        return (value.base.upper(),)
    inner = [] if value.base in ("varchar", "char", "decimal") else value.arguments
    return tuple(dict.fromkeys(n for a in inner for n in _type_variables(a)))


def _shown(value: Type) -> str:
    if value.base in _VARIABLES:
        return value.base.upper()
    if value.arguments and value.base not in ("varchar", "char", "decimal"):
        return f"{value.base}({','.join(_shown(a) for a in value.arguments)})"
    return type_text(value)


def bind(
    name: str, actual: Sequence[Type | None], kinds: Sequence[str], typer: LambdaTyper | None = None
) -> BoundFunction | None:
    """The function that a call means, or None when no signature takes the arguments.

    A lambda argument is None in ``actual``; ``typer`` gives its result type. ``kinds`` are the kinds allowed here.
    """
    candidates = [s for s in registry().get(name, ()) if s.kind in kinds and _arity(s, len(actual))]
    if name == "concat" and {t.base for t in actual if t is not None} == {"char", "varchar"}:
        # Only concat of two chars takes them together.
        actual = [Type("char", (length_of(t),)) if t is not None and t.base == "varchar" else t for t in actual]
    for exact in (True, False):
        for generic in (False, True):
            found = [
                (s, b)
                for s in candidates
                if s.generic == generic and (b := _try(s, actual, exact=exact, typer=typer)) is not None
            ]
            if found:
                return _most_specific(found)
    return None


def _arity(signature: FunctionSignature, count: int) -> bool:
    expected = len(signature.arguments)
    return count >= expected - 1 and (count > 0 or expected == 0) if signature.variadic else count == expected


def _most_specific(found: list[tuple[FunctionSignature, BoundFunction]]) -> BoundFunction:
    bound = [b for _, b in found]
    for candidate in bound:
        others = (o for o in bound if o is not candidate)
        if all(_at_least_as_specific(candidate, other) for other in others):
            return candidate
    return bound[0]


def _at_least_as_specific(one: BoundFunction, other: BoundFunction) -> bool:
    return all(a.base == "function" or can_coerce(a, b) for a, b in zip(one.arguments, other.arguments, strict=False))


def _try(
    signature: FunctionSignature, actual: Sequence[Type | None], *, exact: bool, typer: LambdaTyper | None
) -> BoundFunction | None:
    formal = _spread(signature, len(actual))
    bindings = _Bindings()
    for expected, given in zip(formal, actual, strict=True):
        if given is not None and not _unify(expected, given, bindings, exact=exact):
            return None
    if signature.name in _SKETCHES:
        # There are no sketches of narrow integers; their values widen.
        bindings.types = {n: BIGINT if t.base in INTEGERS else t for n, t in bindings.types.items()}
    _leave_unknown(bindings)
    for position, (expected, given) in enumerate(zip(formal, actual, strict=True)):
        if given is None and not _bind_lambda(expected, position, bindings, typer):
            return None
    _finish_numbers(signature.name, actual, bindings)
    try:
        arguments = tuple(_substitute(e, bindings) for e in formal)
        result = _substitute(signature.result, bindings)
    except KeyError:
        return None
    for expected, given in zip(arguments, actual, strict=True):
        if given is not None and not (given == expected if exact else can_coerce(given, expected)):
            return None
    if signature.name in _ORDERED and any(not is_orderable(t) for t in bindings.types.values()):
        return None
    if signature.name.endswith("_distinct") and any(not is_comparable(t) for t in bindings.types.values()):
        return None
    return BoundFunction(signature.name, signature.kind, arguments, result, signature.deterministic)


def _leave_unknown(bindings: _Bindings) -> None:
    """A variable that only NULL literals speak of is of the unknown type."""
    for variable in bindings.unknown:
        bindings.types.setdefault(variable, UNKNOWN)


def _spread(signature: FunctionSignature, count: int) -> tuple[Type, ...]:
    formal = signature.arguments
    if signature.variadic:
        formal = (*formal[:-1], *(formal[-1:] * (count - len(formal) + 1)))
    return formal


def _bind_lambda(expected: Type, position: int, bindings: _Bindings, typer: LambdaTyper | None) -> bool:
    if expected.base != "function" or typer is None:
        return False
    *parameters, result = expected.arguments
    try:
        types = tuple(_substitute(p, bindings) for p in parameters)
    except KeyError:
        return False
    body = typer(position, types)
    if body is None:
        return False
    if body == UNKNOWN and result.base not in bindings.types:
        bindings.types.setdefault(result.base, UNKNOWN)
        return True
    return _unify(result, body, bindings, exact=False)


def _unify(formal: Type, actual: Type, bindings: _Bindings, *, exact: bool) -> bool:
    if formal.base in _VARIABLES and not formal.parameters:
        return _unify_variable(formal.base, actual, bindings, exact=exact)
    if actual.base == "unknown":
        bindings.unknown |= {name.lower() for name in _type_variables(formal)}
        return not exact
    if formal.base == "function":
        return False
    if formal.base in ("varchar", "char", "decimal"):
        return _unify_numbers(formal, actual, bindings, exact=exact)
    if not _has_variable(formal):
        return actual == formal if exact else can_coerce(actual, formal)
    if formal.base != actual.base or len(formal.parameters) != len(actual.parameters):
        return False
    pairs = zip(formal.arguments, actual.arguments, strict=True)
    return all(_unify(f, a, bindings, exact=exact) for f, a in pairs)


def _unify_variable(name: str, actual: Type, bindings: _Bindings, *, exact: bool) -> bool:
    known = bindings.types.get(name)
    if known is None or known == actual:
        bindings.types[name] = actual
        return True
    common = common_super_type(known, actual)
    if common is None or (exact and common not in (known, actual)):
        return False
    bindings.types[name] = common
    return not exact


def _unify_numbers(formal: Type, actual: Type, bindings: _Bindings, *, exact: bool) -> bool:
    names = [p.base if isinstance(p, Type) else None for p in formal.parameters if not isinstance(p, Field)]
    numbers: tuple[int, ...] = actual.numbers
    if formal.base != actual.base:
        if exact:
            return False
        if formal.base == "decimal":
            widened = common_super_type(actual, decimal(1, 0))
            if widened is None or widened.base != "decimal" or not can_coerce(actual, widened):
                return False
            digits = {"tinyint": 3, "smallint": 5, "integer": 10, "bigint": 19}[actual.base]
            numbers = (digits, 0)
        elif formal.base == "char" and actual.base == "varchar":
            # A varchar is never made a char only to reach a function (Presto prefers the varchar signatures).
            return False
        else:
            return can_coerce(actual, formal)
    if formal.base == "varchar":
        numbers = (length_of(actual),)
    if not names:
        return actual == formal if exact else can_coerce(actual, formal)
    for name, number in zip(names, numbers, strict=False):
        if name is not None:
            bindings.numbers[name] = max(number, bindings.numbers.get(name, 0))
    return all(n is not None for n in names) or can_coerce(actual, formal)


def _substitute(formal: Type, bindings: _Bindings) -> Type:
    if formal.base in _VARIABLES and not formal.parameters:
        return bindings.types[formal.base]
    if not formal.parameters:
        return formal
    if formal.base in ("varchar", "char", "decimal"):
        numbers = []
        for p in formal.parameters:
            numbers.append(p if isinstance(p, int) else bindings.numbers[p.base if isinstance(p, Type) else ""])
        if formal.base == "varchar":
            return varchar(numbers[0])
        return Type(formal.base, tuple(numbers))
    parameters = tuple(
        Field(p.name, _substitute(p.type, bindings), p.delimited)
        if isinstance(p, Field)
        else (_substitute(p, bindings) if isinstance(p, Type) else p)
        for p in formal.parameters
    )
    return Type(formal.base, parameters)


_COMPUTED = ("replace", "regexp_replace", "url_encode", "render", "concat")


def _finish_numbers(name: str, actual: Sequence[Type | None], bindings: _Bindings) -> None:
    """The computed parameters, which the registry's dump names without their formulas."""
    n = bindings.numbers
    # A NULL literal for a parameterized type leaves its numbers open.
    n.setdefault("p", 1)
    n.setdefault("s", 0)
    n.setdefault("x", 0 if actual else UNBOUNDED_LENGTH)
    if name not in _COMPUTED:
        n.setdefault("y", 0)
        n.setdefault("z", 0)
    p, s = n.get("p", 1), n.get("s", 0)
    if name in ("ceil", "ceiling", "floor"):
        n["rp"] = max(1, min(38, p - s + min(s, 1)))
    elif name == "round":
        n["rp"] = min(38, p + 1) if len(actual) > 1 else max(1, min(38, p - s + min(1, s)))
        n["rs"] = 0
    elif name == "mod" and "a_precision" in n:
        n["r_precision"], n["r_scale"] = _remainder(n["a_precision"], n["a_scale"], n["b_precision"], n["b_scale"])
    elif name == "truncate":
        n["rp"] = max(p - s, 1)
    elif name == "concat" and "y" in n:
        n["u"] = _char_length(n["x"] + n["y"])
    elif name == "replace" and len(actual) == 3:
        x, y, z = n.get("x", 0), n.get("y", 0), n.get("z", 0)
        n["u"] = min(UNBOUNDED_LENGTH, x + z * (x + 1)) if y >= 0 else x
    elif name == "regexp_replace" and len(actual) == 3:
        x, y = n.get("x", 0), n.get("y", 0)
        n["z"] = min(UNBOUNDED_LENGTH, x + max((x * y) // 2, y) * (x + 1))
    elif name == "url_encode":
        n["y"] = min(UNBOUNDED_LENGTH, n["x"] * 12)
    elif name == "render":
        n["y"] = UNBOUNDED_LENGTH


def _char_length(length: int) -> int:
    if length > 65536:
        message = "CHAR length scale must be in range [0, 65536]"
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, message)
    return length


def _remainder(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    """Precision and scale of a remainder."""
    scale = max(s1, s2)
    return max(1, min(38, min(p1 - s1, p2 - s2) + scale)), scale


def expected_text(name: str) -> str:
    """What Presto lists after ``Expected: ``."""
    # The registry is that of a server whose regular expressions are RE2J's; Presto's default is Joni.
    return ", ".join(str(s) for s in registry().get(name, ())).replace("Re2JRegExp", "JoniRegExp")


def exists(name: str) -> bool:
    """Whether any function has the name."""
    return name in registry()


def constructor_result(element: Type) -> Type:
    """The result of ``ARRAY[…]`` over elements of one type."""
    return array(element)
