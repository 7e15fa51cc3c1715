"""RowExpressions to Velox typed expressions, by the rules of Presto C++'s ``VeloxExprConverter``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, Variable
from sidecar.velox.constants import constant, is_true
from sidecar.velox.functions import presto_name, velox_name
from sidecar.velox.refusal import located, unsupported, user_error
from sidecar.velox.types import BIGINT, BOOLEAN, VARCHAR, Json, parse, same_type, type_text, velox_type

# Casts to these Java-only types carry a pattern to a function that takes plain text here.
_PATTERN_TYPES = frozenset({"re2jregexp", "joniregexp", "jsonpath", "codepoints", "likepattern"})
_JSON_CASTS = ("$internal$json_string_to_array_cast", "$internal$json_string_to_map_cast")
_JSON_ROW_CAST = "$internal$json_string_to_row_cast"


@dataclass(frozen=True, slots=True)
class Scope:
    """Columns that an expression may read; ``columns`` is None when nobody checks."""

    columns: Mapping[str, Json] | None
    arguments: Mapping[str, Json]

    def resolve(self, variable: Variable, declared: Json) -> None:
        """Raises RefusalError when the column is missing or has another type."""
        if self.columns is None or variable.name in self.arguments:
            return
        found = self.columns.get(variable.name)
        if found is None:
            raise user_error(f"Field not found: {variable.name}. Available fields are: {', '.join(self.columns)}.")
        if not same_type(found, declared):
            raise user_error(
                f"Field {variable.name} has type {type_text(found)}, but is read as {type_text(declared)}."
            )


UNCHECKED = Scope(None, {})


def field(variable: Variable, scope: Scope = UNCHECKED) -> Json:
    """A column reference."""
    velox = velox_type(variable.type)
    with located(variable.sourceLocation):
        scope.resolve(variable, velox)
    return {"name": "FieldAccessTypedExpr", "type": velox, "fieldName": variable.name}


def column(name: str, velox: Json) -> Json:
    """A column reference by Velox type."""
    return {"name": "FieldAccessTypedExpr", "type": velox, "fieldName": name}


def call(name: str, result: Json, inputs: list[Json]) -> Json:
    """A function call or special form."""
    return {"name": "CallTypedExpr", "type": result, "functionName": name, "inputs": inputs}


def cast(value: Json, target: Json, *, null_on_failure: bool = False) -> Json:
    """CAST, or TRY_CAST."""
    return {"name": "CastTypedExpr", "type": target, "inputs": [value], "nullOnFailure": null_on_failure}


def expression(e: RowExpression, scope: Scope) -> Json:
    """The Velox expression; raises RefusalError where Presto C++ refuses."""
    match e:
        case Variable():
            return field(e, scope)
        case Constant():
            with located(e.sourceLocation):
                return constant(e)
        case Call():
            with located(e.sourceLocation):
                return _call(e, scope)
        case SpecialForm():
            with located(e.sourceLocation):
                return _FORMS[e.form](e, scope)
        case Lambda():
            return _lambda(e, scope)
        case _:
            assert_never(e)


def _arguments(arguments: tuple[RowExpression, ...], scope: Scope) -> list[Json]:
    return [expression(a, scope) for a in arguments]


def _call(e: Call, scope: Scope) -> Json:
    name = presto_name(e.functionHandle)
    special = _CALLS.get(name)
    if special is not None:
        return special(e, scope)
    return call(velox_name(name), velox_type(e.returnType), _arguments(e.arguments, scope))


def _one(e: Call, scope: Scope) -> Json:
    if len(e.arguments) != 1:
        raise user_error(f"{presto_name(e.functionHandle)} takes one argument, got {len(e.arguments)}")
    return expression(e.arguments[0], scope)


def _cast(e: Call, scope: Scope) -> Json:
    value = _one(e, scope)
    if parse(e.returnType).base in _PATTERN_TYPES:
        return value
    return cast(value, velox_type(e.returnType), null_on_failure=presto_name(e.functionHandle).endswith("try_cast"))


def _date(e: Call, scope: Scope) -> Json:
    return cast(_one(e, scope), velox_type("date"))


def _try(e: Call, scope: Scope) -> Json:
    match e.arguments:
        case (Lambda(arguments=(), body=body),):
            return call("try", velox_type(e.returnType), [expression(body, scope)])
        case _:
            return call("try", velox_type(e.returnType), _arguments(e.arguments, scope))


def _json_cast(e: Call, scope: Scope) -> Json:
    return cast(call("json_parse", velox_type("json"), [_one(e, scope)]), velox_type(e.returnType))


def _hash_code(e: Call, scope: Scope) -> Json:
    """Java's hash_code, by the one hash that Velox has: integers as bigint, what it cannot read as text."""
    value = _one(e, scope)
    type_ = value["type"]["type"]
    if type_ in ("TINYINT", "SMALLINT", "INTEGER"):
        value = cast(value, BIGINT)
    elif type_ not in ("BIGINT", "VARCHAR", "DATE"):
        value = cast(value, VARCHAR)
    return call("xxhash64_internal", BIGINT, [value])


