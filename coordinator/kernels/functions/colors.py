"""Colours of terminals: a number as in Presto, 0xRRGGBB or -1 to -8 for a colour of the system, and its escapes.

Colours between two are those of Java's ``java.awt.Color``, hue, saturation and brightness in four bytes each.
"""

from __future__ import annotations

import math
import re

import numpy as np

from .bounds import check_text
from .failures import check, invalid
from .numbers import java_double
from .table import Signature, Table, plain, typed

_SYSTEM = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_SHORT = re.compile(r"#[0-9A-Fa-f]{3}")
_RESET = "\x1b[0m"
_RED, _GREEN = 0xFF0000, 0x00FF00
_ESCAPE = 12
"""The most characters that colour one cell of a bar."""
_INTEGER = (1 << 31) - 1
_32 = np.float32


def shown_color(value: int) -> str:
    """The name of a colour of the system, ``#rrggbb`` of another."""
    return _SYSTEM[-value - 1] if value < 0 else f"#{value:06x}"


def _rgb(red: int, green: int, blue: int) -> int:
    for name, value in (("red", red), ("green", green), ("blue", blue)):
        check(0 <= value <= 255, f"{name} must be between 0 and 255")
    return red << 16 | green << 8 | blue


def _named(text: str) -> int:
    if _SHORT.fullmatch(text):
        return _rgb(*(int(digit, 16) * 17 for digit in text[1:]))
    if text.lower() not in _SYSTEM:
        raise invalid(f"Invalid color: '{text}'")
    return -_SYSTEM.index(text.lower()) - 1


def _parts(color: int) -> tuple[int, int, int]:
    check(color >= 0, "color is not a valid rgb value")
    return color >> 16 & 255, color >> 8 & 255, color & 255


def _hsb(color: int) -> tuple[np.float32, np.float32, np.float32]:
    red, green, blue = _parts(color)
    most, least = max(red, green, blue), min(red, green, blue)
    brightness = _32(most) / _32(255)
    if most == least:
        return _32(0), _32(0), brightness
    from_red, from_green, from_blue = (_32(most - part) / _32(most - least) for part in (red, green, blue))
    if red == most:
        hue = from_blue - from_green
    elif green == most:
        hue = _32(2) + from_red - from_blue
    else:
        hue = _32(4) + from_green - from_red
    hue = hue / _32(6)
    return hue + _32(1) if hue < 0 else hue, _32(most - least) / _32(most), brightness


def _of_hsb(hue: np.float32, saturation: np.float32, brightness: np.float32) -> int:
    if any(map(math.isnan, (hue, saturation, brightness))):
        return 0
    place = (hue - np.floor(hue)) * _32(6)
    beyond = place - np.floor(place)
    p, q, t = (brightness * (_32(1) - saturation * part) for part in (_32(1), beyond, _32(1) - beyond))
    found = ((brightness, t, p), (q, brightness, p), (p, brightness, t), (p, q, brightness), (t, p, brightness),
             (brightness, p, q))[int(place)] if saturation else (brightness,) * 3  # fmt: skip
    red, green, blue = (int(part * _32(255) + _32(0.5)) for part in found)
    return red << 16 | green << 8 | blue


def _between(fraction: float, low: int, high: int) -> int:
    share = _32(fraction)
    pairs = zip(_hsb(low), _hsb(high), strict=True)
    return _of_hsb(*(share * (end - begin) + begin for begin, end in pairs))


def _color(*arguments: object) -> int:
    match arguments:
        case (str(text),):
            return _named(text)
        case (float(value), float(low), float(high), int(first), int(last)):
            return _at(_share(value - low, high - low), first, last)
        case (float(fraction), int(first), int(last)):
            return _at(fraction, first, last)
        case _:
            raise invalid("color is of a text, or between two colors")


def _share(part: float, whole: float) -> float:
    if whole:
        return part / whole
    return math.nan if not part or math.isnan(part) else math.copysign(math.inf, part) * math.copysign(1, whole)


def _at(fraction: float, low: int, high: int) -> int:
    check(low >= 0, "lowColor not a valid RGB color")
    check(high >= 0, "highColor not a valid RGB color")
    return _between(fraction if math.isnan(fraction) else max(0.0, min(1.0, fraction)), low, high)


def _escape(color: int) -> str:
    if color < 0:
        return f"\x1b[38;5;{-color - 1}m"
    red, green, blue = (part * 6 // 256 for part in _parts(color))
    return f"\x1b[38;5;{16 + red * 36 + green * 6 + blue}m"


def _render(signature: Signature, value: object, color: int | None = None) -> str:
    if color is None:
        return _render(signature, "\u2713" if value else "\u2717", _named("green" if value else "red"))
    return f"{_escape(color)}{java_double(value) if isinstance(value, float) else value}{_RESET}"


def _bar(percent: float, width: int, low: int = _RED, high: int = _GREEN) -> str:
    cells = percent * width
    whole = 0 if math.isnan(cells) else int(max(-_INTEGER - 1, min(_INTEGER, cells)))
    count = max(0, min(width, whole))
    check_text(max(width, count * _ESCAPE), "bar")
    shares = (i / (width - 1) if width > 1 else math.nan for i in range(count))
    return "".join(f"{_escape(_between(share, low, high))}\u2588" for share in shares) + _RESET + " " * (width - count)


COLORS: Table = {**plain(color=_color, rgb=_rgb, bar=_bar), **typed(render=_render)}
