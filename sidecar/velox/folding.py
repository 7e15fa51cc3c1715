"""``POST /v1/expressions``: constant parts of expressions evaluated by Velox, for Presto's native optimizer.

A part is folded when it reads no column, calls nothing that varies, and has a type whose value can be read back
exactly. An evaluation that fails is the item's failure at level EVALUATED and stays as it is at the others.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import msgspec

from shared.errors import ErrorCode
from shared.plan.blocks import decimal_digits, encode_physical
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, Variable, type_of
from shared.protocol.sidecar import Failure, FailureErrorCode, PlanConversionResponse
from sidecar.messages import ExpressionsRequest, Reply
from sidecar.velox import runtime
from sidecar.velox.constants import from_variant, is_true, of_physical, physical
from sidecar.velox.expressions import UNCHECKED, call, cast, expression
from sidecar.velox.functions import presto_name
from sidecar.velox.refusal import STD, RefusalError, user_error
from sidecar.velox.types import BIGINT, VARCHAR, Json, parse, velox_type

_VARYING = frozenset(
    {"rand", "random", "secure_rand", "secure_random", "uuid", "shuffle", "now", "current_date", "fail"}
)
_NO_FAILURE = Failure(
    type="", message="", errorCode=FailureErrorCode(code=0, name="", type=ErrorCode.GENERIC_USER_ERROR.type)
)
_VARBINARY = velox_type("varbinary")


class _Body(msgspec.Struct, frozen=True):
    expressions: tuple[RowExpression, ...]
    sessionProperties: dict[str, str] = {}


_REQUEST: msgspec.json.Decoder[_Body | tuple[RowExpression, ...]] = msgspec.json.Decoder(
    _Body | tuple[RowExpression, ...]
)
"""Coordinators before session properties came along send the expressions alone."""


class _Item(msgspec.Struct, frozen=True):
    optimizedExpression: RowExpression
    expressionFailureInfo: Failure


def answer(request: ExpressionsRequest) -> Reply:
    """Never raises: a malformed request is a failure body, a failing expression a failure of its item."""
    try:
        body = _REQUEST.decode(request.body)
    except (msgspec.DecodeError, RecursionError) as e:
        failure = RefusalError(f"Malformed expressions: {e}", kind=STD).failure()
        return Reply(ok=False, body=msgspec.json.encode(PlanConversionResponse(failures=(failure,))))
    expressions = body.expressions if isinstance(body, _Body) else body
    return Reply(ok=True, body=msgspec.json.encode([_item(e, strict=request.strict) for e in expressions]))


def _item(e: RowExpression, *, strict: bool) -> _Item:
    try:
        return _Item(fold(e, strict=strict), _NO_FAILURE)
    except RefusalError as error:
        return _Item(e, error.failure())
    except RecursionError:
        return _Item(e, user_error("Expression is nested too deeply").failure())


def fold(e: RowExpression, *, strict: bool) -> RowExpression:
    """The expression with its constant parts evaluated; raises RefusalError, with ``strict`` also for a failing one."""
    match e:
        case Variable() | Constant():
            return e
        case Lambda():
            return msgspec.structs.replace(e, body=fold(e.body, strict=False))
        case Call() | SpecialForm():
            if _is_constant(e, frozenset()) and type_of(e) not in ("unknown",):
                value = _evaluated(e, strict=strict)
                if value is not None:
                    return value
            inner = strict and not _is_lazy(e)
            folded = msgspec.structs.replace(e, arguments=tuple(fold(a, strict=inner) for a in e.arguments))
            return _simplified(folded) if isinstance(folded, SpecialForm) else folded


def _is_lazy(e: Call | SpecialForm) -> bool:
    return isinstance(e, SpecialForm) or "try" in presto_name(e.functionHandle)


def _is_constant(e: RowExpression, arguments: frozenset[str]) -> bool:
    match e:
        case Constant():
            return True
        case Variable():
            return e.name in arguments
        case Lambda():
            return _is_constant(e.body, arguments | set(e.arguments))
        case Call():
            name = presto_name(e.functionHandle)
            return name not in _VARYING and all(_is_constant(a, arguments) for a in e.arguments)
        case SpecialForm():
            return all(_is_constant(a, arguments) for a in e.arguments)


def _evaluated(e: Call | SpecialForm, *, strict: bool) -> RowExpression | None:
    type_text = type_of(e)
    reader = _READERS.get(parse(type_text).base)
    if reader is None:
        return None
    try:
        value = reader(_inline(expression(e, UNCHECKED)), type_text)
    except RefusalError:
        if strict:
            raise
        return None
    block = encode_physical(value, type_text)
    return Constant(sourceLocation=e.sourceLocation, valueBlock=block, type=type_text)


def _inline(e: object) -> Any:
    if isinstance(e, dict):
        if e.get("name") == "ConstantTypedExpr":
            return from_variant(e["value"], e["type"])
        return e if e.get("name") == "Type" else {k: _inline(v) for k, v in e.items()}
    return [_inline(v) for v in e] if isinstance(e, list) else e


def _scalar(e: Json) -> str | None:
    """The text of one evaluated value, None for NULL."""
    nothing = {"name": "ValuesNode", "id": "f0", "data": "", "parallelizable": False, "repeatTimes": 1}
    one = {"name": "EnforceSingleRowNode", "id": "f1", "sources": [nothing]}
    plan = {"name": "ProjectNode", "id": "f2", "names": ["ok"], "projections": [e], "sources": [one]}
    vectors = runtime.run_plan(plan)
    child = vectors[0].child_at(0)
    if child.is_null_at(0):
        return None
    return str(vectors[0].print_all()).removeprefix("0: {").rstrip("\n").removesuffix("}")


def _integer(e: Json, _: str) -> int | None:
    text = _scalar(cast(e, BIGINT))
    return None if text is None else int(text)


def _boolean(e: Json, _: str) -> int | None:
    text = _scalar(e)
    return None if text is None else int(text == "true")


def _hex(e: Json) -> bytes | None:
    text = _scalar(call("to_hex", VARCHAR, [e]))
    return None if text is None else bytes.fromhex(text)


def _varchar(e: Json, _: str) -> bytes | None:
    return _hex(call("to_utf8", _VARBINARY, [e]))


def _varbinary(e: Json, _: str) -> bytes | None:
    return _hex(e)


def _double(e: Json, _: str) -> float | None:
    raw = _hex(call("to_ieee754_64", _VARBINARY, [e]))
    return None if raw is None else float(struct.unpack(">d", raw)[0])


def _real(e: Json, _: str) -> float | None:
    raw = _hex(call("to_ieee754_32", _VARBINARY, [e]))
    return None if raw is None else float(struct.unpack(">f", raw)[0])


def _since_epoch(unit: str) -> Callable[[Json, str], int | None]:
    def read(e: Json, type_text: str) -> int | None:
        name = of_physical(unit.encode(), parse("varchar"), VARCHAR)
        epoch = of_physical(0, parse(type_text), velox_type(type_text))
        return _integer(call("date_diff", BIGINT, [name, epoch, e]), type_text)

    return read


def _decimal(e: Json, type_text: str) -> int | bytes | None:
    text = _scalar(cast(e, VARCHAR))
    if text is None:
        return None
    precision, _ = decimal_digits(parse(type_text))
    unscaled = int(text.replace(".", ""))
    if precision <= 18:
        return unscaled
    sign = 1 << 127 if unscaled < 0 else 0
    return (abs(unscaled) | sign).to_bytes(16, "little")


_READERS: dict[str, Callable[[Json, str], object]] = {
    "boolean": _boolean,
    "tinyint": _integer,
    "smallint": _integer,
    "integer": _integer,
    "bigint": _integer,
    "double": _double,
    "real": _real,
    "varchar": _varchar,
    "varbinary": _varbinary,
    "date": _since_epoch("day"),
    "timestamp": _since_epoch("millisecond"),
    "decimal": _decimal,
}


def _simplified(e: SpecialForm) -> RowExpression:
    """Laws of logic on folded arguments."""
    match e.form:
        case "AND" | "OR":
            return _conjunction(e)
        case "IF" if isinstance(e.arguments[0], Constant):
            chosen = 1 if is_true(e.arguments[0]) else 2
            return e.arguments[chosen] if chosen < len(e.arguments) else e
        case "COALESCE":
            return _coalesce(e)
        case _:
            return e


def _conjunction(e: SpecialForm) -> RowExpression:
    absorbing = 0 if e.form == "AND" else 1
    kept = []
    for argument in e.arguments:
        value = physical(argument) if isinstance(argument, Constant) else None
        if value is None:
            kept.append(argument)
        elif value == absorbing:
            return argument
    if not kept:
        return e.arguments[0]
    return kept[0] if len(kept) == 1 else msgspec.structs.replace(e, arguments=tuple(kept))


def _coalesce(e: SpecialForm) -> RowExpression:
    kept: list[RowExpression] = []
    for argument in e.arguments:
        if isinstance(argument, Constant) and physical(argument) is None:
            continue
        kept.append(argument)
        if isinstance(argument, Constant):
            break
    if not kept:
        return e.arguments[0]
    return kept[0] if len(kept) == 1 else msgspec.structs.replace(e, arguments=tuple(kept))
