"""Which programs our classes compute in Spark's JVM (``engine/spark/jvm/procession/spark/Forms.java``)."""

from __future__ import annotations

JAVA_FUNCTIONS = frozenset([
    "$average", "$operator$divide", "$operator$modulus", "date_format", "date_parse", "format_datetime",
    "from_unixtime", "is_json_scalar", "json_array_contains", "json_array_get", "json_extract", "json_extract_scalar",
    "json_parse", "json_size", "url_extract_fragment", "url_extract_host", "url_extract_parameter", "url_extract_path",
    "url_extract_port", "url_extract_protocol", "url_extract_query",
])  # fmt: skip
JAVA_CASTS = frozenset(
    f"json {target}"
    for target in (
        "array(bigint)", "array(double)", "array(json)", "array(varchar)", "bigint", "boolean", "double", "integer",
        "map(varchar,json)", "map(varchar,varchar)", "varchar",
    )
)  # fmt: skip
_BELOW = frozenset(["bigint double", "date timestamp"])
"""Casts that are part of a function above them."""


def in_java(step: object) -> bool:
    """Whether every step of a program is one that the classes know, whatever its arguments are."""
    match step:
        case ["column" | "constant", *_]:
            return True
        case ["try", inner]:
            return in_java(inner)
        case ["form", "COALESCE", _, list(inner)]:
            return all(map(in_java, inner))
        case ["cast", _, str(source), str(target), inner]:
            pair = f"{source} {target}"
            return target == "jsonpath" or ((pair in JAVA_CASTS or pair in _BELOW) and in_java(inner))
        case ["call", str(name), _, _, list(inner)]:
            return name in JAVA_FUNCTIONS and all(map(in_java, inner))
    return False
