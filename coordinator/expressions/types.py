"""Presto's implicit coercions and common super types.

Source: Presto ``FunctionAndTypeManager``/``BuiltInTypeManager`` (``isTypeOnlyCoercion``, ``coerceTypeBase``), checked
against recorded statements. Types are ``shared.plan.types.Type``.
"""

from __future__ import annotations

from collections.abc import Iterator

from shared.errors import ErrorCode, ProcessionError
from shared.plan.kept import kept
from shared.plan.types import UNBOUNDED_LENGTH, Field, Type, parse_type

UNKNOWN = Type("unknown")
BOOLEAN = Type("boolean")
TINYINT, SMALLINT, INTEGER, BIGINT = Type("tinyint"), Type("smallint"), Type("integer"), Type("bigint")
REAL, DOUBLE = Type("real"), Type("double")
VARCHAR, VARBINARY, JSON = Type("varchar"), Type("varbinary"), Type("json")
DATE, TIME, TIMESTAMP = Type("date"), Type("time"), Type("timestamp")
TIME_TZ, TIMESTAMP_TZ = Type("time with time zone"), Type("timestamp with time zone")
DAY_SECOND, YEAR_MONTH = Type("interval day to second"), Type("interval year to month")

INTEGERS = ("tinyint", "smallint", "integer", "bigint")
NUMERIC = (*INTEGERS, "real", "double", "decimal")
_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "integer": 10, "bigint": 19}
_WIDENING = {
    "tinyint": ("smallint", "integer", "bigint", "real", "double", "decimal"),
    "smallint": ("integer", "bigint", "real", "double", "decimal"),
    "integer": ("bigint", "real", "double", "decimal"),
    "bigint": ("real", "double", "decimal"),
    "decimal": ("real", "double"),
    "real": ("double",),
    "date": ("timestamp", "timestamp with time zone"),
    "p4hyperloglog": ("hyperloglog",),
    "time": ("time with time zone",),
    "timestamp": ("timestamp with time zone",),
    "varchar": ("char", "joniregexp", "re2jregexp", "likepattern", "jsonpath", "codepoints"),
    "char": ("varchar", "joniregexp", "re2jregexp", "likepattern", "jsonpath", "codepoints"),
}
_NOT_COMPARABLE = {
    "hyperloglog",
    "p4hyperloglog",
    "qdigest",
    "tdigest",
    "khyperloglog",
    "setdigest",
    "geometry",
}
_NOT_ORDERABLE = {*_NOT_COMPARABLE, "json", "map", "unknown_", "color"}

_CANONICAL = {
    name.lower(): name
    for name in (
        "HyperLogLog", "BingTile", "CodePoints", "Geometry", "JoniRegExp", "Re2JRegExp", "JsonPath", "LikePattern",
        "KHyperLogLog", "KdbTree", "SetDigest", "SfmSketch", "SphericalGeography", "P4HyperLogLog",
    )
}  # fmt: skip
_KNOWN = {
    *_WIDENING, "boolean", "double", "varbinary", "json", "unknown", "time with time zone", "timestamp with time zone",
    "interval day to second", "interval year to month", "array", "map", "row", "uuid", "ipaddress", "ipprefix",
    "function", "qdigest", "tdigest", "kllsketch", "color", *_CANONICAL,
}  # fmt: skip


def decimal(precision: int, scale: int) -> Type:
    """``decimal(precision,scale)``."""
    return Type("decimal", (precision, scale))


def varchar(length: int | None = None) -> Type:
    """``varchar(length)``, unbounded without a length."""
    return VARCHAR if length is None or length >= UNBOUNDED_LENGTH else Type("varchar", (length,))


def array(element: Type) -> Type:
    """``array(element)``."""
    return Type("array", (element,))


def map_of(key: Type, value: Type) -> Type:
    """``map(key,value)``."""
    return Type("map", (key, value))


