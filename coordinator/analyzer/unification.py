"""Formal and actual argument types: what type variables and numbers of a signature stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import Struct, field

from coordinator.analyzer.constraints import variables_text
from coordinator.expressions.types import (
    UNKNOWN,
    can_coerce,
    common_super_type,
    decimal,
    length_of,
    type_text,
    varchar,
)
from shared.errors import ErrorCode, ProcessionError
from shared.plan.kept import kept
from shared.plan.types import UNBOUNDED_LENGTH, Field, Type

LambdaTyper = Callable[[int, tuple[Type, ...]], Type | None]
"""The result type of the lambda at an argument position, from its parameter types; None for another count."""

_VARIABLES = frozenset(
    ["t", "e", "k", "v", "u", "r", "s", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "k1", "k2", "v1", "v2", "v3"]
)


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
        return any(_type_variables(a) for a in self.arguments)

    def __str__(self) -> str:
        variables = dict.fromkeys(n for a in (*self.arguments, self.result) for n in _type_variables(a))
        inside = ", ".join(_shown(a) for a in self.arguments)
        return f"{self.name}({inside}) {variables_text(self.name, variables, len(self.arguments))}"


class Bindings(Struct):
    types: dict[str, Type] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    """Variables of which a NULL literal is given."""


@kept(4096)  # types with lengths are without end
def _has_variable(value: Type) -> bool:
    return value.base in _VARIABLES or any(_has_variable(a) for a in value.arguments)


@kept(4096)  # types with lengths are without end
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


def leave_unknown(bindings: Bindings) -> None:
    """A variable that only NULL literals speak of is of the unknown type."""
    for variable in bindings.unknown:
        bindings.types.setdefault(variable, UNKNOWN)


def spread(signature: FunctionSignature, count: int) -> tuple[Type, ...]:
    formal = signature.arguments
    if signature.variadic:
        formal = (*formal[:-1], *(formal[-1:] * (count - len(formal) + 1)))
    return formal


def bind_lambda(expected: Type, position: int, bindings: Bindings, typer: LambdaTyper | None) -> bool:
    if expected.base != "function" or typer is None:
        return False
    *parameters, result = expected.arguments
    try:
        types = tuple(substitute(p, bindings) for p in parameters)
    except KeyError:
        return False
    body = typer(position, types)
    if body is None:
        return False
    if body == UNKNOWN and result.base not in bindings.types:
        bindings.types.setdefault(result.base, UNKNOWN)
        return True
    return unify(result, body, bindings, exact=False)


def unify(formal: Type, actual: Type, bindings: Bindings, *, exact: bool) -> bool:
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
    return all(unify(f, a, bindings, exact=exact) for f, a in pairs)


def _unify_variable(name: str, actual: Type, bindings: Bindings, *, exact: bool) -> bool:
    known = bindings.types.get(name)
    if known is None or known == actual:
        bindings.types[name] = actual
        return True
    common = common_super_type(known, actual)
    if common is None or (exact and common not in (known, actual)):
        return False
    bindings.types[name] = common
    return not exact


def _unify_numbers(formal: Type, actual: Type, bindings: Bindings, *, exact: bool) -> bool:
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


def substitute(formal: Type, bindings: Bindings) -> Type:
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
        Field(p.name, substitute(p.type, bindings), p.delimited)
        if isinstance(p, Field)
        else (substitute(p, bindings) if isinstance(p, Type) else p)
        for p in formal.parameters
    )
    return Type(formal.base, parameters)


_COMPUTED = ("replace", "regexp_replace", "url_encode", "render", "concat")


def finish_numbers(name: str, actual: Sequence[Type | None], bindings: Bindings) -> None:
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
        n["y"] = min(UNBOUNDED_LENGTH, n["x"] + 15)


def _char_length(length: int) -> int:
    if length > 65536:
        message = "CHAR length scale must be in range [0, 65536]"
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, message)
    return length


def _remainder(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    """Precision and scale of a remainder."""
    scale = max(s1, s2)
    return max(1, min(38, min(p1 - s1, p2 - s2) + scale)), scale
