"""Casts that the engines do otherwise than Presto: to text, between texts, of rows by position."""

from __future__ import annotations

from sqlglot import exp

from coordinator.expressions.types import NUMERIC, length_of, untyped
from coordinator.kernels.functions.arrow_forms import field_name
from coordinator.unparser.constants import row
from coordinator.unparser.refusals import unsupported
from coordinator.unparser.trees import binary, call, case, cast, is_null, name, number, text
from shared.plan.types import Type

SHOWN = ("date", "timestamp", "timestamp with time zone", "double", "real")


def shown_as_text(value: exp.Expr, source: Type, target: Type, dialect: str) -> exp.Expr:
    """The text that Presto gives a moment or a floating-point number."""
    if source.base == "date":
        result = cast(value, target, dialect)
        # Java writes years of more than four digits with a sign.
        return call("ltrim", text("+"), result) if dialect == "spark" else result
    if source.base in ("double", "real"):
        result = cast(value, target, dialect) if dialect == "spark" else call("java_double", value)
    elif dialect == "spark":
        # Java writes years of more than four digits with a sign.
        result = call("ltrim", text("+"), call("date_format", value, text("yyyy-MM-dd HH:mm:ss.SSS")))
    else:
        result = call("strftime", value, text("%Y-%m-%d %H:%M:%S.%g"))
    if source.base == "timestamp with time zone":
        result = binary(exp.DPipe, result, text(" UTC"))
    return result


def text_to_text(value: exp.Expr, source: Type, target: Type, dialect: str) -> exp.Expr:
    if source.base == "char":
        value = call("rpad", value, number(length_of(source)), text(" ")) if target.base == "varchar" else value
    if length_of(target) < length_of(source):
        value = call("substr", value, number(1), number(length_of(target)))
    if target.base != "char":
        return value
    # DuckDB would cut all that Unicode calls a space.
    return call("rtrim", value, text(" ")) if dialect == "duckdb" else call("rtrim", value)


_DAY = r"[+-]?\d{1,6}-\d{1,2}-\d{1,2}"
GUARDED = {
    "boolean": r"^(?i:t|f|1|0|true|false)\z",
    "double": r"^([^iInN]*|[\x00-\x20]*[+-]?(Infinity|NaN)[\x00-\x20]*)\z",
    "real": r"^([^iInN]*|[\x00-\x20]*[+-]?(Infinity|NaN)[\x00-\x20]*)\z",
    "decimal": r"^[+-]?(\p{Nd}+\.?\p{Nd}*|\.\p{Nd}+)([eE][+-]?\p{Nd}+)?\z",
    "date": rf"^\s*{_DAY}\s*\z",
    "timestamp": rf"^\s*{_DAY}([ T]\d{{1,2}}:.*|\s*[A-Za-z+-][\w/+:-]*)?\s*\z",
}
"""The texts that Presto casts among those that Spark casts: it takes blanks, ``yes``, ``inf``, and moments as dates."""


def guarded(value: exp.Expr, target: Type, *, attempt: bool) -> exp.Expr:
    """Spark's cast of a text that Presto casts too."""
    beginning, ending = f"Cannot cast '{{}}' to {target.base.upper()}".split("{}")
    result = cast(value.copy(), target, "spark", attempt=attempt)
    if target.base in ("date", "timestamp"):
        beginning, ending = f"Value cannot be cast to {target.base}: ", ""
    if target.base == "timestamp":
        # Presto keeps the instant of a text with a zone.
        zoned = cast(value.copy(), Type("timestamp with time zone"), "spark", attempt=attempt)
        result = cast(zoned, target, "spark")
    if target.base == "decimal":
        beginning, ending = "Cannot cast VARCHAR '", f"' to DECIMAL({target.numbers[0]}, {target.numbers[1]}). Value "
        large = _refused(beginning, value, f"{ending}too large.", attempt)
        result = call("coalesce", cast(value.copy(), target, "spark", attempt=True), large)
        ending += "is not a number."
    matches = call("regexp_like", value.copy(), text(GUARDED[target.base]))
    return case([(is_null(value), exp.Null()), (matches, result)], _refused(beginning, value, ending, attempt))