def row(types: tuple[Type, ...]) -> Type:
    """A row of anonymous fields."""
    return Type("row", tuple(Field(None, t) for t in types))


@kept(4096)
def type_text(value: Type) -> str:
    """The text of a type on the wire, with Presto's own spelling of names."""
    return str(_spelled(value))


def displayed(value: Type) -> str:
    """The text of a type as ``typeof`` shows it."""
    match value.base:
        case "row":
            return f"row({', '.join(_displayed_field(field) for field in value.fields)})"
        case "array" | "map":
            return f"{value.base}({', '.join(displayed(a) for a in value.arguments)})"
        case _:
            return type_text(value)


def _displayed_field(field: Field) -> str:
    return displayed(field.type) if field.name is None else f'"{field.name}" {displayed(field.type)}'


def _spelled(value: Type) -> Type:
    """With Presto's spelling of every name inside."""
    if not value.parameters:
        return Type(_CANONICAL.get(value.base, value.base))
    parameters: list[int | Type | Field] = []
    for p in value.parameters:
        if isinstance(p, Field):
            parameters.append(Field(p.name, _spelled(p.type), p.delimited))
        else:
            parameters.append(_spelled(p) if isinstance(p, Type) else p)
    return Type(value.base, tuple(parameters))


_LEAST_PARAMETERS = {"array": 1, "map": 2, "row": 1}


@kept(4096)
def read_type(text: str) -> Type:
    """The type that a user wrote in a CAST, canonical; raises ValueError with ``Unknown type: …``."""
    try:
        parsed = _canonical(parse_type(_without_angles(text)))
    except ProcessionError:
        raise
    except (ValueError, RecursionError) as error:
        if text.lower() in _LEAST_PARAMETERS:
            text = text.lower()
        raise ValueError(f"Unknown type: {text}") from error
    return parsed


def _without_angles(text: str) -> str:
    if "<" not in text:
        return text
    parts = text.split('"')  # every other one stands in quotes
    return '"'.join(p if i % 2 else p.replace("<", "(").replace(">", ")") for i, p in enumerate(parts))


def _canonical(value: Type) -> Type:
    if value.base not in _KNOWN:
        raise ValueError(f"Unknown type: {value}")
    if len(value.parameters) < _LEAST_PARAMETERS.get(value.base, 0):
        raise ValueError(f"Unknown type: {value.base}")
    if value.base == "decimal":
        numbers = value.numbers or (38, 0)
        precision, scale = (*numbers, 0)[:2]
        if not 1 <= precision <= 38:
            raise _bad_decimal("precision must be in range [1, 38]")
        if scale > precision:
            raise _bad_decimal("scale must be in range [0, precision]")
        return decimal(precision, scale)
    if value.base == "char":
        return Type("char", value.numbers or (1,))
    if value.base in ("timestamp", "time", "timestamp with time zone", "time with time zone"):
        return Type(value.base)
    if value.base == "varchar":
        return varchar(*value.numbers)
    return Type(value.base, tuple(_canonical_parameters(value)))


def _canonical_parameters(value: Type) -> Iterator[int | Type | Field]:
    names: set[str] = set()
    for parameter in value.parameters:
        if isinstance(parameter, Field):
            name = parameter.name if parameter.name is None or parameter.delimited else parameter.name.lower()
            if name in names:
                raise ProcessionError(ErrorCode.INVALID_TYPE_DEFINITION, f"Duplicate field: {name}")
            if name is not None:
                names.add(name)
            yield Field(name, _canonical(parameter.type), parameter.delimited)
        else:
            yield _canonical(parameter) if isinstance(parameter, Type) else parameter


def _bad_decimal(reason: str) -> ProcessionError:
    return ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, f"DECIMAL {reason}")


def length_of(value: Type) -> int:
    """The length of a varchar or char type."""
    return value.numbers[0] if value.numbers else UNBOUNDED_LENGTH


