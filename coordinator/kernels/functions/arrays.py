# Presto's shuffle() is no secret.
"""Functions of arrays."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import cmp_to_key
from typing import Any

from ..errors import KernelError
from .compare import ascending, compare, distinct, equal, key
from .dates import add_months
from .failures import check, invalid, out_of_range
from .numbers import NUMBERS, java_double, single
from .table import Signature, Table, nullable, plain, typed

Values = tuple[Any, ...]
_MOST_ENTRIES = 10_000


def _all_match(values: Values, predicate: Callable[[object], object]) -> bool | None:
    unknown = False
    for value in values:
        matches = predicate(value)
        if matches is False:
            return False  # Presto asks no further either: what fails behind it is no error.
        unknown |= matches is None
    return None if unknown else True


def _any_match(values: Values, predicate: Callable[[object], object]) -> bool | None:
    unknown = False
    for value in values:
        matches = predicate(value)
        if matches is True:
            return True
        unknown |= matches is None
    return None if unknown else False


def _none_match(values: Values, predicate: Callable[[object], object]) -> bool | None:
    found = _any_match(values, predicate)
    return None if found is None else not found


def _cum_sum(signature: Signature, values: Values) -> Values:
    from .operators import summed

    type_ = signature.result.arguments[0]
    if type_.base not in NUMBERS:
        raise KernelError("OPERATOR_NOT_FOUND", f"'+' cannot be applied to {type_}, {type_}")
    made: list[object] = []
    for value in values:
        if value is None or (made and made[-1] is None):
            made.append(None)
        else:
            made.append(summed(type_, made[-1], value) if made else value)
    return tuple(made)


def _sum(signature: Signature, values: Values) -> object:
    known = [v for v in values if v is not None]
    if signature.result.base == "double":
        return float(sum(known))
    total = 0
    for value in known:
        before, total = total, total + value
        if not -(1 << 63) <= total < 1 << 63:
            raise out_of_range(f"bigint addition overflow: {before} + {value}")
    return total


def _average(values: Values) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


def _normalize(signature: Signature, values: Values, p: float) -> Values | None:
    type_ = signature.result.arguments[0]
    if type_.base not in ("double", "real"):
        raise _not_normalized(type_)
    check(p >= 0, f"array_normalize only supports non-negative p: {java_double(p)}")
    if p == 0:
        return values
    if None in values:
        return None
    norm = math.pow(sum(math.pow(abs(v), p) for v in values), 1 / p)
    if norm == 0:
        return values
    real = signature.result.arguments[0].base == "real"
    return tuple(single(v / norm) if real else v / norm for v in values)


def _not_normalized(type_: Any) -> KernelError:
    if type_.base in NUMBERS:
        message = f"Unsupported array element type for array_normalize function: {type_}"
        return KernelError("FUNCTION_IMPLEMENTATION_MISSING", message)
    bound = f"BoundVariables{{typeVariables={{T={type_}}}, longVariables={{}}}}"
    function = "presto.default.array_normalize<T>(array(T),T):array(T)"
    return KernelError("NOT_SUPPORTED", f"Unsupported type parameters ({bound}) for {function}")


def _extreme(sign: int) -> Callable[[Values], Any]:
    def extreme(values: Values) -> object:
        if not values or None in values:
            return None
        best = values[0]
        for value in values[1:]:
            if _comparison(value, best) * sign > 0:
                best = value
        return best

    return extreme


def _comparison(a: object, b: object) -> int:
    """NULLs inside elements are an argument's fault here, where operators say NOT_SUPPORTED."""
    try:
        return compare(a, b)
    except KernelError as error:
        raise invalid(error.message) from error


def _sort(values: Values, function: Callable[..., object] | None = None) -> Values:
    if function is None:
        known = sorted((v for v in values if v is not None), key=cmp_to_key(_comparison))
        return (*known, *[None] * (len(values) - len(known)))
    if getattr(function, "width", 1) == 2:

        def ordered(a: object, b: object) -> int:
            found = function(a, b)
            if found not in (-1, 0, 1):
                raise invalid("Lambda comparator must return either -1, 0, or 1")
            return int(found)

        return tuple(sorted(values, key=cmp_to_key(ordered)))
    return _by(values, function, reverse=False)


def _by(values: Values, function: Callable[[object], object], *, reverse: bool) -> Values:
    keyed = [(function(v), v) for v in values]
    known = sorted(((k, v) for k, v in keyed if k is not None), key=lambda kv: ascending(kv[0]), reverse=reverse)
    return (*(v for _, v in known), *(v for k, v in keyed if k is None))


