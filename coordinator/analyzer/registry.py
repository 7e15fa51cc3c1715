"""Presto's function registry and the binding of a call to one signature.

The signatures are those of a real 0.296 server (``functions/presto_functions.tsv``) with ``JoniRegExp`` read as
``Re2JRegExp``, which is what a cluster with native workers uses. Binding follows Presto's FunctionResolver: an exact
match first, then signatures without type variables before those with them, then the most specific by coercion.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from coordinator.analyzer.unification import (
    Bindings,
    FunctionSignature,
    LambdaTyper,
    bind_lambda,
    finish_numbers,
    leave_unknown,
    spread,
    substitute,
    unify,
)
from coordinator.expressions.types import (
    BIGINT,
    INTEGERS,
    can_coerce,
    is_comparable,
    is_orderable,
    length_of,
)
from shared.plan.types import Type, parse_type

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


_ANY_VALUE = "v"
"""What ``max_by`` and ``min_by`` give, which is not compared."""
_SUMMED = (*INTEGERS, "real", "double", "unknown")
"""What map_union_sum adds up: numbers, but no decimals."""
_SKETCHES = ("sketch_kll", "sketch_kll_with_k")


@dataclass(frozen=True, slots=True)
class BoundFunction:
    """A signature with every variable replaced; ``arguments`` has one type for each actual argument."""

    name: str
    kind: str
    arguments: tuple[Type, ...]
    result: Type
    deterministic: bool


HIDDEN = frozenset(["at_timezone", "create_hll", "max_data_size_for_stats", "sum_data_size_for_stats", "with_timezone"])
"""Functions that can be called and that SHOW FUNCTIONS leaves out."""


_TDIGEST = "tdigest(double)"
_PARTS = (
    "row(centroid_means array(double), centroid_weights array(integer), compression double, min double, max double, "
    "sum double, count bigint)"
)
_OF_TDIGESTS = (
    ("value_at_quantile", "scalar", "double", (_TDIGEST, "double")),
    ("values_at_quantiles", "scalar", "array(double)", (_TDIGEST, "array(double)")),
    ("quantile_at_value", "scalar", "double", (_TDIGEST, "double")),
    ("quantiles_at_values", "scalar", "array(double)", (_TDIGEST, "array(double)")),
    ("scale_tdigest", "scalar", _TDIGEST, (_TDIGEST, "double")),
    ("trimmed_mean", "scalar", "double", (_TDIGEST, "double", "double")),
    ("merge_tdigest", "scalar", _TDIGEST, (f"array({_TDIGEST})",)),
    ("destructure_tdigest", "scalar", _PARTS, (_TDIGEST,)),
    ("construct_tdigest", "scalar", _TDIGEST,
     ("array(double)", "array(double)", "double", "double", "double", "double", "bigint")),
    ("merge", "aggregate", _TDIGEST, (_TDIGEST,)),
)  # fmt: skip
"""What SHOW FUNCTIONS leaves out, as Presto does."""


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
    for instant in ("timestamp with time zone", "time with time zone"):
        # Hidden from SHOW FUNCTIONS; AT TIME ZONE calls it.
        for zone in ("varchar(x)", "interval day to second"):
            taken = (_read(instant), _read(zone))
            hidden = FunctionSignature("at_timezone", "scalar", taken, _read(instant), True, False)
            functions.setdefault("at_timezone", []).append(hidden)
    # Trino's; Metabase writes it for both families where a question converts time zones.
    placed = (_read("timestamp"), _read("varchar(x)"))
    zoned = _read("timestamp with time zone")
    functions["with_timezone"] = [FunctionSignature("with_timezone", "scalar", placed, zoned, True, False)]
    for name in ("max_data_size_for_stats", "sum_data_size_for_stats"):
        # Hidden too; ANALYZE of other engines writes them out.
        functions[name] = [FunctionSignature(name, "aggregate", (_read("T"),), _read("bigint"), True, False)]
    for types in ((_read("bigint"),), (_read("bigint"), _read("double"))):
        made = FunctionSignature("create_hll", "scalar", types, _read("HyperLogLog"), True, False)
        functions.setdefault("create_hll", []).append(made)
    for name, kind, result, parameters in _OF_TDIGESTS:
        arguments = tuple(_read(parameter) for parameter in parameters)
        functions.setdefault(name, []).append(FunctionSignature(name, kind, arguments, _read(result), True, False))
    return {name: tuple(signatures) for name, signatures in functions.items()}


def shown(signature: FunctionSignature) -> bool:
    """Whether SHOW FUNCTIONS tells of it."""
    hidden = {(name, parameters) for name, _, _, parameters in _OF_TDIGESTS}
    return signature.name not in HIDDEN and (signature.name, tuple(map(str, signature.arguments))) not in hidden


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
    return bind_to(candidates, actual, typer)


def bind_to(
    candidates: Sequence[FunctionSignature], actual: Sequence[Type | None], typer: LambdaTyper | None = None
) -> BoundFunction | None:
    """The one of ``candidates``, all of the right number of arguments, that a call means, as ``bind`` does."""
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
    for signature, candidate in found:
        others = (pair for pair in found if pair[0] is not signature)
        if all(_at_least_as_specific(candidate, other, bound) for other, bound in others):
            return candidate
    # Presto refuses the call as ambiguous: two arrays of which one has no type (``a || ARRAY[NULL]``) are joined.
    return next((candidate for signature, candidate in found if signature.variadic), found[0][1])


def _at_least_as_specific(one: BoundFunction, other: FunctionSignature, bound: BoundFunction) -> bool:
    """Whether the other, with its parameters open, would take the types of the one."""
    if any(a.base == "function" for a in one.arguments):
        pairs = zip(one.arguments, bound.arguments, strict=False)
        return all(a.base == "function" or can_coerce(a, b) for a, b in pairs)
    return _try(other, one.arguments, exact=False, typer=None) is not None


def _try(
    signature: FunctionSignature, actual: Sequence[Type | None], *, exact: bool, typer: LambdaTyper | None
) -> BoundFunction | None:
    formal = spread(signature, len(actual))
    bindings = Bindings()
    for expected, given in zip(formal, actual, strict=True):
        if given is not None and not unify(expected, given, bindings, exact=exact):
            return None
    if signature.name in _SKETCHES:
        # There are no sketches of narrow integers; their values widen.
        bindings.types = {n: BIGINT if t.base in INTEGERS else t for n, t in bindings.types.items()}
    leave_unknown(bindings)
    for position, (expected, given) in enumerate(zip(formal, actual, strict=True)):
        if given is None and not bind_lambda(expected, position, bindings, typer):
            return None
    finish_numbers(signature.name, actual, bindings)
    try:
        arguments = tuple(substitute(e, bindings) for e in formal)
        result = substitute(signature.result, bindings)
    except KeyError:
        return None
    for expected, given in zip(arguments, actual, strict=True):
        if given is not None and not (given == expected if exact else can_coerce(given, expected)):
            return None
    if signature.name in _ORDERED and any(not is_orderable(t) for n, t in bindings.types.items() if n != _ANY_VALUE):
        return None
    if signature.name == "map_union_sum" and result.arguments[1].base not in _SUMMED:
        return None
    if signature.name.endswith("_distinct") and any(not is_comparable(t) for t in bindings.types.values()):
        return None
    return BoundFunction(signature.name, signature.kind, arguments, result, signature.deterministic)


def expected_text(name: str) -> str:
    """What Presto lists after ``Expected: ``."""
    # The registry is that of a server whose regular expressions are RE2J's; Presto's default is Joni.
    return ", ".join(str(s) for s in registry().get(name, ())).replace("Re2JRegExp", "JoniRegExp")


def exists(name: str) -> bool:
    """Whether any function has the name."""
    return name in registry()
