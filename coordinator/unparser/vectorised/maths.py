"""Functions of numbers in the embedded engine's words, and the arithmetic of decimals."""

from __future__ import annotations

from coordinator.unparser.vectorised.form import FLOATS, INTEGERS, Asked, Form, Rule, double, known
from shared.plan.types import Type

_SHORT, _LONG = 18, 38
_WHOLE_DOUBLES = "9007199254740992"
"""From 2^53 on a double is a whole number."""


def _abs(asked: Asked) -> Form | None:
    (value,), (base,) = asked.arguments, asked.bases
    if base in INTEGERS:
        return Form(f"abs({value})", (f"({value} > -{1 << (INTEGERS[base] - 1)})",))
    return Form(f"abs({value})") if base in (*FLOATS, "decimal") else None


def _whole(function: str) -> Rule:
    def rule(asked: Asked) -> Form | None:
        (value,), (type_,) = asked.arguments, asked.kinds
        if type_.base in INTEGERS:
            return Form(value)
        if type_.base == "decimal" and type_.numbers[0] - type_.numbers[1] >= asked.result.numbers[0]:
            return None
        return Form(f"{function}({value})") if type_.base in (*FLOATS, "decimal") else None

    return rule


def _round(asked: Asked) -> Form | None:
    value, type_ = asked.arguments[0], asked.kinds[0]
    digits = asked.constant(1) if len(asked.arguments) > 1 else 0
    if type_.base in INTEGERS and digits is not None:
        return Form(value)
    if digits is None or not 0 <= digits <= 15:
        return None
    if type_.base in FLOATS:
        wide, factor = f"CAST({value} AS DOUBLE)", double(f"1e{digits}")
        rounded = f"round({wide} * {factor}) / {factor}" if digits else f"round({wide})"
        return Form(f"CASE WHEN abs({wide}) * {factor} < {_WHOLE_DOUBLES} THEN {rounded} ELSE {wide} END")
    if type_.base != "decimal":
        return None
    if digits >= type_.numbers[1]:
        return Form(value)
    value, type_, plain = _narrowed(value, type_, _LONG - 2)
    wide = f"CAST({value} AS DECIMAL({_SHORT if type_.numbers[0] < _SHORT else _LONG}, {type_.numbers[1]}))"
    return Form(f"round({wide}, {digits})", plain)


def _sign(asked: Asked) -> Form | None:
    (value,), (base,) = asked.arguments, asked.bases
    if base in FLOATS:
        return Form(f"CAST(sign({value}) AS DOUBLE)", (f"(NOT isnan({value}))",))
    return Form(f"sign({value})") if base in INTEGERS else None


def _mod(asked: Asked) -> Form | None:
    a, b = asked.arguments
    if asked.bases[0] in FLOATS:
        return Form(f"({a} % {b})")
    if asked.bases[0] == "decimal":
        return _decimal_modulus(asked)
    plain = known(asked, 1, lambda n: n not in (0, -1), f"({b} NOT IN (0, -1))")
    return None if plain is None or asked.bases[0] not in INTEGERS else Form(f"({a} % {b})", plain)


def _where(function: str, condition: str) -> Rule:
    """A function of doubles, where the condition holds."""

    def rule(asked: Asked) -> Form | None:
        if any(base != "double" for base in asked.bases):
            return None
        return Form(f"{function}({', '.join(asked.arguments)})", (condition.format(*asked.arguments),))

    return rule


def _test(function: str) -> Rule:
    def rule(asked: Asked) -> Form | None:
        return Form(f"{function}({asked.arguments[0]})") if asked.bases[0] in FLOATS else None

    return rule


def _extreme(function: str) -> Rule:
    """NULL where one is NULL, which the engine passes over."""

    def rule(asked: Asked) -> Form | None:
        types, values = set(asked.kinds), asked.arguments
        if len(types) > 1 or types.pop().base not in (*INTEGERS, *FLOATS, "decimal", "varchar", "date", "timestamp"):
            return None
        missing = " OR ".join(f"{v} IS NULL" for v in values)
        plain = tuple(f"(NOT isnan({v}))" for v in values) if asked.bases[0] in FLOATS else ()
        # -0.0 and 0.0 are equal to the engine.
        plain += tuple(f"({v} <> 0)" for v in values) if plain else ()
        return Form(f"CASE WHEN {missing} THEN NULL ELSE {function}({', '.join(values)}) END", plain)

    return rule


def _bits(operator: str) -> Rule:
    def rule(asked: Asked) -> Form | None:
        a, b = asked.arguments
        return Form(operator.format(a, b)) if all(base in INTEGERS for base in asked.bases) else None

    return rule


def _decimal_modulus(asked: Asked) -> Form | None:
    (a, b), (s, t) = asked.arguments, asked.kinds
    if {s.base, t.base} != {"decimal"} or _joined(s, t) > _LONG:
        return None
    common = f"DECIMAL({_LONG if _joined(s, t) > _SHORT else _SHORT}, {max(s.numbers[1], t.numbers[1])})"
    return Form(f"(CAST({a} AS {common}) % CAST({b} AS {common}))", (f"({b} <> 0)",))


