"""``approx_distinct`` on Spark with Presto's estimates, out of aggregates of Spark's that need bounded memory.

A dense HyperLogLog is the largest rank of each bucket, so the set of (bucket, rank) pairs of a group is enough for it:
at most some ten thousand numbers, made in partial steps. A sparse one estimates the number of different 26-bit prefixes
of the hashes, which a theta sketch counts exactly up to more of them than a sparse one may have (docs/adr/0011).
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from coordinator.expressions.builders import typed, value_of
from coordinator.expressions.kernel_values import raised
from coordinator.expressions.types import INTEGERS
from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.sketches.hyperloglog import (
    APPROX_DISTINCT_ERROR,
    PREFIX_BITS,
    bits_of,
    most_sparse,
)
from coordinator.kernels.functions.sketches.hyperloglog_functions import check_xx_hashed
from coordinator.unparser.programs import kernel_call
from coordinator.unparser.trees import binary, call, case, cast, is_null, number, text
from shared.plan.expressions import Call, Constant
from shared.plan.types import Type

Wrap = Callable[[exp.Expr], exp.Expr]
_BIGINT, _INSTANT = Type("bigint"), Type("timestamp with time zone")
_PAIRS = Type("array", (Type("integer"),))
_WITHOUT_SEED = -365884300664092260
"""Spark's xxhash64 begins with the seed 42, and with one value's hash for the next: after this one with Presto's, 0."""
_WORD, _RANK_BITS = 64, 6
_LEAST_KEPT, _SHORT_DECIMAL = 10, 18


def distinct_bits(node: Call) -> int | None:
    """The bits that choose a bucket, for the error that the call names; None where that is no constant."""
    if len(node.arguments) == 1:
        return bits_of(APPROX_DISTINCT_ERROR)
    error = node.arguments[1]
    found = value_of(error) if isinstance(error, Constant) else None
    if found is None:
        return None
    try:
        return bits_of(float(found))
    except KernelError as refused:
        raise raised(refused) from refused


def distinct_estimate(value: exp.Expr, node: Call, bits: int, wrap: Wrap) -> exp.Expr:
    """The estimate for ``value``; ``wrap`` adds FILTER or OVER to each aggregate of Spark's."""
    type_ = typed(node.arguments[0])
    try:
        check_xx_hashed(type_)
    except KernelError as refused:
        raise raised(refused) from refused
    if type_.base == "boolean":
        return cast(call("size", wrap(call("collect_set", value))), _BIGINT, "spark")
    hashed, most = _hash(value, type_), most_sparse(bits)
    prefix = call("shiftrightunsigned", hashed, number(_WORD - PREFIX_BITS))
    kept = max(_LEAST_KEPT, most.bit_length() + 1)
    count = call("theta_sketch_estimate", wrap(call("theta_sketch_agg", prefix, number(kept))))
    sparse = binary(exp.LTE, count, number(most))
    # A program is called for all rows, whatever stands around it; over NULL it does nothing.
    pairs = case([(exp.Not(this=sparse.copy()), wrap(call("collect_set", _pair(hashed.copy(), bits))))])
    types = (_PAIRS, Type("integer"))
    dense = kernel_call("$estimate_of_ranks", types, _BIGINT, [pairs, cast(number(bits), types[1], "spark")], "spark")
    return call("coalesce", case([(sparse, count.copy())]), dense)


def _pair(hashed: exp.Expr, bits: int) -> exp.Expr:
    """The bucket and the rank: how many zeros follow the bucket's bits, and one."""
    bucket = call("shiftrightunsigned", hashed, number(_WORD - bits))
    rest = exp.BitwiseOr(this=call("shiftleft", hashed.copy(), number(bits)), expression=number(1 << (bits - 1)))
    rank = binary(exp.Sub, number(_WORD + 1), call("length", call("bin", rest)))
    shifted = call("shiftleft", bucket, number(_RANK_BITS))
    return cast(binary(exp.Add, shifted, rank), Type("integer"), "spark")


def _hash(value: exp.Expr, type_: Type) -> exp.Expr:
    match type_.base:
        case base if base in INTEGERS:
            return _native(cast(value, _BIGINT, "spark"))
        case "double":
            # Spark hashes both zeros alike.
            zero = binary(exp.EQ, value.copy(), number(0))
            minus = binary(exp.EQ, call("string", value.copy()), text("-0.0"))
            least = call("bigint", text(str(-(1 << 63))))
            return case([(binary(exp.And, zero, minus), _native(least))], _native(value))
        case "decimal" if type_.numbers[0] <= _SHORT_DECIMAL:
            return _native(cast(value, type_, "spark"))
        case "varchar" | "varbinary":
            return _native(value)
        case "char":
            return _native(call("rtrim", value))
        case "date":
            return _native(cast(call("unix_date", value), _BIGINT, "spark"))
        case "timestamp" | "timestamp with time zone":
            return _native(call("unix_millis", cast(value, _INSTANT, "spark")))
    return kernel_call("$xx_hash_64", (type_,), _BIGINT, [value], "spark")


def _native(value: exp.Expr) -> exp.Expr:
    hashed = call("xxhash64", number(_WITHOUT_SEED), value)
    # Of NULL it would be what it began with.
    return case([(exp.Not(this=is_null(value.copy())), hashed)])