def _like(e: Call, scope: Scope) -> Json:
    if len(e.arguments) != 2:
        return call("like", BOOLEAN, _arguments(e.arguments, scope))
    value, pattern = e.arguments
    if isinstance(pattern, Call):
        name = presto_name(pattern.functionHandle)
        if name == "like_pattern" or name == "$operator$cast":
            return call("like", BOOLEAN, [expression(value, scope), *_arguments(pattern.arguments, scope)])
    return call("like", BOOLEAN, _arguments(e.arguments, scope))


def _lambda(e: Lambda, scope: Scope) -> Json:
    types = [velox_type(t) for t in e.argumentTypes]
    if len(types) != len(e.arguments):
        raise user_error("Lambda has another number of arguments than of argument types")
    inner = replace(scope, arguments={**scope.arguments, **dict(zip(e.arguments, types, strict=True))})
    return _lambda_json(list(e.arguments), types, expression(e.body, inner))


def _lambda_json(names: list[str], types: list[Json], body: Json) -> Json:
    return {
        "name": "LambdaTypedExpr",
        "type": {"name": "Type", "type": "FUNCTION", "cTypes": [*types, body["type"]]},
        "signature": {"name": "Type", "type": "ROW", "names": names, "cTypes": types},
        "body": body,
    }


# Special forms


def _conjunction(e: SpecialForm, scope: Scope) -> Json:
    """AND and OR, flattened: nesting costs depth, which Velox's JSON parser limits."""
    terms: list[RowExpression] = []
    pending = list(reversed(e.arguments))
    while pending:
        term = pending.pop()
        if isinstance(term, SpecialForm) and term.form == e.form:
            pending.extend(reversed(term.arguments))
        else:
            terms.append(term)
    return call(e.form.lower(), BOOLEAN, _arguments(tuple(terms), scope))


def _plain(e: SpecialForm, scope: Scope) -> Json:
    name = "row_constructor" if e.form == "ROW_CONSTRUCTOR" else e.form.lower()
    return call(name, velox_type(e.returnType), _arguments(e.arguments, scope))


def _null_if(_: SpecialForm, __: Scope) -> Json:
    raise unsupported("NULL_IF not supported in specialForm")


def _when(_: SpecialForm, __: Scope) -> Json:
    raise user_error("WHEN outside of SWITCH")


def _switch(e: SpecialForm, scope: Scope) -> Json:
    if not e.arguments:
        raise user_error("SWITCH without arguments")
    operand, *cases = e.arguments
    searched = isinstance(operand, Constant) and parse(operand.type).base == "boolean" and is_true(operand)
    value = None if searched else expression(operand, scope)
    inputs: list[Json] = []
    for case in cases:
        if isinstance(case, SpecialForm) and case.form == "WHEN" and len(case.arguments) == 2:
            condition = expression(case.arguments[0], scope)
            inputs.append(condition if value is None else _equals(value, condition))
            inputs.append(expression(case.arguments[1], scope))
        else:
            inputs.append(expression(case, scope))
    return call("switch", velox_type(e.returnType), inputs)


