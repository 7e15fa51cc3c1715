# ruff: noqa: ARG001, S311, E501
# Every typed function has one signature; Presto's random() is no secret either.
"""Mathematical functions, with Presto's texts (MathFunctions, BitwiseFunctions)."""

from __future__ import annotations

import math
import random
import re
import secrets
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import Any

from .compare import compare
from .failures import by_zero, check, invalid, out_of_range
from .numbers import java_double, single
from .table import Signature, Table, plain, typed

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_WIDE = Context(prec=90)
_MOST_DIGITS = 40
"""No number has as many before its point."""
_BITS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}


def signed(value: int, bits: int) -> int:
    """The two's complement of the low bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _guarded(function: Callable[..., Any]) -> Callable[..., object]:
    """Java gives NaN and infinities where Python raises."""

    def apply(*values: float) -> float:
        try:
            return float(function(*map(float, values)))
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return apply


def _log(base: float) -> Callable[..., object]:
    def log(value: float) -> float:
        if value == 0:
            return -math.inf
        if value < 0:
            return math.nan
        return {2: math.log2, 10: math.log10}.get(int(base), math.log)(value)

    return log


def _power(a: float, b: float) -> float:
    a, b = float(a), float(b)
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        return math.inf if a == 0 else math.nan


def _round_float(value: float, digits: int = 0) -> float:
    if not math.isfinite(value):
        return value
    # Half away from zero on the value that is stored, scaled as Java does.
    scaled = abs(value) * 10.0**digits if abs(digits) < 300 else math.inf if digits > 0 else 0.0
    if not math.isfinite(scaled) or scaled >= 2**53:
        return value
    if digits <= -300:
        return math.copysign(0.0, value)
    whole = math.floor(scaled)
    rounded = whole + (scaled - whole >= 0.5)
    return math.copysign(rounded / 10.0**digits, value)


def _round(signature: Signature, value: Any, digits: int = 0) -> Any:
    base = signature.result.base
    if base in ("double", "real"):
        return single(_round_float(value, digits)) if base == "real" else _round_float(value, digits)
    if base == "decimal":
        precision, scale = signature.result.numbers
        digits = max(digits, -_MOST_DIGITS)
        exponent = Decimal(1).scaleb(-min(digits, signature.arguments[0].numbers[1]))
        rounded = value.quantize(exponent, ROUND_HALF_UP, _WIDE)
        rounded = rounded.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _WIDE)
        if rounded and rounded.adjusted() >= precision - scale:
            raise out_of_range(f"decimal overflow: {rounded:f}")
        return rounded
    return value  # whole numbers stay as they are in Presto, also for digits before the point


def _whole(rounding: str) -> Callable[..., object]:
    def whole(signature: Signature, value: object) -> object:
        if isinstance(value, Decimal):
            return value.to_integral_value(rounding)
        if isinstance(value, float):
            if not math.isfinite(value):
                return value
            return math.copysign(math.floor(value) if rounding == ROUND_FLOOR else math.ceil(value), value)
        return value

    return whole


def _truncate(signature: Signature, value: Any, digits: int = 0) -> Any:
    if isinstance(value, Decimal):
        digits = max(digits, -_MOST_DIGITS)
        cut = value.quantize(Decimal(1).scaleb(-min(digits, signature.arguments[0].numbers[1])), ROUND_DOWN, _WIDE)
        return cut.quantize(Decimal(1).scaleb(-signature.result.numbers[1]), ROUND_DOWN, _WIDE)
    if not math.isfinite(value):
        return value
    if abs(digits) > 330:
        return value if digits > 0 else 0.0
    exact = Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_DOWN, Context(prec=700))
    return single(float(exact)) if signature.result.base == "real" else float(exact)


def _absolute(signature: Signature, value: Any) -> Any:
    bits = _BITS.get(signature.result.base)
    if bits and value == -(1 << (bits - 1)):
        raise out_of_range(f"Value {value} is out of range for abs({signature.result.base})")
    return value.copy_abs() if isinstance(value, Decimal) else abs(value)


def _sign(signature: Signature, value: Any) -> Any:
    if isinstance(value, float):
        return value if value != value else float((value > 0) - (value < 0))
    found = (value > 0) - (value < 0)
    return Decimal(found) if isinstance(value, Decimal) else found


def _mod(signature: Signature, a: Any, b: Any) -> Any:
    if isinstance(a, float):
        return math.nan if not b or math.isinf(a) else math.fmod(a, b)
    if not b:
        raise by_zero("/ by zero" if isinstance(b, int) else "Division by zero")
    return _WIDE.remainder(a, b) if isinstance(a, Decimal) else int(math.copysign(1, a)) * (abs(a) % abs(b))


def _factorial(value: int) -> int:
    check(value >= 0, "The factorial function is only defined for non-negative integers")
    check(value <= 20, "The output of the factorial function would overflow for any input over 20")
    return math.factorial(value)


def _from_base(text: str, radix: int) -> int:
    check(2 <= radix <= 36, "Radix must be between 2 and 36")
    try:
        value = int(text, radix) if "_" not in text and text == text.strip() else int("x", 2)
    except ValueError as error:
        raise invalid(f"Not a valid base-{radix} number: {text}") from error
    check(-(1 << 63) <= value < 1 << 63, f"Not a valid base-{radix} number: {text}")
    return value


def _to_base(value: int, radix: int) -> str:
    check(2 <= radix <= 36, "Radix must be between 2 and 36")
    made, rest = "", abs(value)
    while True:
        rest, digit = divmod(rest, radix)
        made = _DIGITS[digit] + made
        if not rest:
            return f"-{made}" if value < 0 else made


def _width_bucket(value: float, *bounds: Any) -> int:
    if len(bounds) == 1:
        return _bin_bucket(value, bounds[0])
    low, high, count = bounds
    check(count > 0, "bucketCount must be greater than 0")
    check(value == value, "operand must not be NaN")
    check(math.isfinite(low), "first bound must be finite")
    check(math.isfinite(high), "second bound must be finite")
    check(low != high, "bounds cannot equal each other")
    smallest, largest = min(low, high), max(low, high)
    if count == (1 << 63) - 1 and not smallest <= value < largest:
        raise out_of_range(f"Bucket for value {java_double(value)} is out of range")
    if value < smallest:
        result = 0
    elif value >= largest:
        result = count + 1
    else:
        result = int(count * (value - smallest) / (largest - smallest)) + 1
    return count - result + 1 if low > high else result


_UNSORTED = "Bin values are not sorted in ascending order"


def _bin(bins: tuple[float | None, ...], place: int) -> float:
    return bins[place] or 0.0


def _bin_bucket(value: float, bins: tuple[float, ...]) -> int:
    check(len(bins) > 0, "Bins cannot be an empty array")
    check(value == value, "Operand cannot be NaN")
    low, high = 0, len(bins)
    while low < high:
        check(None not in (bins[low], bins[high - 1]), "Bin values cannot be NULL")
        check(_bin(bins, low) <= _bin(bins, high - 1), _UNSORTED)
        middle = (low + high) // 2
        if bins[middle] is not None:
            check(_bin(bins, low) <= _bin(bins, middle) <= _bin(bins, high - 1), _UNSORTED)
        check(bins[middle] is not None, "Bin values cannot be NULL")
        check(math.isfinite(bins[middle]), "Bin values must be finite")
        if value < bins[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def _bit_count(value: int, bits: int) -> int:
    check(2 <= bits <= 64, f"Bits specified in bit_count must be between 2 and 64, got {bits}")
    check(-(1 << (bits - 1)) <= value < 1 << (bits - 1),
          f"Number must be representable with the bits specified. {value} can not be represented with {bits} bits")  # fmt: skip
    return (value & ((1 << bits) - 1)).bit_count()


def _shift(signature: Signature, value: int, count: int, direction: str) -> int:
    bits = _BITS[signature.result.base]
    if direction == "left":
        return signed(value << count, bits) if count < bits else 0
    if direction == "logical":
        return signed((value & ((1 << bits) - 1)) >> count, bits) if count < bits else 0
    return value >> min(count, bits)


def _shifter(direction: str) -> Callable[..., object]:
    def shift(signature: Signature, value: int, count: int) -> int:
        return _shift(signature, value, count if count >= 0 else 1 << 20, direction)

    return shift


def _old_shift(left: bool) -> Callable[..., object]:
    def shift(value: int, count: int, bits: int) -> int:
        check(2 <= bits <= 64, f"Bits specified must be between 2 and 64, got {bits}")
        check(count >= 0, "Specified shift must be positive")
        if bits == 64:
            return signed(value << (count % 64), 64) if left else signed((value & (1 << 64) - 1) >> (count % 64), 64)
        mask = (1 << bits) - 1
        return (value << count) & mask if left else (value & mask) >> count

    return shift


def _arithmetic_shift(value: int, count: int) -> int:
    check(count >= 0, "Specified shift must be positive")
    return value >> min(count, 64)


def _extreme(sign: int) -> Callable[..., object]:
    def extreme(*values: object) -> object:
        best = values[0]
        for value in values[1:]:
            if compare(value, best) * sign > 0:
                best = value
        return best

    return extreme


def _random(*bounds: Any) -> Any:
    if not bounds:
        return random.random()
    low, high = (0, *bounds)[-2:]
    check(high > low, "bound must be positive" if len(bounds) == 1 else "upper bound must be greater than lower bound")
    return random.randrange(low, high)


def _secure(signature: Signature, *bounds: Any) -> Any:
    source = secrets.SystemRandom()
    if not bounds:
        return source.random()
    low, high = bounds
    check(low < high, "upper bound must be greater than lower bound")
    return source.uniform(low, high) if signature.result.base == "double" else source.randrange(low, high)


def _wilson(sign: int) -> Callable[..., object]:
    def bound(successes: int, trials: int, z: float) -> float:
        check(trials > 0, "number of trials must be positive")
        check(successes >= 0, "number of successes must not be negative")
        check(z >= 0, "z-score must not be negative")
        check(successes <= trials, "number of successes must not be larger than number of trials")
        p = successes / trials
        middle = p + z * z / (2 * trials)
        spread = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
        return (middle + sign * spread) / (1 + z * z / trials)

    return bound


_SIZES = {"B": 0, "kB": 10, "MB": 20, "GB": 30, "TB": 40, "PB": 50, "EB": 60, "ZB": 70, "YB": 80}


def _data_size(text: str) -> Decimal:
    match = re.fullmatch(r"([\d.]+)([BkMGTPEZY]+)", text)
    if match is None or match[2] not in _SIZES:
        raise invalid(f"Invalid data size: '{text}'")
    try:
        value = Decimal(match[1])
    except ArithmeticError as error:
        raise invalid(f"Invalid data size: '{text}'") from error
    if value.adjusted() >= 38:
        raise out_of_range(f"Value out of range: '{text}'")
    size = _WIDE.multiply(value, Decimal(1 << _SIZES[match[2]])).quantize(Decimal(1), ROUND_DOWN, _WIDE)
    if size and size.adjusted() >= 38:
        raise out_of_range(f"Value out of range: '{text}' ('{size:f}B')")
    return size


MATHS: Table = {
    **plain(
        sqrt=_guarded(math.sqrt), cbrt=_guarded(math.cbrt), exp=_guarded(math.exp), ln=_log(0), log10=_log(10),
        log2=_log(2), sin=_guarded(math.sin), cos=_guarded(math.cos), tan=_guarded(math.tan),
        asin=_guarded(math.asin), acos=_guarded(math.acos), atan=_guarded(math.atan), atan2=_guarded(math.atan2),
        sinh=_guarded(math.sinh), cosh=_guarded(math.cosh), tanh=_guarded(math.tanh), degrees=math.degrees,
        radians=math.radians, power=_power, pow=_power, pi=lambda: math.pi, e=lambda: math.e,
        nan=lambda: math.nan, infinity=lambda: math.inf, is_nan=lambda v: v != v, is_finite=math.isfinite,
        is_infinite=math.isinf, factorial=_factorial, from_base=_from_base, to_base=_to_base,
        width_bucket=_width_bucket, bit_count=_bit_count, bitwise_and=lambda a, b: a & b,
        bitwise_or=lambda a, b: a | b, bitwise_xor=lambda a, b: a ^ b, bitwise_not=lambda a: ~a,
        bitwise_arithmetic_shift_right=_arithmetic_shift, bitwise_logical_shift_right=_old_shift(False),
        bitwise_shift_left=_old_shift(True), greatest=_extreme(1), least=_extreme(-1), rand=_random, random=_random,
        wilson_interval_lower=_wilson(-1), wilson_interval_upper=_wilson(1), parse_presto_data_size=_data_size,
    ),
    **typed(
        abs=_absolute, sign=_sign, mod=_mod, round=_round, truncate=_truncate, floor=_whole(ROUND_FLOOR),
        ceil=_whole(ROUND_CEILING), ceiling=_whole(ROUND_CEILING), secure_random=_secure, secure_rand=_secure,
        bitwise_left_shift=_shifter("left"), bitwise_right_shift=_shifter("logical"),
        bitwise_right_shift_arithmetic=_shifter("arithmetic"),
    ),
}  # fmt: skip