def _joined(a: Type, b: Type) -> int:
    scale = max(a.numbers[1], b.numbers[1])
    return max(a.numbers[0] - a.numbers[1], b.numbers[0] - b.numbers[1]) + scale


def _divide(asked: Asked) -> Form | None:
    """Whole numbers: the dividend scaled so that the quotient has the result's digits, rounded half away from zero.

    Of types with more digits than there is room for, such as sums, only the values that use them all are left to a
    program.
    """
    if any(base != "decimal" for base in asked.bases):
        return None
    (a, b), (s, t), scale = asked.arguments, asked.kinds, asked.result.numbers[1]
    shift = scale - s.numbers[1] + t.numbers[1]
    if shift < 0:
        return None
    # One digit more: what is divided is doubled for its rounding.
    a, s, dividend_fits = _narrowed(a, s, _LONG - 1 - max(shift, s.numbers[1]))
    b, t, divisor_fits = _narrowed(b, t, _LONG - 1 - t.numbers[1])
    digits = max(s.numbers[0] + max(shift, s.numbers[1]), sum(t.numbers)) + 1
    if digits > _LONG or min(s.numbers[0] - s.numbers[1], t.numbers[0] - t.numbers[1]) < 0:
        return None
    whole = "BIGINT" if digits <= _SHORT else "HUGEINT"
    n, d = f"abs({_unscaled(a, s, whole)} * CAST({10**shift} AS {whole}))", f"abs({_unscaled(b, t, whole)})"
    sign = f"CASE WHEN ({a} < 0) = ({b} < 0) THEN 1 ELSE -1 END"
    plain = (*dividend_fits, *divisor_fits, f"({b} <> 0)")
    return Form(_scaled_down(f"((2 * {n} + {d}) // (2 * {d})) * {sign}", digits, scale), plain)


def _narrowed(value: str, type_: Type, digits: int) -> tuple[str, Type, tuple[str, ...]]:
    """A decimal in a type of at most so many digits, and for which values that is right."""
    precision, scale = type_.numbers
    if precision <= digits or digits < scale:
        return value, type_, ()
    most = f"CAST('{10 ** (digits - scale)}' AS DECIMAL({_LONG}, {scale}))"
    narrow = f"TRY_CAST({value} AS DECIMAL({digits}, {scale}))"
    return narrow, Type("decimal", (digits, scale)), (f"({value} > -{most} AND {value} < {most})",)


def _unscaled(value: str, type_: Type, whole: str) -> str:
    """The number without its point."""
    precision, scale = type_.numbers
    if precision <= _SHORT < precision + scale + 1:
        value = f"CAST({value} AS DECIMAL({_LONG}, {scale}))"  # or DuckDB multiplies in eight bytes
    return f"CAST({value} * CAST({10**scale} AS DECIMAL({scale + 1}, 0)) AS {whole})"


def _scaled_down(quotient: str, digits: int, scale: int) -> str:
    whole = f"CAST({quotient} AS DECIMAL({min(digits, _LONG)}, 0))"
    return f"({whole} * CAST('0.{'0' * (scale - 1)}1' AS DECIMAL({scale}, {scale})))" if scale else whole


_FINITE = "isfinite({0}) AND isfinite({1})"
MATHS: dict[str, Rule] = {
    "abs": _abs, "floor": _whole("floor"), "ceil": _whole("ceil"), "ceiling": _whole("ceil"), "round": _round,
    "sign": _sign, "mod": _mod, "sqrt": _where("sqrt", "({0} >= 0)"), "exp": _where("exp", "(abs({0}) < 700)"),
    "ln": _where("ln", "({0} > 0)"), "log2": _where("log2", "({0} > 0)"), "log10": _where("log10", "({0} > 0)"),
    **{name: _where(name, "isfinite({0})") for name in ("sin", "cos", "tan", "atan")},
    **{name: _where(name, "(abs({0}) <= 1)") for name in ("asin", "acos")},
    "cbrt": _where("cbrt", "isfinite({0})"), "degrees": _where("degrees", "isfinite({0})"),
    "radians": _where("radians", "isfinite({0})"),
    "power": _where("pow", f"({{0}} BETWEEN 1e-9 AND 1e9 AND {_FINITE} AND abs({{1}}) < 30)"),
    "pow": _where("pow", f"({{0}} BETWEEN 1e-9 AND 1e9 AND {_FINITE} AND abs({{1}}) < 30)"),
    "is_nan": _test("isnan"), "is_finite": _test("isfinite"), "is_infinite": _test("isinf"),
    "greatest": _extreme("greatest"), "least": _extreme("least"), "bitwise_and": _bits("({0} & {1})"),
    "bitwise_or": _bits("({0} | {1})"), "bitwise_xor": _bits("xor({0}, {1})"),
    "$operator$divide": _divide, "$operator$modulus": _decimal_modulus,
}  # fmt: skip
