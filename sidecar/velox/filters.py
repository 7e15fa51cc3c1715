"""TupleDomains of a scan to Velox filters (``common::Filter``), by the rules of Presto C++."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from shared.plan.blocks import decimal_digits, decode_physical, unscaled_decimal
from shared.plan.types import Type
from shared.spi.handles import column_name
from sidecar.velox.constants import json_number
from sidecar.velox.refusal import internal_error, of_type, unsupported, user_error
from sidecar.velox.types import Json, parse

_INTEGERS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64, "date": 32, "interval day to second": 64}
_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class _Range:
    """One range: bounds as physical values, None where unbounded."""

    low: Any
    high: Any
    low_exclusive: bool
    high_exclusive: bool

    @property
    def is_single(self) -> bool:
        return self.low is not None and self.low == self.high and not self.low_exclusive and not self.high_exclusive


def subfield_filters(tuple_domain: dict[str, object]) -> list[Json]:
    """``[{"subfield", "filter"}]``; raises RefusalError for what Presto C++ refuses."""
    domains = tuple_domain.get("columnDomains")
    if domains is None:
        raise unsupported("Unexpected always-false filter")
    filters = []
    for entry in domains if isinstance(domains, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("domain"), dict):
            raise user_error("Malformed column domain")
        subfield = entry.get("column")
        if isinstance(subfield, dict):
            subfield = column_name(subfield)
        filters.append({"subfield": _quoted(str(subfield)), "filter": _domain(entry["domain"])})
    return filters


def _quoted(subfield: str) -> str:
    """Velox parses subfields: names beyond letters, digits, ``_:$/@|# -`` and the path signs go in quotes.

    Its refusal then shows the name: the first part of a path cannot be quoted.
    """
    if all(c.isalnum() or c in "_:$/@|#.[]*\"'-\\ " for c in subfield):
        return subfield
    return '"' + subfield.replace('"', '\\"') + '"'


def _domain(domain: dict[str, object]) -> Json:
    values = domain.get("values")
    null_allowed = domain.get("nullAllowed") is True
    kind = values.get("@type") if isinstance(values, dict) else None
    if not isinstance(values, dict) or not isinstance(values.get("type"), str):
        raise user_error("Malformed value set")
    match kind:
        case "sortable":
            with of_type("The bound of a range", values["type"]):
                return _sortable(parse(values["type"]), _ranges(values), null_allowed)
        case "equatable":
            if not values.get("entries"):
                return _empty(null_allowed, everything=values.get("whiteList") is False)
            raise unsupported(
                "EquatableValueSet (with non-empty entries) to Velox filter conversion is not supported yet."
            )
        case "allOrNone":
            raise unsupported("AllOrNoneValueSet to Velox filter conversion is not supported yet.")
        case _:
            raise user_error(f"Unknown value set {kind}")


def _empty(null_allowed: bool, *, everything: bool) -> Json:
    if everything:
        kind = "AlwaysTrue" if null_allowed else "IsNotNull"
        return _filter(kind, null_allowed)
    if null_allowed:
        return _filter("IsNull", True)
    raise unsupported("Unexpected always-false filter")


def _filter(name: str, null_allowed: bool, **fields: object) -> Json:
    return {"name": name, "kind": f"k{name}", "nullAllowed": null_allowed, **fields}


def _ranges(values: dict[str, object]) -> list[_Range]:
    ranges = values.get("ranges")
    if not isinstance(ranges, list):
        raise user_error("Malformed ranges")
    made = []
    for r in ranges:
        if not isinstance(r, dict) or not isinstance(r.get("low"), dict) or not isinstance(r.get("high"), dict):
            raise user_error("Malformed range")
        low, high = r["low"], r["high"]
        made.append(
            _Range(
                _bound(low),
                _bound(high),
                low_exclusive=low.get("bound") == "ABOVE",
                high_exclusive=high.get("bound") == "BELOW",
            )
        )
    return made


def _bound(marker: dict[str, object]) -> object:
    block = marker.get("valueBlock")
    if block is None:
        return None
    try:
        return decode_physical(str(block), str(marker.get("type")))
    except ValueError as e:
        raise internal_error(str(e)) from e


def _sortable(parsed: Type, ranges: list[_Range], null_allowed: bool) -> Json:
    if not ranges:
        return _empty(null_allowed, everything=False)
    if len(ranges) == 1 and ranges[0].low is None and ranges[0].high is None:
        return _empty(null_allowed, everything=True)
    base = parsed.base
    if base in _INTEGERS or (base == "decimal" and decimal_digits(parsed)[0] <= 18):
        return _integers(ranges, null_allowed)
    match base:
        case "decimal":
            return _either(ranges, null_allowed, _hugeint)
        case "boolean":
            return _boolean(ranges, null_allowed)
        case "double":
            return _either(ranges, null_allowed, _double)
        case "real":
            return _either(ranges, null_allowed, _real)
        case "timestamp":
            return _either(ranges, null_allowed, _timestamp)
        case "varchar" | "char" | "varbinary":
            return _bytes(parsed, ranges, null_allowed)
        case _:
            raise unsupported(f"Unsupported range type: {parsed}")


def _either(ranges: list[_Range], null_allowed: bool, one: Any) -> Json:
    if len(ranges) == 1:
        made: Json = one(ranges[0], null_allowed)
        return made
    return _filter("MultiRange", null_allowed, filters=[one(r, False) for r in ranges], nanAllowed=False)


def _integer_bounds(r: _Range) -> tuple[int, int]:
    low = _INT64_MIN if r.low is None else r.low + (1 if r.low_exclusive else 0)
    high = _INT64_MAX if r.high is None else r.high - (1 if r.high_exclusive else 0)
    return low, high


def _integers(ranges: list[_Range], null_allowed: bool) -> Json:
    bounds = [_integer_bounds(r) for r in ranges]
    if len(bounds) == 1:
        return _filter("BigintRange", null_allowed, lower=bounds[0][0], upper=bounds[0][1])
    if all(low == high for low, high in bounds):
        values = sorted({low for low, _ in bounds})
        return _filter("BigintValuesUsingHashTable", null_allowed, min=values[0], max=values[-1], values=values)
    made = [_filter("BigintRange", False, lower=low, upper=high) for low, high in bounds]
    return _filter("BigintMultiRange", null_allowed, ranges=made)


def _hugeint(r: _Range, null_allowed: bool) -> Json:
    limit = 10**38 - 1
    low = -limit if r.low is None else unscaled_decimal(r.low) + (1 if r.low_exclusive else 0)
    high = limit if r.high is None else unscaled_decimal(r.high) - (1 if r.high_exclusive else 0)
    return _filter("HugeintRange", null_allowed, lower=str(low), upper=str(high))


def _boolean(ranges: list[_Range], null_allowed: bool) -> Json:
    if len(ranges) == 1 and ranges[0].is_single:
        return _filter("BoolValue", null_allowed, value=bool(ranges[0].low))
    return _empty(null_allowed, everything=True)


def _floating(name: str, r: _Range, null_allowed: bool) -> Json:
    return _filter(
        name,
        null_allowed,
        lower=0.0 if r.low is None else json_number(r.low),
        upper=0.0 if r.high is None else json_number(r.high),
        lowerUnbounded=r.low is None,
        lowerExclusive=r.low_exclusive and r.low is not None,
        upperUnbounded=r.high is None,
        upperExclusive=r.high_exclusive and r.high is not None,
    )


def _double(r: _Range, null_allowed: bool) -> Json:
    return _floating("DoubleRange", r, null_allowed)


def _real(r: _Range, null_allowed: bool) -> Json:
    return _floating("FloatRange", r, null_allowed)


def _timestamp(r: _Range, null_allowed: bool) -> Json:
    low = _INT64_MIN // 1000 * 1000 if r.low is None else r.low + (1 if r.low_exclusive else 0)
    high = _INT64_MAX // 1000 * 1000 if r.high is None else r.high - (1 if r.high_exclusive else 0)
    return _filter("TimestampRange", null_allowed, lower=_instant(low), upper=_instant(high))


def _instant(millis: int) -> Json:
    seconds, rest = divmod(millis, 1000)
    return {"seconds": seconds, "nanos": rest * 1_000_000}


def _bytes(parsed: Type, ranges: list[_Range], null_allowed: bool) -> Json:
    binary = parsed.base == "varbinary"
    if all(r.is_single for r in ranges):
        return _filter("BytesValues", null_allowed, values=sorted({_plain(r.low, binary) for r in ranges}))

    def one(r: _Range, nulls: bool) -> Json:
        return _filter(
            "BytesRange",
            nulls,
            lower="" if r.low is None else _plain(r.low, binary),
            upper="" if r.high is None else _plain(r.high, binary),
            lowerUnbounded=r.low is None,
            lowerExclusive=r.low_exclusive and r.low is not None,
            upperUnbounded=r.high is None,
            upperExclusive=r.high_exclusive and r.high is not None,
        )

    return _either(ranges, null_allowed, one)


def _plain(value: bytes, binary: bool) -> str:
    if not binary:
        return value.decode("utf-8", "replace")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return base64.b64encode(value).decode("ascii")
