"""Values that are hard on functions, by name: each is made in the size that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from shared.plan.types import Type

Maker = Callable[[int], Any]


def _filled(unit: str, head: str = "", tail: str = "") -> Maker:
    return lambda size: head + unit * ((size - len(head) - len(tail)) // len(unit)) + tail


def _nested(opening: str, inside: str, closing: str, most: int = 1 << 30) -> Maker:
    def made(size: int) -> str:
        count = min(size // (len(opening) + len(closing)), most)
        return opening * count + inside + closing * count

    return made


def _numbered(shown: Callable[[int], str], head: str = "", tail: str = "", between: str = ",") -> Maker:
    return lambda size: head + between.join(map(shown, range(size // 12))) + tail


TEXTS: dict[str, Maker] = {
    "letters": _filled("a"),
    "letters_b": _filled("a", tail="b"),
    "pairs": _filled("ab"),
    "pairs_c": _filled("ab", tail="c"),
    "digits": _filled("1"),
    "digits_x": _filled("1", tail="x"),
    "nines_exp": _filled("9", "1e"),
    "zeros_point": _filled("0", "0."),
    "zeros": _filled("0", tail="1"),
    "signs": _filled("-"),
    "points": _filled("."),
    "digit_points": _filled("1."),
    "digit_points_x": _filled("1.", tail="x"),
    "digit_spaces": _filled("1 "),
    "blanks": _filled(" "),
    "blanks_inside": _filled(" ", "x", "x"),
    "day_blanks": _filled(" ", "2020-01-01", "!"),
    "day_zone": _filled("A", "2020-01-01 00:00 ", "!"),
    "percents": _filled("%"),
    "percent_a": _filled("%a", tail="b"),
    "percent_41": _filled("%41"),
    "percent_4": _filled("%4"),
    "unders": _filled("_"),
    "under_percents": _filled("_%", tail="b"),
    "commas": _filled(","),
    "words": _filled("a,"),
    "entries": _filled("a=b,"),
    "same_entries": _filled("a:b;"),
    "own_entries": _numbered("k{0}=v".format),
    "own_values": _numbered("k=v{0}".format),
    "equals": _filled("="),
    "colons": _filled(":"),
    "slashes": _filled("/"),
    "hex_colons": _filled("f:"),
    "quotes": _filled('"'),
    "singles": _filled("'"),
    "backslashes": _filled("\\"),
    "escapes": _filled("\\u0041", '"', '"'),
    "half_escapes": _filled("\\ud800", '"', '"'),
    "opened": _filled("["),
    "opened_objects": _filled('{"a":'),
    "parentheses": _filled("("),
    "closed": _filled(")"),
    "arrays": _nested("[", "1", "]"),
    "arrays_900": _nested("[", "1", "]", 900),
    "objects_400": _nested('{"a":', "1", "}", 400),
    "wide_array": _filled("1,", "[", "1]"),
    "wide_texts": _filled('"a",', "[", '"a"]'),
    "wide_object": _numbered('"k{0}":1'.format, "{", "}"),
    "same_keys": _filled('"a":1,', "{", '"a":1}'),
    "json_digits": _filled("1"),
    "json_number": _filled("1", "1.", "e5"),
    "json_text": _filled("a", '"', '"'),
    "json_exponent": _filled("9", "1e"),
    "json_digits_array": lambda size: "[" + "1" * size + "]",
    "json_deep_wide": lambda size: '{"a":' * 300 + "[" + "1," * (size // 2) + "1]" + "}" * 300,
    "path_dots": _filled("..a", "$"),
    "path_stars": _filled("[*]", "$"),
    "path_keys": _filled(".a", "$"),
    "path_quote": _filled("\\", '$["'),
    "path_indexes": _filled("[0]", "$"),
    "path_blanks": _filled(" ", "$["),
    "path_digits": _filled("1", "$[", "]"),
    "combining": _filled("\u0301", "e"),
    "combining_mixed": lambda size: "e" + "\u0301" * (size // 2) + "\u0316" * (size // 2),
    "combining_turns": _filled("\u0301\u0316", "e"),
    "expanding": _filled("\ufdfa"),
    "pairs_of_java": _filled("\U0001f600"),
    "dotted": _filled("\u0130"),
    "sharp": _filled("\u00df"),
    "nuls": _filled("\0"),
    "lines": _filled("\n"),
    "new_lines": _filled("a\n"),
    "url": _filled("a=b&", "http://h/?"),
    "url_path": _filled("a/", "http://h/"),
    "url_host": _filled("a.", "http://"),
    "url_user": _filled("@", "http://"),
    "url_port": _filled("1", "http://h:"),
    "url_escapes": _filled("%41", "http://h/"),
    "scheme": _filled("a+"),
    "address": _filled("1.1.1.1/"),
    "zone": _filled("a/b"),
    "offset": _filled("1", "+"),
    "pattern_years": _filled("%Y"),
    "pattern_months": _filled("%c"),
    "pattern_names": _filled("%M"),
    "pattern_joda": _filled("y'"),
    "pattern_joda_y": _filled("yM"),
    "pattern_joda_quotes": _filled("''"),
    "pattern_joda_long": _filled("S"),
    "re_groups": _filled("(a*)*", tail="b"),
    "re_stars": _filled("a*", tail="b"),
    "re_optional": _filled("a?", tail="b"),
    "re_counts": _filled("(a{1,9})"),
    "re_count": lambda _size: "((a{1,100}){1,100}){1,100}b",
    "re_nested": _nested("(", "a", ")*"),
    "re_plus": lambda _size: "(a+)+$",
    "re_words": lambda _size: r"(\w+\s?)+$",
    "re_dots": _filled(".*", tail="b"),
    "re_choices": _filled("a|"),
    "re_class": _filled("a", "[", "]"),
    "re_class_open": _filled("[a"),
    "re_dollars": _filled("$"),
    "re_start": lambda _size: "^(a|ab)*c",
    "re_any": lambda _size: "a.*b",
    "re_two": lambda _size: "a*a*b",
    "re_back": lambda _size: r"(a*)\1b",
    "re_one": lambda _size: "a+b",
    "re_pair": lambda _size: "[ab]+c",
    "re_empty": lambda _size: "",
    "re_letter": lambda _size: "a",
    "re_flags": _filled("(?i)"),
    "re_posix": _filled(r"\p{L}"),
    "re_lazy": lambda _size: ".*?b",
    "re_blank": lambda _size: r"\s+x",
    "re_named": _numbered("(?<n{0}>a)".format, between=""),
    "new_dollars": _filled("$0"),
    "new_names": _filled("${a}"),
    "new_slash": _filled("\\\\"),
    "line": lambda size: "LINESTRING (" + ", ".join(f"{i % 7} {i % 11}" for i in range(size // 6)) + ")",
    "zigzag": lambda size: "LINESTRING (" + ", ".join(f"{i % 2 * 80} {i / 1e3}" for i in range(size // 9)) + ")",
    "zigzag_across": lambda size: "LINESTRING (" + ", ".join(f"{i / 1e3} {i % 2 * 80}" for i in range(size // 9)) + ")",
    "comb": lambda size: (
        "POLYGON ((" + ", ".join(f"{i / 1e3} {i % 2 * 80}" for i in range(size // 9)) + ", 80 -1, 0 0))"
    ),
    "places": lambda size: "MULTIPOINT (" + ", ".join(f"{i % 85} {i % 83}" for i in range(size // 6)) + ")",
    "collections": _nested("GEOMETRYCOLLECTION (", "POINT (1 1)", ")"),
    "polygon": lambda _size: "POLYGON ((0 0, 0 80, 80 80, 80 0, 0 0))",
    "short": lambda _size: "a",
    "comma": lambda _size: ",",
    "equal": lambda _size: "=",
    "none": lambda _size: "",
    "dollar": lambda _size: "$.a",
    "all_below": lambda _size: "$..a",
    "below_5": lambda _size: "$" + "..*" * 5,
    "day": lambda _size: "day",
    "star": lambda _size: "$[*]",
    "iso": lambda _size: "2020-01-01T00:00:00Z",
    "language": lambda _size: "en",
    "form": lambda _size: "NFKD",
    "plan": lambda size: '{"0":{"plan":' + '{"id":"1","children":[' * 200 + "]}" * 200 + "}}" + " " * (size - 5000),
    "plan_wide": lambda size: (
        '{"0":{"plan":{"id":"1","name":"a","identifier":"[table","details":"","remoteSources":[],"children":['
        + ",".join(['{"id":"1"}'] * (size // 10))
        + "]}}}"
    ),
}
"""Texts: repeated letters, digits and separators with a near miss at the end, deep and wide JSON, patterns, paths."""
NUMBERS: dict[str, Maker] = {
    "one": lambda _size: 1,
    "three": lambda _size: 3,
    "nought": lambda _size: 0,
    "minus": lambda _size: -1,
    "half": lambda size: size // 2,
    "whole": lambda size: size,
    "int": lambda _size: (1 << 31) - 1,
    "long": lambda _size: (1 << 63) - 1,
    "least": lambda _size: -(1 << 63),
}
_DOUBLES = {
    "1e308": 1e308,
    "1e-308": 1e-308,
    "nan": float("nan"),
    "inf": float("inf"),
    "1.5": 1.5,
    "0.5": 0.5,
    "-1e9": -1e9,
    "1e6": 1e6,
}
_SINGLE: dict[str, object] = {
    "boolean": True, "date": date(2020, 1, 31), "time": time(1, 2, 3), "timestamp": datetime(2020, 1, 31, 5),
    "timestamp with time zone": datetime(2020, 1, 31, 5, tzinfo=UTC), "time with time zone": "03:04:05.678 Asia/Kabul",
    "uuid": "12151fd2-7586-11e9-8f9e-2a86e4085a59", "ipaddress": "1.2.3.4", "ipprefix": "1.2.0.0/16",
    "bingtile": 5 << 26, "color": 1, "interval year to month": 5, "interval day to second": 86_400_000,
}  # fmt: skip
_TEXTUAL = {"varchar", "char", "json", "re2jregexp", "joniregexp", "jsonpath", "likepattern", "geometry",
            "sphericalgeography", "codepoints", "kdbtree", "unknown"}  # fmt: skip
_INTEGRAL = {"tinyint", "smallint", "integer", "bigint"}


def _array(item: Maker, distinct: bool) -> Maker:
    def made(size: int) -> tuple[object, ...]:
        one = item(8)
        if distinct and isinstance(one, int) and not isinstance(one, bool):
            return tuple(range(size // 8))
        if distinct and isinstance(one, str):
            return tuple(map(str, range(size // 8)))
        if distinct and isinstance(one, float):
            return tuple(map(float, range(size // 8)))
        return (one,) * (size // 8)

    return made


def _map(key: Maker, value: Maker) -> Maker:
    return lambda size: dict.fromkeys(_array(key, True)(size), value(8))


def makers(type_: Type) -> Mapping[str, Maker]:
    """The values of a type, by name."""
    match type_.base:
        case base if base in _TEXTUAL:
            return TEXTS
        case base if base in _INTEGRAL:
            return NUMBERS
        case "double" | "real":
            return {name: (lambda _size, v=v: v) for name, v in _DOUBLES.items()}
        case "decimal":
            return {"decimal": lambda _size: Decimal(10) ** 37, "small": lambda _size: Decimal("1.5")}
        case "varbinary":
            return {name: (lambda size, m=m: m(size).encode("utf-8", "replace")) for name, m in TEXTS.items()}
        case "function":
            return _functions(type_)
        case "array":
            return _arrays(type_)
        case "map":
            key, value = (next(iter(makers(a).items())) for a in type_.arguments)
            return {"map": _map(key[1], value[1])}
        case "row":
            inner = [next(iter(makers(a).values())) for a in type_.arguments]
            return {"row": lambda size: tuple(m(size) for m in inner)}
        case base:
            return {"only": lambda _size: _SINGLE.get(base, b"")}


def _arrays(type_: Type) -> Mapping[str, Maker]:
    inner = makers(type_.arguments[0])
    first = next(iter(inner.values()))
    found = {
        "same": _array(first, False),
        "own": _array(first, True),
        "empty": lambda _size: (),
        "nulls": lambda size: (None,) * (size // 8),
    }
    if type_.arguments[0].base in _TEXTUAL:
        found |= {f"one_{name}": (lambda size, m=m: (m(size),)) for name, m in list(inner.items())[::6]}
    if type_.arguments[0].base in ("array", "map", "row"):
        found |= {"large_inside": lambda size: (first(size),) * 3}
        found["own"] = lambda size: tuple((i,) * len(first(8)) for i in range(size // 8))
    return found


def _functions(type_: Type) -> Mapping[str, Maker]:
    """Lambdas: their last argument, the first, a constant of the result's type."""
    result = type_.arguments[-1]
    one = next(iter(makers(result).values()))(4)
    value = True if result.base == "boolean" else one
    same = [i for i, a in enumerate(type_.arguments[:-1]) if a == result]
    found: dict[str, Maker] = {"constant": lambda _size: lambda *_: value}
    for at in same:
        found[f"argument{at}"] = lambda _size, at=at: lambda *given: given[at]
    if result.base == "boolean":
        found["false"] = lambda _size: lambda *_: False
    return found
