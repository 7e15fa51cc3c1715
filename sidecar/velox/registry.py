"""``/v1/functions``: Velox's registry in the shape of Presto C++'s function metadata.

Presto reads: name -> list of {docString, functionKind, outputType, paramTypes, schema, variableArity,
routineCharacteristics, type and long variable constraints, aggregateMetadata}.
"""

from __future__ import annotations

import re

import msgspec

from sidecar.velox import runtime

SCHEMA = "default"
_OPERATORS = {
    "plus": "add",
    "minus": "subtract",
    "multiply": "multiply",
    "divide": "divide",
    "mod": "modulus",
    "negate": "negation",
    "eq": "equal",
    "neq": "not_equal",
    "lt": "less_than",
    "lte": "less_than_or_equal",
    "gt": "greater_than",
    "gte": "greater_than_or_equal",
    "between": "between",
    "distinct_from": "is_distinct_from",
    "subscript": "subscript",
}
_HIDDEN = frozenset({"row_constructor", "in", "is_null", "combine_hash_internal", "xxhash64_internal"})
_COMPANION = re.compile(r"_(partial|merge|merge_extract.*|extract.*)$")
_NOT_DETERMINISTIC = frozenset({"rand", "random", "secure_rand", "secure_random", "uuid", "shuffle"})
_CALLED_ON_NULL = frozenset({"array_constructor", "distinct_from", "map_from_entries", "not"}) - {"not"}
_ORDER_SENSITIVE = frozenset(
    {"array_agg", "arbitrary", "any_value", "first", "last", "map_agg", "multimap_agg", "reduce_agg", "set_agg"}
)
_ALIKE = "min(38, max({0} - {1}, {2} - {3}) + max({1}, {3}) + 1)"
_WHOLE = "min(38, {0} - {1} + min({1}, 1))"
_LARGER_SCALE = "max({1}, {3})"
# The binding tells no constraints; these are Velox's (DecimalFunctions.cpp): precision and scale of the result by
# precisions and scales of the arguments. By function and number of arguments.
_DECIMAL_RESULTS: dict[tuple[str, int], tuple[str, ...]] = {
    ("$operator$add", 2): (_ALIKE, _LARGER_SCALE),
    ("$operator$subtract", 2): (_ALIKE, _LARGER_SCALE),
    ("$operator$multiply", 2): ("min(38, {0} + {2})", "{1} + {3}"),
    ("$operator$divide", 2): ("min(38, {0} + {3} + max(0, {3} - {1}))", _LARGER_SCALE),
    ("$operator$modulus", 2): ("min({2} - {3}, {0} - {1}) + max({1}, {3})", _LARGER_SCALE),
    ("floor", 1): (_WHOLE, "0"),
    ("round", 1): (_WHOLE, "0"),
    ("round", 2): ("min(38, {0} + 1)",),
    ("truncate", 1): ("max({0} - {1}, 1)", "0"),
    ("parse_presto_data_size", 1): ("38", "0"),
}
_NUMBER_VARIABLE = re.compile(r"\b(?:a_(?:precision|scale)|[a-z]\d{1,2})\b")
_TYPE_VARIABLE = re.compile(r"\b(?:__user_T\d+|[A-Z]\d{0,2})\b")
_WINDOWS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("row_number", (), "bigint"),
    ("rank", (), "bigint"),
    ("dense_rank", (), "bigint"),
    ("percent_rank", (), "double"),
    ("cume_dist", (), "double"),
    ("ntile", ("bigint",), "bigint"),
    ("first_value", ("T",), "T"),
    ("last_value", ("T",), "T"),
    ("nth_value", ("T", "bigint"), "T"),
    *(
        (name, arguments, "T")
        for name in ("lag", "lead")
        for arguments in (("T",), ("T", "bigint"), ("T", "bigint", "T"))
    ),
)