def as_decimal(value: Type) -> Type | None:
    """The decimal type that holds every value of an exact numeric type."""
    if value.base == "decimal":
        return value
    digits = _INTEGER_DIGITS.get(value.base)
    return None if digits is None else decimal(digits, 0)


@kept(8192)
def common_super_type(left: Type, right: Type) -> Type | None:
    """The type that both coerce to, or None."""
    if left == right:
        return left
    if left.base == "unknown":
        return right
    if right.base == "unknown":
        return left
    if left.base == right.base:
        return _same_base(left, right)
    for narrow, wide in ((left, right), (right, left)):
        if wide.base in _WIDENING.get(narrow.base, ()):
            return _widened(narrow, wide)
    return None


def _widened(narrow: Type, wide: Type) -> Type | None:
    if wide.base == "decimal":
        exact = as_decimal(narrow)
        return None if exact is None else _same_base(exact, wide)
    if wide.base in ("char", "varchar"):
        # varchar and char meet in char: comparisons pad (Presto's coerceTypeBase of varchar to char).
        return Type("char", (min(65536, max(length_of(narrow), length_of(wide))),))
    return wide


def _same_base(left: Type, right: Type) -> Type | None:
    if left.base == "decimal":
        scale = max(left.numbers[1], right.numbers[1])
        digits = max(left.numbers[0] - left.numbers[1], right.numbers[0] - right.numbers[1])
        return decimal(min(38, digits + scale), scale)
    if left.base in ("varchar", "char"):
        length = max(length_of(left), length_of(right))
        return varchar(length) if left.base == "varchar" else Type("char", (length,))
    if len(left.parameters) != len(right.parameters):
        return None
    parameters: list[int | Type | Field] = []
    for a, b in zip(left.parameters, right.parameters, strict=True):
        if isinstance(a, int) or isinstance(b, int):
            if a != b:
                return None
            parameters.append(a)
            continue
        common = common_super_type(_inner(a), _inner(b))
        if common is None:
            return None
        if isinstance(a, Field) and isinstance(b, Field):
            same = a.name is not None and a.name == b.name
            parameters.append(Field(a.name if same else None, common, a.delimited and same))
        else:
            parameters.append(common)
    return Type(left.base, tuple(parameters))


def _inner(parameter: Type | Field) -> Type:
    return parameter.type if isinstance(parameter, Field) else parameter


@kept(8192)
def can_coerce(actual: Type, expected: Type) -> bool:
    """Whether Presto casts ``actual`` to ``expected`` without being asked."""
    if actual == expected or actual.base == "unknown":
        return True
    if actual.base == "row" and expected.base == "row":
        pairs = zip(actual.arguments, expected.arguments, strict=False)
        return len(actual.parameters) == len(expected.parameters) and all(can_coerce(a, e) for a, e in pairs)
    if actual.base == expected.base and actual.base in ("array", "map"):
        pairs = zip(actual.arguments, expected.arguments, strict=False)
        return all(can_coerce(a, e) for a, e in pairs)
    if actual.base == "char" and expected.base == "varchar":
        return False
    return common_super_type(actual, expected) == expected


def is_comparable(value: Type) -> bool:
    """Whether ``=`` and DISTINCT work on the type."""
    return value.base not in _NOT_COMPARABLE and all(is_comparable(a) for a in value.arguments)


def is_orderable(value: Type) -> bool:
    """Whether ``<`` and ORDER BY work on the type."""
    return value.base not in _NOT_ORDERABLE and all(is_orderable(a) for a in value.arguments)


def untyped(type_: Type) -> bool:
    """Something in it is of no type: NULL, or what an array or map without elements would hold."""
    return type_.base == "unknown" or any(map(untyped, type_.arguments))


def holds_time(type_: Type) -> bool:
    """Whether values of the type have times of day in them, which Spark's Iceberg neither reads nor writes."""
    return type_.base == "time" or any(map(holds_time, type_.arguments))