def cast_on_spark(value: exp.Expr, source: Type, target: Type, *, attempt: bool) -> exp.Expr | None:
    """Between simple types, where Spark's own cast is another one; None where it is the same."""
    if source.base == "varchar" and target.base in GUARDED:
        return guarded(value, target, attempt=attempt)
    if source.base in ("double", "real") and target.base == "decimal":
        return _float_to_decimal(value, source, target, attempt=attempt)
    if source.base in NUMERIC and target.base == "boolean":
        # Spark 4.1 fails to compare its own cast with a constant, as its count_if does.
        return binary(exp.NEQ, value, cast(number(0), source, "spark"))
    return None


def _float_to_decimal(value: exp.Expr, source: Type, target: Type, *, attempt: bool) -> exp.Expr:
    """Of a real its shortest digits, not those of the double beside it. What is no number would be NULL in Spark."""
    varchar, (precision, scale) = Type("varchar"), target.numbers
    digits = cast(value, varchar, "spark") if source.base == "real" else value
    result = cast(digits, target, "spark", attempt=attempt)
    if attempt:
        return result
    infinite = binary(exp.EQ, call("abs", value.copy()), cast(text("Infinity"), source, "spark"))
    odd = exp.Or(this=call("isnan", value.copy()), expression=infinite)
    beginning, ending = f"Cannot cast {source.base.upper()} '", f"' to DECIMAL({precision}, {scale})"
    return case([(odd, _refused(beginning, cast(value.copy(), varchar, "spark"), ending, attempt=False))], result)


def _refused(beginning: str, value: exp.Expr, ending: str, attempt: bool) -> exp.Expr:
    if attempt:
        return exp.Null()
    shown = call("concat", text(f"KernelError: INVALID_CAST_ARGUMENT: {beginning}"), value.copy(), text(ending))
    return call("raise_error", shown)


def names_of(type_: Type) -> tuple[object, ...]:
    own = tuple(field_name(type_, i) for i in range(len(type_.fields)))
    return (*own, *(names_of(a) for a in type_.arguments))


def differs(source: Type, target: Type, dialect: str) -> bool:
    """The engine's own cast does not do between two types of rows, arrays or maps.

    What has no type, of NULL and of arrays without elements, is held as a number, which Spark casts to few types.
    """
    return names_of(source) != names_of(target) or (dialect == "spark" and source != target and untyped(source))


def renamed(value: exp.Expr, source: Type, target: Type, dialect: str) -> exp.Expr:
    """A value whose rows have the field names of ``target``: engines match fields by name, Presto by position."""
    if not differs(source, target, dialect):
        return value
    if source.base == "unknown":
        return cast(exp.Null(), target, dialect)
    if source.base == "row":
        fields = [
            renamed(exp.Dot(this=exp.Paren(this=value.copy()), expression=name(field_name(source, i))), s, t, dialect)
            for i, (s, t) in enumerate(zip(source.arguments, target.arguments, strict=True))
        ]
        return case([(is_null(value.copy()), exp.Null())], row(fields, target))
    if source.base == "array":
        item = name("x")
        body = renamed(exp.Column(this=item.copy()), source.arguments[0], target.arguments[0], dialect)
        function = "list_transform" if dialect == "duckdb" else "transform"
        return call(function, value, exp.Lambda(this=body, expressions=[item]))
    if names_of(source) == names_of(target):
        return value
    raise unsupported("A cast that renames the fields of rows inside a map", dialect)


def represented(shown: exp.Expr, target: Type, attempt: bool, dialect: str) -> exp.Expr:
    """The text of a bigint where it is no longer than the type; Presto keeps all else whole."""
    length = length_of(target)
    if length >= len(str(-(1 << 63))):
        return shown
    message = call(
        "concat",
        text("KernelError: INVALID_CAST_ARGUMENT: Value "),
        shown.copy(),
        text(f" cannot be represented as {target}"),
    )
    failure = exp.Null() if attempt else call("error" if dialect == "duckdb" else "raise_error", message)
    return case([(binary(exp.GT, call("length", shown.copy()), number(length)), failure)], shown)