def functions() -> bytes:
    """All functions as JSON."""
    scalar, aggregate = runtime.signatures()
    listed: dict[str, list[dict[str, object]]] = {}
    for name, signatures in scalar.items():
        if name in _HIDDEN or name.startswith("$internal$") or _is_companion(name, aggregate):
            continue
        presto = f"$operator${_OPERATORS[name]}" if name in _OPERATORS else name
        listed[presto] = [m for s in signatures if (m := _metadata(presto, s, "SCALAR"))]
    for name, signatures in aggregate.items():
        if not _is_companion(name, aggregate):
            made = [m for s in signatures if (m := _metadata(name, s, "AGGREGATE"))]
            listed[name] = [*listed.get(name, ()), *made]
    for name, arguments, result in _WINDOWS:
        listed.setdefault(name, []).append(_entry(name, "WINDOW", list(arguments), result, variadic=False))
    return msgspec.json.encode({name: made for name, made in sorted(listed.items()) if made})


def _is_companion(name: str, aggregate: dict[str, list[str]]) -> bool:
    match = _COMPANION.search(name)
    return match is not None and name[: match.start()] in aggregate


def _metadata(name: str, signature: str, kind: str) -> dict[str, object] | None:
    if "hugeint" in signature.lower():  # no type of Presto's
        return None
    arguments, *results = _split_arrows(signature)
    parameters = _split_arguments(arguments.strip()[1:-1])
    variadic = bool(parameters) and parameters[-1].endswith("...")
    cleaned = [_type(p.removesuffix("...").removeprefix("constant ")) for p in parameters]
    made = _entry(name, kind, cleaned, _type(results[-1]), variadic=variadic)
    if kind == "AGGREGATE":
        if len(results) != 2:
            return None
        made["aggregateMetadata"] = {
            "intermediateType": _type(results[0]).lower(),
            "isOrderSensitive": name in _ORDER_SENSITIVE,
        }
    return made


def _entry(name: str, kind: str, parameters: list[str], result: str, *, variadic: bool) -> dict[str, object]:
    used = " ".join([*parameters, result])
    deterministic = "NOT_DETERMINISTIC" if name in _NOT_DETERMINISTIC else "DETERMINISTIC"
    on_null = kind == "SCALAR" and name not in _CALLED_ON_NULL
    return {
        "docString": f"presto.{SCHEMA}.{name}",
        "functionKind": kind,
        "outputType": result.lower(),
        "paramTypes": [parameter.lower() for parameter in parameters],
        "schema": SCHEMA,
        "variableArity": variadic,
        "routineCharacteristics": {
            "language": "CPP",
            "determinism": deterministic,
            "nullCallClause": "RETURNS_NULL_ON_NULL_INPUT" if on_null else "CALLED_ON_NULL_INPUT",
        },
        "typeVariableConstraints": [
            {
                "name": variable.lower(),
                "comparableRequired": False,
                "orderableRequired": False,
                "variadicBound": "",
                "nonDecimalNumericRequired": False,
            }
            for variable in dict.fromkeys(_TYPE_VARIABLE.findall(used))
        ],
        "longVariableConstraints": _number_constraints(name, parameters, result),
        "isRpcFunction": False,
    }


def _number_constraints(name: str, parameters: list[str], result: str) -> list[dict[str, str]]:
    """What the numbers in the result's type are; those that only arguments have need no constraint."""
    given = list(dict.fromkeys(_NUMBER_VARIABLE.findall(" ".join(parameters))))
    computed = [v for v in dict.fromkeys(_NUMBER_VARIABLE.findall(result)) if v not in given]
    templates = _DECIMAL_RESULTS.get((name, len(parameters)), ())
    return [
        {"name": variable, "expression": template.format(*given)}
        for variable, template in zip(computed, templates, strict=False)
    ]


def _type(text: str) -> str:
    """Velox's signature type in Presto's spelling: base names in lower case, variables as they are."""
    return re.sub(r"\b[A-Z][A-Z ]+[A-Z]\b", lambda m: m[0].lower(), text.strip())


def _split_arrows(signature: str) -> list[str]:
    return signature.split(" -> ")


def _split_arguments(text: str) -> list[str]:
    parts, level, current = [], 0, ""
    for character in text:
        if character == "," and level == 0:
            parts.append(current)
            current = ""
            continue
        level += (character == "(") - (character == ")")
        current += character
    return [p.strip() for p in [*parts, current] if p.strip()]