def _sort_desc(values: Values, function: Callable[[object], object] | None = None) -> Values:
    if function is not None:
        return _by(values, function, reverse=True)
    known = sorted((v for v in values if v is not None), key=ascending, reverse=True)
    return (*known, *[None] * (len(values) - len(known)))


def _matches(function: str, value: object, element: object) -> bool:
    """Whether two values are equal; refused when a NULL inside leaves that open."""
    found = equal(value, element)
    if found is None:
        message = f"{function} does not support arrays with elements that are null or contain null"
        raise KernelError("NOT_SUPPORTED", message)
    return found


def _position(values: Values, element: object, instance: int = 1) -> int:
    check(instance != 0, "array_position cannot take a 0-valued instance argument.")
    places = range(len(values)) if instance > 0 else range(len(values) - 1, -1, -1)
    left = abs(instance)
    for place in places:
        if values[place] is not None and _matches("array_position", values[place], element):
            left -= 1
            if not left:
                return place + 1
    return 0


def _contains(values: Values, element: object) -> bool | None:
    unknown = False
    for value in values:
        if value is not None and _matches("contains", value, element):
            return True
        unknown |= value is None
    return None if unknown else False


def _remove(values: Values, element: object) -> Values:
    return tuple(v for v in values if v is None or not _matches("array_remove", v, element))


def _except(values: Values, others: Values) -> Values:
    known = {key(o) for o in others}
    return tuple(v for v in distinct(values) if key(v) not in known)


def _intersect(values: Values, others: Values) -> Values:
    if len(others) > len(values):  # the longer one gives the order
        values, others = others, values
    known = {key(o) for o in others}
    return tuple(v for v in distinct(values) if key(v) in known)


def _overlap(values: Values, others: Values) -> bool | None:
    known = {key(o) for o in others if o is not None}
    if any(v is not None and key(v) in known for v in values):
        return True
    return None if (None in values or None in others) and values and others else False


def _join(signature: Signature, values: Values, delimiter: str, null: str | None = None) -> str:
    from .casts import text_of

    type_ = signature.arguments[0].arguments[0]
    if type_.base in ("array", "map", "row"):
        raise invalid(f"Input type {type_} not supported")
    show = text_of(type_)
    parts = [null if v is None else show(v) for v in values]
    return delimiter.join(p for p in parts if p is not None)


def _combinations(values: Values, size: int) -> tuple[Values, ...]:
    check(size >= 0, "combination size must not be negative: " + str(size))
    check(size <= 5, f"combination size must not exceed 5: {size}")
    if math.comb(len(values), size) > 100_000:
        raise invalid("combinations exceed max size")
    # In the order in which the last of the chosen grows slowest.
    places = sorted(itertools.combinations(range(len(values)), size), key=lambda c: c[::-1])
    return tuple(tuple(values[p] for p in c) for c in places)


def _element_at(base: Any, index: Any) -> object:
    if isinstance(base, dict):
        return base.get(index)
    check(index != 0, "SQL array indices start at 1")
    place = index - 1 if index > 0 else len(base) + index
    return base[place] if 0 <= place < len(base) else None


def _find(values: Values, *arguments: Any) -> int | None:
    start, predicate = (1, *arguments)[-2:]
    check(start != 0, "SQL array indices start at 1. Got 0.")
    places = range(start - 1, len(values)) if start > 0 else range(len(values) + start, -1, -1)
    return next((p for p in places if predicate(values[p]) is True), None)


def _find_first(values: Values, *arguments: object) -> object:
    place = _find(values, *arguments)
    if place is None:
        return None
    if values[place] is None:
        raise invalid("FIND_FIRST finds NULL as match, which is not supported.")
    return values[place]


def _find_first_index(values: Values, *arguments: object) -> int | None:
    place = _find(values, *arguments)
    return None if place is None else place + 1


def _flatten(values: Values) -> Values:
    return tuple(itertools.chain.from_iterable(v for v in values if v is not None))


def _ngrams(values: Values, size: int) -> tuple[Values, ...]:
    check(size > 0, "N must be positive")
    return tuple(values[i : i + size] for i in range(max(len(values) - size + 1, 1)))


def _reduce(
    values: Values | None, state: object, step: Callable[..., object], final: Callable[[object], object]
) -> object:
    if values is None:
        return None
    for value in values:
        state = step(state, value)
    return final(state)


def _repeat(element: object, count: int | None) -> Values | None:
    if count is None:
        return None
    check(count <= _MOST_ENTRIES, "count argument of repeat function must be less than or equal to 10000")
    check(count >= 0, "count argument of repeat function must be greater than or equal to 0")
    return (element,) * count