def _equals(value: Json, other: Json) -> Json:
    if not same_type(value["type"], other["type"]):
        other = cast(other, value["type"])
    return call("eq", BOOLEAN, [value, other])


def _dereference(e: SpecialForm, scope: Scope) -> Json:
    if len(e.arguments) != 2 or not isinstance(e.arguments[1], Constant):
        raise user_error("DEREFERENCE takes a row and a constant index")
    source = expression(e.arguments[0], scope)
    index = constant(e.arguments[1])["value"]["value"]
    fields = source["type"].get("cTypes", ()) if source["type"]["type"] == "ROW" else ()
    if not isinstance(index, int) or not 0 <= index < len(fields):
        raise user_error(f"Field index {index} is outside of {type_text(source['type'])}")
    return {
        "name": "DereferenceTypedExpr",
        "type": velox_type(e.returnType),
        "inputs": [source],
        "fieldIndex": index,
    }


def _bind(e: SpecialForm, scope: Scope) -> Json:
    """BIND(x, …, (a, …, rest) -> body) is the lambda over rest with a := x."""
    *values, function = e.arguments
    if not isinstance(function, Lambda) or not (len(values) <= len(function.arguments) == len(function.argumentTypes)):
        raise user_error("BIND takes values and a lambda with at least as many arguments")
    count = len(values)
    bound = dict(zip(function.arguments[:count], (expression(v, scope) for v in values), strict=True))
    types = [velox_type(t) for t in function.argumentTypes]
    arguments = {**scope.arguments, **dict(zip(function.arguments, types, strict=True))}
    body = expression(function.body, replace(scope, arguments=arguments))
    return _lambda_json(list(function.arguments[count:]), types[count:], substitute(body, bound))


def substitute(e: Json, bound: Mapping[str, Json]) -> Json:
    """The expression with column references replaced by expressions; lambda arguments shadow."""
    if e["name"] == "FieldAccessTypedExpr" and not e.get("inputs"):
        return bound.get(e["fieldName"], e)
    if e["name"] == "LambdaTypedExpr":
        inner = {k: v for k, v in bound.items() if k not in e["signature"]["names"]}
        return {**e, "body": substitute(e["body"], inner)}
    if "inputs" in e:
        return {**e, "inputs": [substitute(i, bound) for i in e["inputs"]]}
    return e


Form = Callable[[SpecialForm, Scope], Json]
_FORMS: dict[str, Form] = {
    "AND": _conjunction,
    "OR": _conjunction,
    "IF": _plain,
    "COALESCE": _plain,
    "IS_NULL": _plain,
    "IN": _plain,
    "ROW_CONSTRUCTOR": _plain,
    "NULL_IF": _null_if,
    "SWITCH": _switch,
    "WHEN": _when,
    "DEREFERENCE": _dereference,
    "BIND": _bind,
}
_CALLS: dict[str, Callable[[Call, Scope], Json]] = {
    "$operator$cast": _cast,
    "cast": _cast,
    "try_cast": _cast,
    "$operator$try_cast": _cast,
    "date": _date,
    "$operator$hash_code": _hash_code,
    "$internal$try": _try,
    "like": _like,
    _JSON_CASTS[0]: _json_cast,
    _JSON_CASTS[1]: _json_cast,
    _JSON_ROW_CAST: _json_cast,
}


def not_of(e: RowExpression) -> RowExpression | None:
    """What a ``not`` call negates, or None."""
    if isinstance(e, Call) and presto_name(e.functionHandle) == "not" and len(e.arguments) == 1:
        return e.arguments[0]
    return None