def _sequence(signature: Signature, start: object, stop: Any, step: Any = None) -> Values:
    months = len(signature.arguments) == 3 and signature.arguments[2].base == "interval year to month"
    if step is None:
        step = (1 if stop >= start else -1) * (86_400_000 if isinstance(start, date) else 1)
    check(step != 0, "step must not be zero")
    if not months and isinstance(start, date) and not isinstance(start, datetime):
        check(step % 86_400_000 == 0, "sequence step must be a day interval if start and end values are dates")
    check(stop >= start if step > 0 else stop <= start,
          "sequence stop value should be greater than or equal to start value if step is greater than zero "
          "otherwise stop should be less than or equal to start")  # fmt: skip
    made: list[object] = []
    for i in itertools.count():
        if months:
            value = add_months(start, i * step)
        elif isinstance(start, datetime | date):
            value = start + timedelta(milliseconds=step) * i
        else:
            value = start + i * step
        if (value > stop) if step > 0 else (value < stop):
            return tuple(made)
        made.append(value)
        check(len(made) <= _MOST_ENTRIES, "result of sequence function must not have more than 10000 entries")
    raise AssertionError("a sequence ends")


def _slice(values: Values, start: int, length: int) -> Values:
    check(length >= 0, "length must be greater than or equal to 0")
    check(start != 0, "SQL array indices start at 1")
    first = start - 1 if start > 0 else len(values) + start
    return values[first : first + length] if 0 <= first < len(values) else ()


def _shuffle(values: Values) -> Values:
    return tuple(random.sample(values, len(values)))


def _trim_array(values: Values, count: int) -> Values:
    check(count >= 0, f"size must not be negative: {count}")
    check(count <= len(values), f"size must not exceed array cardinality {len(values)}: {count}")
    return values[: len(values) - count]


def _zip(*arrays: Values) -> tuple[Values, ...]:
    return tuple(itertools.zip_longest(*arrays))


def _zip_with(values: Values, others: Values, function: Callable[..., object]) -> Values:
    return tuple(function(a, b) for a, b in itertools.zip_longest(values, others))


def _dot(signature: Signature, a: Values, b: Values) -> float | None:
    check(len(a) == len(b), "Both array arguments must have identical sizes")
    check(None not in a and None not in b, "Both array arguments must not have nulls")
    total = sum(x * y for x, y in zip(a, b, strict=True))
    return single(total) if signature.result.base == "real" else float(total)


def _l2(signature: Signature, a: Values, b: Values) -> float | None:
    check(len(a) == len(b), "Both array arguments need to have identical size")
    check(None not in a and None not in b, "Both arrays must not have nulls")
    total = sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    return single(total) if signature.result.base == "real" else float(total)


def _cosine(a: Any, b: Any) -> float | None:
    if isinstance(a, dict):
        if None in a.values() or None in b.values():
            return None
        dot = sum(v * b[k] for k, v in a.items() if k in b)
        norms = math.sqrt(sum(v * v for v in a.values())), math.sqrt(sum(v * v for v in b.values()))
    else:
        check(len(a) == len(b), "Both array arguments need to have identical size")
        check(None not in a and None not in b, "Both arrays must not have nulls")
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        norms = math.sqrt(sum(v * v for v in a)), math.sqrt(sum(v * v for v in b))
    return dot / (norms[0] * norms[1]) if norms[0] and norms[1] else math.nan


ARRAYS: Table = {
    **plain(
        all_match=_all_match, any_match=_any_match, none_match=_none_match, array_distinct=lambda v: tuple(distinct(v)),
        array_average=_average, array_max=_extreme(1), array_min=_extreme(-1), array_sort=_sort,
        array_sort_desc=_sort_desc, array_position=_position, contains=_contains, array_remove=_remove,
        array_except=_except, array_intersect=_intersect, arrays_overlap=_overlap, combinations=_combinations,
        array_union=lambda a, b: tuple(distinct((*a, *b))), element_at=_element_at, find_first=_find_first,
        find_first_index=_find_first_index, flatten=_flatten, ngrams=_ngrams, slice=_slice, shuffle=_shuffle,
        trim_array=_trim_array, zip=_zip, zip_with=_zip_with, cosine_similarity=_cosine,
        filter=lambda values, predicate: tuple(v for v in values if predicate(v) is True),
        transform=lambda values, function: tuple(map(function, values)),
    ),
    **typed(
        array_cum_sum=_cum_sum, array_sum=_sum, array_normalize=_normalize, array_join=_join, sequence=_sequence,
        dot_product=_dot, l2_squared=_l2,
    ),
    **nullable(reduce=_reduce, repeat=_repeat),
}  # fmt: skip
